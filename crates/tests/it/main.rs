//! Black-box tests.

mod real_agents;
