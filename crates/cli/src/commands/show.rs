//! `siglum show`: whatever a name means.

use siglum_domain::{Oid, SessionId};
use siglum_engine::identity::repositories;
use siglum_engine::views::find::{self, FindError, Named};
use siglum_ledger::{Ledger, RepositoryRecord, SessionFilter, read};

use super::session::export::Format;
use super::session::show::{Depth, TURNS};
use super::{checkpoint, session, why};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// Show a session, a checkpoint, or the session behind a commit
///
/// Without a name, shows the newest session of this repository. For a commit, shows what `siglum why` shows, or,
/// with an option that selects turns or a format, the session behind it.
///
/// For a server store, shows sessions and checkpoints. To look up commits, run `siglum why` against its gateway.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show a session with its turns
    siglum show a1b2c3d4

  Show what changed in the last turn of the newest session here
    siglum show --limit 1

  Show the session behind the last commit, in full
    siglum show HEAD --full

  Write a session to one HTML file that needs no network
    siglum show a1b2c3d4 --html

  Show what changed in the last turn of a colleague's session
    siglum show a1b2c3d4 --team --limit 1")]
pub struct Args {
    /// Id or the last digits of it, the agent's native id of a session, or a commit; default: the newest session here
    #[arg(value_name = "SESSION|CHECKPOINT|COMMIT")]
    name: Option<String>,
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    format: Format,
    /// Show a session at the team's gateway, and what changed in its last turns; needs a launcher token
    #[arg(long, requires = "name", conflicts_with_all = ["turn", "full", "md", "html"])]
    team: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let Some(name) = &args.name else {
        let (mut ledger, here) = store::settled(cx)?;
        let id = newest(cx, &mut ledger, here, false)?
            .ok_or_else(|| CommandError::not_found("no session is recorded here"))?;
        return session::show::session(cx, &mut ledger, id, args.depth, args.format);
    };
    if args.team {
        return session::show::team::run(cx, name, args.depth.limit.unwrap_or(TURNS));
    }
    let mut ledger = store::open(cx)?;
    let found = match find::anything(&mut ledger, name) {
        Ok(named) => Some(named),
        Err(FindError::NotFound { .. }) => None,
        Err(other) => return Err(other.into()),
    };
    match (found, commit(cx, name)?) {
        (Some(named), Some(commit)) => Err(FindError::Ambiguous {
            text: name.clone(),
            meanings: vec![
                match named {
                    Named::Session(id) => id.to_string(),
                    Named::Checkpoint(id) => id.to_string(),
                },
                format!("commit {commit}"),
            ],
        }
        .into()),
        (Some(Named::Session(id)), None) => {
            session::show::session(cx, &mut ledger, id, args.depth, args.format)
        }
        (Some(Named::Checkpoint(id)), None) => checkpoint::show::checkpoint(cx, &mut ledger, id),
        (None, Some(_)) if args.is_about_turns() => {
            let id = why::session_behind(cx, name)?;
            session::show::session(cx, &mut ledger, id, args.depth, args.format)
        }
        (None, Some(commit)) => {
            drop(ledger);
            let commit = commit.to_string();
            why::run(
                &why::Args {
                    commit,
                    explain: false,
                },
                cx,
            )
        }
        (None, None) => match find::by_name(&mut ledger, name)? {
            Some(id) => session::show::session(cx, &mut ledger, id, args.depth, args.format),
            None => Err(CommandError::not_found(format!(
                "no session, checkpoint or commit `{name}`"
            ))
            .hint(
                "Run `siglum session list`, `siglum checkpoint list` or `siglum log` to find it.",
            )),
        },
    }
}

impl Args {
    /// Whether turns are asked for, of which a commit has none.
    const fn is_about_turns(&self) -> bool {
        let Depth { full, turn, limit } = self.depth;
        full || turn.is_some() || limit.is_some() || self.format.is_document()
    }
}

/// The newest session of this repository and its clones; on a server, of all repositories.
pub(super) fn newest(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    here: Option<RepositoryRecord>,
    open: bool,
) -> Result<Option<SessionId>, CommandError> {
    let repositories = match store::is_server() {
        true => Vec::new(),
        false => {
            let here = cx.recorded(here)?;
            read(ledger, |tx| repositories::clones(tx, &[here.id]))?
        }
    };
    let filter = SessionFilter {
        repositories,
        open,
        limit: 1,
        ..SessionFilter::default()
    };
    let listed = read(ledger, |tx| tx.sessions(&filter))?;
    Ok(listed.first().map(|listing| listing.record.id))
}

/// The commit that a name means here, if it could be one. What a server's store has of commits is asked of its gateway.
pub(super) fn commit(cx: &Cx, name: &str) -> Result<Option<Oid>, CommandError> {
    let ours = name.starts_with("ses_") || name.starts_with("chk_");
    if ours || store::is_server() || cx.find_repo().is_none() {
        return Ok(None);
    }
    Ok(cx.git().resolve(name)?)
}
