//! What the operator says of heartbeats.

use std::path::PathBuf;

use siglum_engine::heartbeat::Definition;

/// What the operator says of heartbeats. Programs are named here and nowhere else.
#[derive(Debug, Clone, Default)]
pub struct HeartbeatSettings {
    /// Those of the configuration.
    pub configured: Vec<Configured>,
    /// Whose configuration that is, such as that of a machine.
    pub by: String,
    /// The directory of the files into which answers are written that go to the log.
    pub log: Option<PathBuf>,
}

/// A heartbeat of the configuration.
#[derive(Debug, Clone)]
pub struct Configured {
    /// What it is.
    pub definition: Definition,
    /// The program that answers go to, with its arguments, where its target is `command`.
    pub command: Vec<String>,
}
