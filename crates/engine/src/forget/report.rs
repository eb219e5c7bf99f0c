//! What a walk found.

use std::path::PathBuf;

use siglum_domain::SessionId;
use siglum_gitstore::ObjectAddress;
use siglum_ledger::{TelemetryStore, TextColumn};

/// How many finds are listed; more are counted.
const LISTED_MOST: usize = 10_000;

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In an entry of a log, of this kind.
    Entry {
        /// Its place in the log.
        sequence: u64,
        /// The word for its kind of fact.
        kind: String,
    },
    /// In a line of a stored transcript.
    Line {
        /// The transcript.
        stream: String,
        /// Where the line begins in the agent's own file.
        offset: u64,
    },
    /// In a version of a file.
    Version(ObjectAddress),
    /// In a turn that is open and not committed: it goes as a whole.
    OpenTurn {
        /// What its driver calls it.
        key: String,
    },
    /// In a column beside the log.
    Column { column: TextColumn, stays: bool },
    /// In telemetry that waits or has no session: it goes as a whole.
    Telemetry(TelemetryStore),
    /// In a file beside the ledger.
    File(PathBuf),
}

/// Something that was found; never what was found itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedleMatch {
    pub session: Option<SessionId>,
    pub place: Place,
    /// The rules that matched; none for a pattern.
    pub rules: Vec<&'static str>,
}

/// What a walk found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, at most ten thousand.
    pub found: Vec<NeedleMatch>,
    pub count: u64,
    /// How much of that has to stay, since something else rests on it.
    pub staying: u64,
}

impl Report {
    pub(super) fn add(
        &mut self,
        session: Option<SessionId>,
        place: Place,
        rules: Vec<&'static str>,
    ) {
        self.count += 1;
        self.staying += u64::from(matches!(place, Place::Column { stays: true, .. }));
        if self.found.len() < LISTED_MOST {
            self.found.push(NeedleMatch {
                session,
                place,
                rules,
            });
        }
    }
}
