//! The telemetry of the agents on this machine: where it was told to go, by which token, and what was added to whose
//! settings for that. One file in Siglum's home says so; it is there while telemetry is switched on.

pub mod settings;

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use siglum_agents::{Export, TelemetrySpec, telemetry_environment};
use siglum_domain::TokenId;

use crate::env;
use crate::error::CommandError;
use crate::home::Home;
use crate::platform::regular_file;

/// The version of the file.
const VERSION: u32 = 1;
/// Variables by which a person sends telemetry somewhere.
const THEIRS: [&str; 5] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_SDK_DISABLED",
];

/// What was set up.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    pub gateway: String,
    token: String,
    /// The id of the token, where it was made for this.
    pub id: Option<TokenId>,
    files: Vec<KeptFile>,
}

/// A settings file of an agent.
#[derive(Clone, Serialize, Deserialize)]
struct KeptFile {
    path: PathBuf,
    /// What was added to it.
    added: Vec<String>,
    /// Its mode before, where it was readable for others.
    mode: Option<u32>,
}

impl Kept {
    /// What is set up, if anything is.
    pub fn read(home: &Home) -> Result<Option<Self>, CommandError> {
        let path = home.telemetry();
        let text = match regular_file::read_settings(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let kept: Result<Self, _> = serde_json::from_str(&text);
        match kept {
            Ok(kept) if kept.version <= VERSION => Ok(Some(kept)),
            Ok(_) => Err(CommandError::failed(format!(
                "{} was written by a newer siglum",
                path.display()
            ))),
            // What is wrong is told without what stands there.
            Err(error) => Err(CommandError::failed(format!(
                "{} is invalid at line {}",
                path.display(),
                error.line()
            ))),
        }
    }

    /// Writes it, for this user alone.
    fn write(&self, home: &Home) -> Result<(), CommandError> {
        let path = home.telemetry();
        let text = serde_json::to_string_pretty(self).map_err(CommandError::failed)?;
        // A new temporary file is its owner's alone.
        let mut file = tempfile::NamedTempFile::new_in(home.dir())?;
        file.write_all(text.as_bytes())?;
        file.persist(&path)
            .map_err(|e| CommandError::failed(format!("{}: {}", path.display(), e.error)))?;
        Ok(())
    }

    /// Where telemetry goes, and by which token.
    pub fn export(&self) -> Export {
        Export {
            gateway: self.gateway.clone(),
            token: self.token.clone(),
        }
    }

    fn file(&self, path: &std::path::Path) -> Option<&KeptFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether anything was added to an agent's settings.
    pub fn has(&self, spec: &TelemetrySpec) -> bool {
        let mut paths = spec.settings(&env::telemetry_dir(spec)).into_iter();
        paths.any(|path| self.file(&path).is_some())
    }
}

/// The variables for what is launched, where telemetry is switched on and no variable sends it elsewhere. What is set
/// stays as it is.
pub fn handed_down(home: &Home) -> Vec<(&'static str, String)> {
    let kept = match Kept::read(home) {
        Ok(Some(kept)) if THEIRS.iter().all(|name| env::raw(name).is_none()) => kept,
        Ok(_) => return Vec::new(),
        Err(error) => {
            tracing::warn!(
                "cannot configure telemetry for the launched agent: {:#}",
                error.source
            );
            return Vec::new();
        }
    };
    let mut variables = telemetry_environment(&kept.export());
    variables.retain(|(name, _)| env::raw(name).is_none());
    variables
}
