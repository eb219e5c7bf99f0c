//! Real tools that show traces, on this machine, asked by their own interfaces what they show of what Siglum exported:
//! Arize Phoenix and MLflow.
//!
//! `cargo xtask test` installs and starts them, and tells by variables where they are; `cargo xtask sinks` does it for
//! tests by hand. Without the variables these tests fail. Each test has a project and an experiment of its own, and
//! exports to both at once.

mod faults;
mod mlflow;
pub(crate) mod phoenix;
mod shown;
pub(crate) mod sinks;
