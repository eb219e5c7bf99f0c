//! Black-box tests; everything is in `it/`, and `played-agent` is the agent that they play.
