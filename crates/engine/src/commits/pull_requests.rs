//! Pull requests that were opened inside a session: linked when its log shows it.
//!
//! A call is judged by all that hooks and transcripts told of it, so this is a part of folding a log and
//! no work of a hook. What was stated once of a pull request, by whomever, is not stated again: what
//! somebody detached stays detached.

use std::collections::BTreeMap;
use std::path::Path;

use siglum_agents::AgentSpec;
use siglum_domain::fold::Entry;
use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Fact, Outcome, Source, ToolClass};
use siglum_domain::pull_request::{self, Opened, repository_name};
use siglum_domain::{LedgerId, RepositoryId};
use siglum_ledger::{LedgerError, SessionRecord, Statement, StatementRecord, Transaction};

use crate::Here;
use crate::identity::audit;
use crate::identity::links::{self, Change, LinksError};

/// Links a session to the pull requests that were opened in it.
pub(crate) fn link(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    home: LedgerId,
    session: &SessionRecord,
    entries: &[Entry],
) -> Result<(), LedgerError> {
    // Of a replica, its home says so.
    if session.home != home {
        return Ok(());
    }
    let spec = siglum_agents::find(session.agent_word());
    for call in opening(entries) {
        for Opened { request, shown_by } in opened(tx, spec, &call)? {
            let statements = tx.statements_of_session(session.id)?;
            let link = Link::PrNumber(request.number);
            let names = names(tx, session, &statements)?;
            let elsewhere = !names.is_empty() && !names.iter().any(|name| request.is_of(name));
            if elsewhere || statements.iter().any(|s| is_about(s, &link)) {
                continue;
            }
            let from = (audit::SIGLUM, shown_by.as_str());
            match links::change_in(tx, here, session.id, &[link], Change::Attach, from) {
                Ok(_) => {}
                Err(LinksError::Ledger(error)) => return Err(error),
                Err(refused) => tracing::warn!("session {} has no link: {refused}", session.id),
            }
        }
    }
    Ok(())
}

/// A call that may have opened a pull request.
struct Call<'a> {
    /// The command, or the name of the tool.
    how: How<'a>,
    /// How it ended and what it said, as told by each source.
    ends: Vec<(Source, Outcome, Option<&'a Body>)>,
}

#[derive(Clone, Copy)]
enum How<'a> {
    Command(&'a str),
    Tool(&'a str),
}

/// The calls that open pull requests if they end well, by their events.
fn opening(entries: &[Entry]) -> Vec<Call<'_>> {
    let mut calls: BTreeMap<&str, Call<'_>> = BTreeMap::new();
    for observation in entries.iter().map(|e| &e.observation) {
        if let Fact::ToolStarted {
            tool, class, input, ..
        } = &observation.fact
            && let Some(how) = how(tool, *class, input)
        {
            let ends = Vec::new();
            calls
                .entry(&observation.event)
                .or_insert(Call { how, ends });
        }
    }
    if calls.is_empty() {
        return Vec::new();
    }
    for observation in entries.iter().map(|e| &e.observation) {
        if let Fact::ToolEnded {
            outcome, output, ..
        } = &observation.fact
            && let Some(call) = calls.get_mut(observation.event.as_str())
        {
            call.ends
                .push((observation.source, *outcome, output.as_ref()));
        }
    }
    calls.into_values().collect()
}

fn how<'a>(tool: &'a str, class: ToolClass, input: &'a Body) -> Option<How<'a>> {
    match class {
        ToolClass::Shell => input
            .text()
            .filter(|command| pull_request::is_opened_by_command(command))
            .map(How::Command),
        _ => pull_request::is_opened_by_tool(tool).then_some(How::Tool(tool)),
    }
}

/// What a call opened, if all who tell of its end say that it went well, and one of them would know.
fn opened(
    tx: &mut dyn Transaction,
    spec: Option<&AgentSpec>,
    call: &Call<'_>,
) -> Result<Vec<Opened>, LedgerError> {
    let knows =
        |source: Source| source != Source::Hook || spec.is_some_and(|s| s.hooks_tell_failure);
    let well = call
        .ends
        .iter()
        .all(|(_, outcome, _)| *outcome == Outcome::Ok);
    if !well || !call.ends.iter().any(|(source, _, _)| knows(*source)) {
        return Ok(Vec::new());
    }
    for body in call.ends.iter().filter_map(|(_, _, body)| *body) {
        let Some(output) = text(tx, spec, body)? else {
            continue;
        };
        let found = match call.how {
            How::Command(command) => pull_request::by_command(command, &output),
            How::Tool(tool) => pull_request::by_tool(tool, &output).into_iter().collect(),
        };
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The text of a body, also where it stands in a stored transcript.
fn text(
    tx: &mut dyn Transaction,
    spec: Option<&AgentSpec>,
    body: &Body,
) -> Result<Option<String>, LedgerError> {
    let Body::Passage { stream, offset } = body else {
        return Ok(body.text().map(str::to_owned));
    };
    let segment = tx.segment(stream, *offset)?;
    let mut lines = segment.iter().flat_map(|segment| &segment.lines);
    let line = lines.find(|(at, _)| at == offset);
    Ok(spec
        .zip(line)
        .and_then(|(spec, (_, line))| (spec.passage_text)(line)))
}

fn is_about(record: &StatementRecord, of: &Link) -> bool {
    match &record.statement {
        Statement::LinkAttached { link, .. } | Statement::LinkDetached { link, .. } => link == of,
        _ => false,
    }
}

/// What others call the repositories that a session works in, as far as that is known: by the addresses
/// of their remotes, or because whoever created it named them.
fn names(
    tx: &mut dyn Transaction,
    session: &SessionRecord,
    statements: &[StatementRecord],
) -> Result<Vec<String>, LedgerError> {
    let mut of: Vec<RepositoryId> = session.repository.into_iter().collect();
    for statement in statements {
        if let Statement::WorksIn { repositories, .. } = &statement.statement {
            of.extend(repositories);
        }
    }
    let mut known = tx.repositories()?;
    known.retain(|repository| of.contains(&repository.id));
    let names = known.iter().flat_map(|repository| {
        let dir = Path::new(&repository.common_dir);
        if dir.is_absolute() {
            let remotes = siglum_gitstore::remotes(dir).into_iter();
            return remotes.filter_map(|r| repository_name(&r)).collect();
        }
        named(&repository.common_dir)
            .into_iter()
            .collect::<Vec<_>>()
    });
    Ok(names.collect())
}

/// The name that was given to a repository, without its host.
fn named(name: &str) -> Option<String> {
    match name.split_once('/') {
        Some((host, rest)) if host.contains('.') && rest.contains('/') => Some(rest.to_owned()),
        Some(_) => Some(name.to_owned()),
        None => None,
    }
}
