//! `siglum demo`: plays the product to a newcomer, in a directory that is thrown away.
//!
//! The play is real in everything but the minds: real processes, real hooks, real commits. Only
//! what an agent would decide and a person would type is written down beforehand, in `story`.
//!
//! Four kinds of process take part. The one that the newcomer started (`play`) makes the directory,
//! prints, and asks Siglum afterwards. It starts the stage (`stage`), which is cut loose from
//! everything above: whoever started the demo, maybe an agent, has no part in the play. The stage
//! starts the agents (`agent`, whose program is called `claude`), the person (`person`, in a
//! pseudo-terminal) and the script, and it removes the directory when nobody listens any more.

mod agent;
mod answer;
mod args;
mod cast;
mod payload;
mod person;
mod play;
mod sandbox;
mod show;
mod stage;
mod story;
pub mod wire;

pub use args::{Args, run};
