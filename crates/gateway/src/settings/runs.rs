//! Which agents the gateway may run, and where: the operator's word alone.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use siglum_domain::{AgentName, SessionId};

/// What may be run. Nothing, unless the operator says so.
#[derive(Debug, Clone)]
pub struct RunSettings {
    pub agents: Vec<RunAgent>,
    /// A run works in one of these directories, or within one.
    pub workdirs: Vec<PathBuf>,
    /// The directories in which programs are looked up.
    pub programs: Vec<PathBuf>,
    pub handing: Handing,
    /// The longest that a run may take.
    pub wall: Duration,
    /// How long an agent may be silent.
    pub silent: Duration,
    /// How long an agent waits for somebody to answer it; then it is refused what it wants.
    pub answer: Duration,
    /// How long an agent that came to its stop is kept for the next message of its session.
    pub warm: Duration,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            workdirs: Vec::new(),
            programs: Vec::new(),
            handing: Handing::nothing(),
            wall: Duration::from_hours(6),
            silent: Duration::from_mins(30),
            answer: Duration::from_hours(1),
            warm: Duration::from_mins(5),
        }
    }
}

/// An agent that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAgent {
    pub name: AgentName,
    /// The program that speaks the Agent Client Protocol for it, or the agent itself if it has a headless mode that is
    /// known; where it is not to be looked up.
    pub program: Option<PathBuf>,
}

/// Makes what the process of an agent is handed, for each one that is started.
#[derive(Clone)]
pub struct Handing(pub Arc<dyn Fn(SessionId) -> io::Result<Handed> + Send + Sync>);

impl Handing {
    /// Hands over nothing: hooks of the agent do not know whose they are.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Arc::new(|_| {
            Ok(Handed {
                digest: String::new(),
                variables: Vec::new(),
                over: Over(None),
            })
        }))
    }
}

impl std::fmt::Debug for Handing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handing")
    }
}

/// What the process of an agent is handed.
#[derive(Debug)]
pub struct Handed {
    /// A digest of the token by which hooks prove that they run in the session.
    pub digest: String,
    /// Variables, and those that are taken out.
    pub variables: Vec<(OsString, Option<OsString>)>,
    /// Called when the process is over.
    pub over: Over,
}

/// What is done when a process is over.
pub struct Over(pub Option<Box<dyn FnOnce() + Send>>);

impl std::fmt::Debug for Over {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Over")
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        if let Some(over) = self.0.take() {
            over();
        }
    }
}
