//! What the operator says of heartbeats.

use std::path::PathBuf;

use siglum_engine::driven::heartbeat::{Address, Definition, Reach, Target};

/// What the operator says of heartbeats. Programs are named here and nowhere else.
#[derive(Debug, Clone, Default)]
pub struct HeartbeatSettings {
    pub configured: Vec<Configured>,
    /// Whose configuration that is, such as that of a machine.
    pub by: String,
    /// Hosts that webhooks may be on though their addresses are not public.
    pub webhooks: Vec<String>,
    /// The directory of the files into which answers are written that go to the log.
    pub log: Option<PathBuf>,
}

impl HeartbeatSettings {
    /// How far a webhook may be reached: wherever it is, if the operator named its host or wrote it down himself.
    pub(crate) fn reach(&self, address: &Address) -> Reach {
        let host = address.host();
        let is_named = self
            .webhooks
            .iter()
            .any(|named| named.eq_ignore_ascii_case(host));
        let mut targets = self.configured.iter().map(|c| &c.definition.target);
        let is_configured = targets.any(|t| matches!(t, Target::Webhook(at) if at == address));
        match is_named || is_configured {
            true => Reach::Anywhere,
            false => Reach::Public,
        }
    }
}

/// A heartbeat of the configuration.
#[derive(Debug, Clone)]
pub struct Configured {
    pub definition: Definition,
    /// The program that answers go to, with its arguments, where its target is `command`.
    pub command: Vec<String>,
}
