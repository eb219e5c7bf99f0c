//! What the black-box tests in `it/` need beside the program: `claude`, the agent that they play,
//! `played-driver`, a driver of turns that dies where it is told to, and the fuzz targets, whose corpora they replay.

pub mod fuzz;
