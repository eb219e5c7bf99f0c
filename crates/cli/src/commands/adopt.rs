//! `siglum adopt`: a person's word on whose a commit is, beside the evidence and never over it.

use serde::Serialize;
use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::{Oid, RepositoryId, SessionId};
use siglum_engine::identity::audit::{self, Entry};
use siglum_engine::views::find;
use siglum_ledger::{Durability, LedgerError, Statement, Transaction, write};

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.adopt/1";

/// Attribute a commit to a session by hand, alongside the evidence
///
/// `siglum why` shows the statement as claimed, with its author and time. It changes no verdict;
/// `--undo` reverts it.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Attribute the last commit to a session
    siglum adopt HEAD 7c2a91e4

  Revert the statement about a commit
    siglum adopt HEAD --undo")]
pub struct Args {
    /// Commit, in any form that git accepts
    commit: String,
    /// Session: its id, the last digits of it, or the agent's native id
    #[arg(required_unless_present = "undo")]
    session: Option<String>,
    /// Revert the statement about the commit
    #[arg(long, conflicts_with = "session")]
    undo: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    commit: String,
    /// The session that the commit is said to be of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The session that it was said to be of before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// Who stated it.
    by: String,
    /// Whether the command changed anything.
    changed: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let commit = cx.commit(&args.commit)?;
    let (mut ledger, repository) = cx.settled()?;
    let repository = cx.recorded(repository)?.id;
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let (by, now, world) = (cx.person(), clock::now(), cx.world()?);
    let details = json!({ "commit": commit.as_str(), "repository": repository.to_string() });
    let before = write(&mut ledger, Durability::Process, |tx| {
        let before = standing(tx, repository, &commit)?;
        let commit = commit.clone();
        let statement = match session {
            _ if before == session => return Ok(before),
            Some(session) => Statement::Adopted {
                repository,
                commit,
                session,
            },
            None => Statement::Disowned { repository, commit },
        };
        tx.state(now, &by, "cli", &statement)?;
        let action = match session {
            Some(_) => Action::CommitAdopted,
            None => Action::CommitDisowned,
        };
        let mut entry = Entry::done(&by, action).with(details.clone());
        entry.session = session.or(before);
        audit::record(tx, &world, &entry)?;
        Ok(before)
    })?;
    if cx.ui.json {
        let json = Json {
            commit: commit.to_string(),
            session: session.map(|s| s.to_string()),
            before: before.map(|s| s.to_string()),
            by,
            changed: before != session,
        };
        return cx.ui.json(SCHEMA, json);
    }
    tell(cx, &commit, before, session);
    Ok(())
}

/// The session that the commit is said to be of: the last statement stands.
fn standing(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<Option<SessionId>, LedgerError> {
    let stated = tx.statements_of_commit(repository, commit)?;
    let mut last = stated.iter().rev().map(|s| &s.statement);
    Ok(last
        .find_map(|statement| match statement {
            Statement::Adopted { session, .. } => Some(Some(*session)),
            Statement::Disowned { .. } => Some(None),
            _ => None,
        })
        .flatten())
}

fn tell(cx: &Cx, commit: &Oid, before: Option<SessionId>, session: Option<SessionId>) {
    let commit = commit.short();
    let (old, new) = (before.map(SessionId::short), session.map(SessionId::short));
    cx.ui.status(match (old, new) {
        (None, None) => format!("{commit} has no statement to revert; nothing was changed."),
        (Some(old), None) => {
            format!("{commit} is no longer attributed to session {old}; the statement is kept.")
        }
        (Some(old), Some(new)) if old == new => {
            format!("{commit} is already attributed to session {new}.")
        }
        (Some(old), Some(new)) => {
            format!("{commit} is now attributed to session {new}, no longer to {old}.")
        }
        (None, Some(new)) => {
            format!("{commit} is now attributed to session {new}, in addition to the evidence.")
        }
    });
    if session.is_some() && before != session {
        cx.ui.hint(format!(
            "Run `siglum adopt --undo {commit}` to revert this."
        ));
    }
}
