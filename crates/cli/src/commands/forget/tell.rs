//! What goes, for people and as JSON. What was found is never shown.

use std::collections::BTreeMap;
use std::path::PathBuf;

use siglum_engine::forget::{Holding, Place, Report};

use super::{FoundJson, Going, Json, SessionJson, place};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style};

/// How many places are shown.
const SHOWN: usize = 20;

pub(super) fn present(cx: &Cx, going: &Going) -> Result<(), CommandError> {
    match going {
        Going::Sessions(sessions) => sessions.iter().try_for_each(|session| line(cx, session)),
        Going::Found(_, report) => print_places(cx, report),
    }
}

fn line(cx: &Cx, session: &Holding) -> Result<(), CommandError> {
    let text = format!(
        "-session {}  {}  {}, {} of transcripts, {}",
        session.record.id.short(),
        session.record.agent_word(),
        ui::plural(session.held.payloads, "payload"),
        ui::bytes(session.held.transcript_bytes),
        ui::plural(session.versions.len() as u64, "file version"),
    );
    cx.ui.line(cx.ui.paint(Style::Removed, text))
}

fn print_places(cx: &Cx, report: &Report) -> Result<(), CommandError> {
    for found in report.found.iter().take(SHOWN) {
        let session = found.session.map(|s| format!("session {}  ", s.short()));
        let rules = found.rules.join(", ");
        let stays = matches!(found.place, Place::Column { stays: true, .. });
        let (sign, style) = if stays {
            (' ', Style::Warning)
        } else {
            ('-', Style::Removed)
        };
        let text = format!(
            "{sign}{}{}  {rules}",
            session.unwrap_or_default(),
            place(&found.place)
        );
        cx.ui.line(cx.ui.paint(style, text.trim_end()))?;
    }
    let more = report.count.saturating_sub(SHOWN as u64);
    if more > 0 {
        cx.ui.line(format!("… and {} more", ui::count(more)))?;
    }
    Ok(())
}

pub(super) fn print_outcome(cx: &Cx, going: &Going, done: bool, older: &[PathBuf]) {
    cx.ui.status(match (going, done) {
        (Going::Found(_, report), _) if report.count == 0 => {
            "Nothing that matches is stored.".to_owned()
        }
        (Going::Found(_, report), _) if report.count == report.staying => {
            "Nothing that matches can be erased.".to_owned()
        }
        (_, false) => "Nothing was erased.".to_owned(),
        (Going::Sessions(sessions), true) => {
            format!(
                "Erased {}; commits keep their verdicts.",
                ui::plural(sessions.len() as u64, "session")
            )
        }
        (Going::Found(_, report), true) => {
            let gone = report.count - report.staying;
            format!("Erased it in {}.", ui::plural(gone, "place"))
        }
    });
    if let Going::Found(_, report) = going
        && report.staying > 0
    {
        cx.ui.warning(format!(
            "not erased in {}: names that receipts, the audit log or settings depend on",
            ui::plural(report.staying, "place")
        ));
    }
    if !older.is_empty() {
        cx.ui.warning(format!(
            "`siglum restore` kept older ledgers, which may still hold it: {}",
            paths(older).join(", ")
        ));
        cx.ui.hint("Delete these files to erase it there, too.");
    }
    if !done {
        return;
    }
    if let Going::Sessions(sessions) = going
        && sessions.iter().any(|s| s.record.ended_at.is_none())
    {
        cx.ui
            .hint("A running session is still recorded; erase it again after it ends.");
    }
    let agents: BTreeMap<_, ()> = match going {
        Going::Sessions(sessions) => sessions
            .iter()
            .map(|s| (s.record.agent_word(), ()))
            .collect(),
        Going::Found(..) => BTreeMap::new(),
    };
    let whose = agents.into_keys().collect::<Vec<_>>().join(" and ");
    let whose = if whose.is_empty() {
        "agents".to_owned()
    } else {
        whose
    };
    cx.ui.hint(format!(
        "Files that {whose} wrote and git objects are not erased; rotate a secret that was leaked."
    ));
}

fn paths(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|f| f.display().to_string()).collect()
}

pub(super) fn json(going: &Going, done: bool, older: &[PathBuf]) -> Json {
    let older_ledgers = paths(older);
    let session = |s: &Holding| SessionJson {
        id: s.record.id.to_string(),
        agent: s.record.agent.as_ref().map(ToString::to_string),
        payloads: s.held.payloads,
        transcript_bytes: s.held.transcript_bytes,
        versions: s.versions.len(),
    };
    match going {
        Going::Sessions(sessions) => Json {
            done,
            sessions: sessions.iter().map(session).collect(),
            found: Vec::new(),
            count: 0,
            staying: 0,
            older_ledgers,
        },
        Going::Found(_, report) => Json {
            done,
            sessions: Vec::new(),
            found: report.found.iter().map(FoundJson::from_match).collect(),
            count: report.count,
            staying: report.staying,
            older_ledgers,
        },
    }
}
