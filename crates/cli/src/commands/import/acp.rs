//! `siglum import --acp`: the sessions that an agent tells again over the Agent Client Protocol.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;
use siglum_domain::intake::Place;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, NativeId, SessionId};
use siglum_engine::record::import::{Replayed, ReplayedSession, import_replay, known_replay};
use siglum_engine::worker;
use siglum_gateway::{AcpHistory, AcpHistoryError};
use siglum_gitstore::discover;
use siglum_ledger::{Ledger as _, SqliteLedger, read};

use super::Args;
use crate::config::Config;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.import.acp/1";
/// Longest name of an agent, in characters.
const NAME_MOST: usize = 64;

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Whether it was done; else the sessions were only listed.
    done: bool,
    /// The name under which the agent is recorded.
    agent: String,
    /// The sessions with something new, or that would be loaded.
    sessions: Vec<SessionJson>,
    /// How many have nothing new.
    unchanged: u64,
    /// Sessions that are left as they are, because they are recorded another way or were forgotten.
    skipped: Vec<ReasonJson>,
    /// Sessions that could not be imported.
    refused: Vec<ReasonJson>,
}

/// One session.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SessionJson {
    /// Its id; absent if it was only listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    native_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The directory that it works in.
    cwd: String,
    /// When something last happened in it, by the word of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    /// How many entries are new.
    entries: u64,
}

/// A session that was not imported.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReasonJson {
    native_id: String,
    reason: String,
}

/// What an import brought.
#[derive(Default)]
struct Outcome {
    sessions: Vec<(Option<SessionId>, ReplayedSession, u64)>,
    unchanged: u64,
    skipped: Vec<(NativeId, String)>,
    refused: Vec<(NativeId, String)>,
}

/// What to do with a session before it is loaded.
enum Next {
    Load,
    Unchanged,
    Skip(String),
}

/// Lists the sessions of an agent, has it load each, and stores what is new. It gets no prompt.
pub(super) fn run(args: &Args, command: &str, cx: &Cx) -> Result<(), CommandError> {
    let here = match args.all {
        true => None,
        false => Some(cx.repo()?.place),
    };
    let words = shlex::split(command).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(CommandError::usage("--acp: this is not a command line")
            .hint("Quote the command with its arguments: `--acp 'my-agent acp'`."));
    };
    let given = args.agent.as_deref().map(AgentName::new).transpose();
    let given = given.map_err(|error| CommandError::usage(format!("--agent: {}", error.rule)))?;
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    // Its hooks, if it has ours, would take what is loaded for something that happens now.
    let quiet = vec![("SIGLUM_RECORD".into(), Some("false".into()))];
    let mut history = AcpHistory::start(Path::new(program), arguments, &cx.dir, quiet)
        .map_err(CommandError::failed)?;
    let agent = given.or_else(|| agent_name(program, history.name()));
    let agent = agent.ok_or_else(|| {
        CommandError::usage("the agent does not say what it is called")
            .hint("Name it with `--agent NAME`.")
    })?;
    let chosen = listed(args, &mut history, here.as_ref())?;
    let mut outcome = Outcome::default();
    match args.dry_run {
        true => {
            let mut ledger = cx.has_ledger().then(|| cx.open_ledger()).transpose()?;
            let on_disk = on_disk();
            for (session, place) in chosen {
                match next(
                    ledger.as_mut(),
                    &agent,
                    &on_disk,
                    (&session, place.as_ref()),
                )? {
                    Next::Load => outcome.sessions.push((None, session, 0)),
                    Next::Unchanged => outcome.unchanged += 1,
                    Next::Skip(reason) => outcome.skipped.push((session.native, reason)),
                }
            }
        }
        false => bring_in(cx, &mut history, &agent, chosen, &mut outcome)?,
    }
    drop(history);
    show(args, cx, &agent, &outcome)
}

/// The agent by its program, else by the name that it gives itself. What wraps an agent that is known is that agent.
fn agent_name(program: &str, own: Option<&str>) -> Option<AgentName> {
    let known = siglum_agents::recognise(Some(program), None, None);
    if let Some(known) = known {
        return AgentName::new(known.name).ok();
    }
    let own = own?.rsplit('/').next()?.to_lowercase();
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        _ => '-',
    };
    let name: String = own.chars().map(plain).take(NAME_MOST).collect();
    let name = name.trim_matches('-');
    let is_it = |known: &&siglum_agents::KnownAgent| {
        let rest = name.strip_prefix(known.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let known = siglum_agents::KNOWN_AGENTS.iter().find(is_it);
    AgentName::new(known.map_or(name, |known| known.name)).ok()
}

/// The sessions that were asked for, newest first, each with the repository that it works in.
fn listed(
    args: &Args,
    history: &mut AcpHistory,
    here: Option<&Place>,
) -> Result<Vec<(ReplayedSession, Option<Place>)>, CommandError> {
    let mut all = match here {
        None => history.sessions(None).map_err(CommandError::failed)?,
        Some(here) => {
            let of_this = history.sessions(Some(&here.worktree));
            let mut all = of_this.map_err(CommandError::failed)?;
            // Those that were begun further below have another directory. Some agents list one directory alone.
            match history.sessions(None) {
                Err(AcpHistoryError::Agent(_)) => {}
                more => all.extend(more.map_err(CommandError::failed)?),
            }
            all
        }
    };
    let mut seen = BTreeSet::new();
    all.retain(|session| seen.insert(session.native.clone()));
    all.retain(|session| {
        let at = session.updated_at;
        args.since
            .is_none_or(|since| at.is_none_or(|at| at >= since))
    });
    all.sort_by_key(|session| Reverse(session.updated_at));
    let mut places: BTreeMap<String, Option<Place>> = BTreeMap::new();
    let with_place = |session: ReplayedSession| {
        let place = places.entry(session.cwd.clone()).or_insert_with(|| {
            discover(Path::new(&session.cwd), None, None).map(|repo| repo.place)
        });
        let place = place.clone();
        (session, place)
    };
    let mut all: Vec<_> = all.into_iter().map(with_place).collect();
    if let Some(here) = here {
        all.retain(|(_, place)| {
            let place = place.as_ref();
            place.is_some_and(|place| place.common_dir == here.common_dir)
        });
    }
    Ok(all)
}

/// The sessions whose transcripts lie on this disk, which tell more, of all agents: one may be recorded under another name.
fn on_disk() -> BTreeSet<NativeId> {
    let agents = siglum_agents::AGENTS.iter();
    let files = agents.flat_map(|agent| (agent.discover)(&env::agent_dir(agent)));
    files.map(|file| file.session).collect()
}

fn next(
    ledger: Option<&mut SqliteLedger>,
    agent: &AgentName,
    on_disk: &BTreeSet<NativeId>,
    (session, place): (&ReplayedSession, Option<&Place>),
) -> Result<Next, CommandError> {
    if on_disk.contains(&session.native) {
        let reason = "its transcript is on disk; `siglum import` reads it";
        return Ok(Next::Skip(reason.to_owned()));
    }
    if place.is_some_and(|place| !Config::load(Some(Path::new(&place.worktree))).records()) {
        return Ok(Next::Skip("`record` is false in its repository".to_owned()));
    }
    let Some(ledger) = ledger else {
        return Ok(Next::Load);
    };
    Ok(match known_replay(ledger, agent, &session.native)? {
        None => Next::Load,
        Some(Replayed::Stored { session: known, .. }) => {
            let record = read(ledger, |tx| tx.session(known))?;
            // An import that was killed has not ended it.
            let ended_at = record.and_then(|record| record.ended_at);
            match session.updated_at.is_some_and(|at| Some(at) <= ended_at) {
                true => Next::Unchanged,
                false => Next::Load,
            }
        }
        Some(other) => Next::Skip(reason(other)),
    })
}

/// Why a session that was told again is left as it is.
fn reason(replayed: Replayed) -> String {
    match replayed {
        Replayed::Forgotten(session) => format!("session {} was forgotten", session.short()),
        Replayed::RecordedOtherwise(session) | Replayed::Stored { session, .. } => {
            format!("it is recorded as session {} already", session.short())
        }
    }
}

fn bring_in(
    cx: &Cx,
    history: &mut AcpHistory,
    agent: &AgentName,
    chosen: Vec<(ReplayedSession, Option<Place>)>,
    outcome: &mut Outcome,
) -> Result<(), CommandError> {
    let mut ledger = cx.open_ledger()?;
    let world = cx.world()?;
    let on_disk = on_disk();
    let bar = cx.ui.counter("sessions");
    bar.set_length(chosen.len() as u64);
    for (session, place) in chosen {
        bar.inc(1);
        match next(
            Some(&mut ledger),
            agent,
            &on_disk,
            (&session, place.as_ref()),
        )? {
            Next::Load => {}
            Next::Unchanged => {
                outcome.unchanged += 1;
                continue;
            }
            Next::Skip(reason) => {
                outcome.skipped.push((session.native, reason));
                continue;
            }
        }
        let steps = match history.load(&session) {
            Ok(steps) => steps,
            Err(error @ AcpHistoryError::Interrupted) => {
                bar.finish_and_clear();
                cx.home.start_worker();
                let error = CommandError::failed(error);
                return Err(error.hint("Run the command again to import the others."));
            }
            Err(error) => {
                outcome.refused.push((session.native, error.to_string()));
                if history.lives() {
                    continue;
                }
                break;
            }
        };
        let seen = (&session, place.as_ref());
        match import_replay(&world, &mut ledger, agent, seen, &steps)? {
            Replayed::Stored { entries: 0, .. } => outcome.unchanged += 1,
            Replayed::Stored {
                session: id,
                entries,
            } => outcome.sessions.push((Some(id), session, entries)),
            other => outcome.skipped.push((session.native, reason(other))),
        }
    }
    bar.finish_and_clear();
    while worker::fold_sessions(&world, &mut ledger, 256)? > 0 {}
    ledger.maintain()?;
    cx.home.start_worker();
    Ok(())
}

fn show(args: &Args, cx: &Cx, agent: &AgentName, outcome: &Outcome) -> Result<(), CommandError> {
    let shown = match cx.ui.json {
        true => cx.ui.json(SCHEMA, json(args, agent, outcome)),
        false => table(cx, outcome),
    };
    shown.or_else(CommandError::unless_closed)?;
    if !cx.ui.json {
        let count = |n: usize| ui::plural(n as u64, "session");
        let verb = match args.dry_run {
            true => "would be loaded",
            false => "imported",
        };
        cx.ui.status(format!(
            "{} of {agent} {verb}, {} without anything new, {} skipped.",
            count(outcome.sessions.len()),
            ui::count(outcome.unchanged),
            ui::count(outcome.skipped.len() as u64),
        ));
        for (native, reason) in &outcome.skipped {
            tracing::debug!("skipped {native}: {reason}");
        }
    }
    match outcome.refused.len() as u64 {
        0 => Ok(()),
        n => {
            for (native, reason) in &outcome.refused {
                cx.ui
                    .warning(format!("session {native} was not imported: {reason}"));
            }
            Err(CommandError::partly(format!(
                "{} could not be imported",
                ui::plural(n, "session")
            )))
        }
    }
}

fn title(session: &ReplayedSession) -> Option<String> {
    let title = session.title.as_deref()?;
    Some(Redactor::shared().redact_cow(title).into_owned())
}

fn table(cx: &Cx, outcome: &Outcome) -> Result<(), CommandError> {
    if outcome.sessions.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(vec!["SESSION", "AGENT'S ID", "ENTRIES", "TITLE"]);
    for (session, listed, entries) in &outcome.sessions {
        let id = session.map(SessionId::short).unwrap_or_default();
        table.row(vec![
            Cell::styled(Style::Id, id),
            Cell::plain(listed.native.as_str()),
            Cell::number(ui::count(*entries)),
            Cell::plain(title(listed).unwrap_or_default()),
        ]);
    }
    cx.ui.table(&table)
}

fn json(args: &Args, agent: &AgentName, outcome: &Outcome) -> Json {
    let session = |(id, listed, entries): &(Option<SessionId>, ReplayedSession, u64)| SessionJson {
        session: id.map(|id| id.to_string()),
        native_id: listed.native.to_string(),
        title: title(listed),
        cwd: listed.cwd.clone(),
        updated_at: listed.updated_at.map(|at| at.to_string()),
        entries: *entries,
    };
    let reason = |(native, reason): &(NativeId, String)| ReasonJson {
        native_id: native.to_string(),
        reason: reason.clone(),
    };
    Json {
        done: !args.dry_run,
        agent: agent.to_string(),
        sessions: outcome.sessions.iter().map(session).collect(),
        unchanged: outcome.unchanged,
        skipped: outcome.skipped.iter().map(reason).collect(),
        refused: outcome.refused.iter().map(reason).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_behind_a_wrapper_is_the_one_that_is_known() {
        let name = |program: &str, own: Option<&str>| {
            agent_name(program, own).map(|name| name.as_str().to_owned())
        };
        for (program, own, expected) in [
            ("gemini", Some("anything"), Some("gemini")),
            (
                "npx",
                Some("@zed-industries/claude-code-acp"),
                Some("claude-code"),
            ),
            ("./agent", Some("gemini-cli"), Some("gemini")),
            ("./agent", Some("My Agent!"), Some("my-agent")),
            ("./agent", Some("geminiature"), Some("geminiature")),
            ("./agent", Some("///"), None),
            ("./agent", None, None),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(name(program, own), expected, "{program} {own:?}");
        }
    }
}
