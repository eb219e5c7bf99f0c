//! What the black-box tests in `it/` need beside the program: `played-agent`, the agent that they play,
//! and the fuzz targets, whose corpora they replay.

pub mod fuzz;
