//! How projections stand, for every command that shows it.
//!
//! There are three answers and not two: what could not be looked at is not called healthy.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_engine::share::otel::destination::Destination;
use siglum_engine::share::{project, replica};
use siglum_ledger::{DESTINATION, Lag, Ledger, LedgerError, Projection, read};

use crate::scope::{ReachJson, ScopeJson, Shown};
use crate::ui::{self, Style};

/// A projection that lacks something for longer than this lags, in ms.
const LAGS_MS: i64 = 60_000;

/// A projection and how it stands.
#[derive(Debug, Clone)]
pub struct Standing {
    pub projection: Projection,
    /// What it lacks; else why nobody could look.
    pub lag: Result<Lag, String>,
    /// Of another ledger: what it lacks beside receipts, and why it could not be reached last.
    pub beside: Option<Beside>,
    /// What may leave for it.
    pub scope: Shown,
    now: Timestamp,
}

/// What a destination lacks beside receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    pub statements: u64,
    /// Repositories, sessions, checkpoints and commits that changed.
    pub documents: u64,
    /// Why it could not be reached last.
    pub reason: Option<String>,
}

/// How a projection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It has everything, or gets it now.
    Ok,
    /// It fails, lags, or something is set aside.
    Degraded,
    /// Nobody could look.
    Unknown,
}

impl Health {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Unknown => "unknown",
        }
    }

    pub const fn style(self) -> Style {
        match self {
            Self::Ok => Style::Added,
            Self::Degraded => Style::Warning,
            Self::Unknown => Style::Removed,
        }
    }
}

/// How all projections stand, each looked at by itself.
pub fn all(ledger: &mut dyn Ledger, now: Timestamp) -> Result<Vec<Standing>, LedgerError> {
    let known = read(ledger, |tx| tx.projections())?;
    Ok(known
        .into_iter()
        .filter(|p| project::is_once(&p.name).is_none())
        .map(|projection| standing(ledger, projection, now))
        .collect())
}

/// How one projection stands.
pub fn standing(ledger: &mut dyn Ledger, projection: Projection, now: Timestamp) -> Standing {
    let lag = read(ledger, |tx| tx.lag(&projection.name)).map_err(|e| e.to_string());
    let lag = lag.and_then(|lag| reached(&projection).map(|()| lag));
    let beside = (projection.kind == DESTINATION).then(|| beside(ledger, &projection.name));
    let beside = beside.transpose().map_err(|e| e.to_string());
    let (lag, beside) = match beside {
        Ok(beside) => (lag, beside),
        Err(why) => (Err(why), None),
    };
    let name = &projection.name;
    let scope = read(ledger, |tx| Shown::new(tx, name, projection.scope.as_ref()));
    let (lag, scope) = match scope {
        Ok(scope) => (lag, scope),
        Err(why) => (lag.and(Err(why.to_string())), Shown::default()),
    };
    Standing {
        projection,
        lag,
        beside,
        scope,
        now,
    }
}

fn beside(ledger: &mut dyn Ledger, name: &str) -> Result<Beside, LedgerError> {
    let due = replica::due(ledger, name)?;
    let destination = read(ledger, |tx| tx.destination(name))?;
    Ok(Beside {
        statements: due.statements,
        documents: due.documents,
        reason: destination.and_then(|d| d.reason),
    })
}

/// Whether its target can be looked at. One that is not there yet is made when something is written to it; what a
/// program would do only it knows.
fn reached(projection: &Projection) -> Result<(), String> {
    if projection.kind != "directory" {
        return Ok(());
    }
    match std::fs::read_dir(&projection.target) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", projection.target))
        }
        _ => Ok(()),
    }
}

/// Where a projection is, for people: of settings, the address in them.
pub fn target(projection: &Projection) -> String {
    match Destination::from_projection(projection) {
        Some(Ok(destination)) => destination.endpoint.to_string(),
        _ => projection.target.clone(),
    }
}

impl Standing {
    pub fn health(&self) -> Health {
        match &self.lag {
            Err(_) => Health::Unknown,
            Ok(lag) if lag.failing + lag.parked > 0 => Health::Degraded,
            Ok(_) if !self.scope.is_open() => Health::Degraded,
            Ok(_) if self.beside.as_ref().is_some_and(|b| b.reason.is_some()) => Health::Degraded,
            Ok(_) if self.lag_ms().is_some_and(|ms| ms > LAGS_MS) => Health::Degraded,
            Ok(_) => Health::Ok,
        }
    }

    /// For how long it has lacked something, in ms; nothing where it lacks nothing.
    fn lag_ms(&self) -> Option<i64> {
        let since = self.lag.as_ref().ok()?.since?;
        Some(self.now.millis_since(since).max(0))
    }

    /// For how long it has lacked something, in seconds.
    pub fn lag_seconds(&self) -> Option<u64> {
        let seconds = self.lag_ms()? / 1000;
        u64::try_from(seconds).ok()
    }

    /// In words, without its name.
    pub fn text(&self) -> String {
        let lag = match &self.lag {
            Ok(lag) => lag,
            Err(why) => return format!("cannot be checked: {why}"),
        };
        if !self.scope.is_open() {
            return format!("inactive: {}", self.scope.text());
        }
        let beside = self.beside.clone().unwrap_or_default();
        let why = match &beside.reason {
            Some(reason) => format!("; {reason}"),
            None => String::new(),
        };
        let rest = match (beside.statements, beside.documents) {
            (0, 0) => String::new(),
            (statements, documents) => format!(
                "{} and {}",
                ui::plural(statements, "statement"),
                ui::plural(documents, "document")
            ),
        };
        if lag.receipts == 0 && rest.is_empty() {
            return format!("up to date{why}");
        }
        if lag.receipts == 0 {
            return format!("lacks {rest}{why}");
        }
        let mut text = format!(
            "lacks {} of {}, {} s behind",
            ui::plural(lag.receipts, "receipt"),
            ui::plural(lag.sessions, "session"),
            ui::count(self.lag_seconds().unwrap_or_default()),
        );
        if lag.failing > 0 {
            text += &format!(", {} failing", ui::plural(lag.failing, "session"));
        }
        if lag.parked > 0 {
            text += &format!(", {} parked", ui::plural(lag.parked, "session"));
        }
        if !rest.is_empty() {
            text += &format!(", and {rest}");
        }
        text + &why
    }
}

/// The JSON form.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StandingJson {
    name: String,
    /// `directory`, `program`, `gateway`, `otlp`, or what a program that feeds it itself calls it.
    kind: String,
    target: String,
    /// Since when it follows.
    added_at: String,
    /// `ok`, `degraded` or `unknown`: nobody could look.
    health: String,
    /// Why nobody could look.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Receipts that it lacks; absent, as what follows, where nobody could look.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_receipts: Option<u64>,
    /// Sessions that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_sessions: Option<u64>,
    /// For how long it has lacked the oldest of them; 0 where it lacks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_seconds: Option<u64>,
    /// Sessions that failed and are tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<u64>,
    /// Sessions that are set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    parked: Option<u64>,
    /// Of a gateway: statements, and repositories, sessions, checkpoints and commits, that it lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    statements: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    /// Of a gateway: why it could not be reached last.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What may leave for it; absent where no scope is chosen, and nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeJson>,
    reach: ReachJson,
}

impl StandingJson {
    pub fn from_standing(standing: &Standing) -> Self {
        let (p, lag) = (&standing.projection, standing.lag.as_ref());
        let number = |of: fn(&Lag) -> u64| lag.ok().map(of);
        let (scope, reach) = standing.scope.json();
        Self {
            name: p.name.clone(),
            kind: p.kind.clone(),
            target: target(p),
            added_at: p.at.to_string(),
            health: standing.health().word().to_owned(),
            problem: lag.err().cloned(),
            lag_receipts: number(|l| l.receipts),
            lag_sessions: number(|l| l.sessions),
            lag_seconds: lag.ok().map(|_| standing.lag_seconds().unwrap_or_default()),
            failing: number(|l| l.failing),
            parked: number(|l| l.parked),
            statements: standing.beside.as_ref().map(|b| b.statements),
            documents: standing.beside.as_ref().map(|b| b.documents),
            reason: standing.beside.as_ref().and_then(|b| b.reason.clone()),
            scope,
            reach,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(lag: Result<Lag, String>) -> Standing {
        let projection = Projection {
            name: "p".into(),
            kind: "program".into(),
            target: "true".into(),
            at: Timestamp::from_nanos(0),
            scope: Some(siglum_domain::scope::Scope::in_process()),
        };
        let now = Timestamp::from_nanos(0).plus_millis(100_000);
        Standing {
            projection,
            lag,
            beside: None,
            scope: Shown::everything(),
            now,
        }
    }

    #[test]
    fn what_nobody_could_look_at_is_not_called_healthy() {
        let lag = |seconds: i64, failing, parked| Lag {
            receipts: 2,
            sessions: 1,
            since: Some(Timestamp::from_nanos(0).plus_millis((100 - seconds) * 1000)),
            failing,
            parked,
        };
        for (found, wanted) in [
            (Ok(Lag::default()), Health::Ok),
            (Ok(lag(5, 0, 0)), Health::Ok),
            (Ok(lag(90, 0, 0)), Health::Degraded),
            (Ok(lag(5, 1, 0)), Health::Degraded),
            (Ok(lag(5, 0, 1)), Health::Degraded),
            (Err("no".to_owned()), Health::Unknown),
        ] {
            assert_eq!(standing(found.clone()).health(), wanted, "{found:?}");
        }
        assert_eq!(
            standing(Ok(lag(5, 1, 1))).text(),
            "lacks 2 receipts of 1 session, 5 s behind, 1 session failing, 1 session parked"
        );
    }
}
