//! `siglum relocate`: where the repositories of this machine are now.

use std::path::{Path, PathBuf};

use serde::Serialize;
use siglum_domain::RepositoryId;
use siglum_engine::identity::repositories::{
    self, LocatedRepository, Relocation, RelocationError, Sign, Whereabouts,
};
use siglum_engine::worker;
use siglum_gitstore::discover;
use siglum_ledger::{Ledger, RepositoryRecord, SqliteLedger};

use crate::clock::Ids;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.relocate/1";
/// How many repositories get advice.
const ADVISED: usize = 5;

/// Show where recorded repositories are, and match those that moved
///
/// A repository is known by its commits, its remote and a mark in its git directory, not by its path. Commands run in a
/// moved repository, or in a new clone of it, update its path. Without arguments, lists the repositories of this machine,
/// updates those that moved (searches their checkouts, the directories beside other repositories and the current
/// directory), and shows how each was matched. With OLD and NEW, you state that the repository that was at OLD is now at
/// NEW, if nothing else shows it: it keeps its id, its sessions and the scope of what is sent. This is refused if the
/// two have no root commit in common, are fetched from different remotes, or cannot be compared.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Find the repositories that were moved, as a dry run
    siglum relocate --dry-run

  Match a repository that was cloned to another place without its remote
    siglum relocate ~/src/shop ~/projects/shop")]
pub struct Args {
    /// Show what would change, without changing it
    #[arg(long)]
    dry_run: bool,
    /// Old location: the git directory, a checkout, or the id of the repository that is gone
    #[arg(value_name = "OLD", requires = "new")]
    old: Option<String>,
    /// New location: a path inside the repository
    #[arg(value_name = "NEW", value_hint = clap::ValueHint::DirPath)]
    new: Option<PathBuf>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Whether it was noted; else it was only shown.
    done: bool,
    /// The repositories of this machine; none where one was named.
    repositories: Vec<RepositoryJson>,
    /// The repository that was named, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stated: Option<StatedJson>,
}

/// A repository of this machine.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RepositoryJson {
    /// Its id.
    repository: String,
    /// The checkout that it was known by.
    path: String,
    /// Where it is fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    /// `in_place`, `moved`, `cloned` (it is gone, and `matches` are its clones), `unclear` (it is gone, and `matches` may be
    /// clones or forks) or `missing`.
    state: String,
    matches: Vec<MatchJson>,
}

/// A place in which it is, or may be, now.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MatchJson {
    /// A checkout.
    path: String,
    /// By what it was matched: `mark`, `worktree`, `root_commit`, `remote` and `origin`.
    by: Vec<String>,
}

/// What became of the repository that was named.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StatedJson {
    /// Its id.
    repository: String,
    /// The checkout that it was known by.
    before: String,
    /// The checkout that it is now.
    path: String,
    /// `moved`; `clone` where the one at NEW was recorded by itself, and is its clone now; or `unchanged`.
    outcome: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if !cx.has_ledger() {
        return Err(
            CommandError::not_found("there is no ledger yet, so no repository is known")
                .hint("Run `siglum init` in a repository to enable Siglum."),
        );
    }
    let mut ledger = cx.open_ledger()?;
    if !args.dry_run {
        // What waits was seen in the places where repositories were.
        let spools = cx.all_spools(&mut ledger)?;
        while worker::drain(&Ids, &mut ledger, &spools)? > 0 {}
    }
    if let (Some(old), Some(new)) = (&args.old, &args.new) {
        return state(args, cx, &mut ledger, old, new);
    }
    let mut located = match args.dry_run {
        true => locate(cx, &mut ledger)?,
        false => note_moves(cx, &mut ledger)?,
    };
    located.sort_by(|a, b| a.record.checkout().cmp(b.record.checkout()));
    if cx.ui.json {
        let repositories = located.iter().map(RepositoryJson::from_located);
        let json = Json {
            done: !args.dry_run,
            repositories: repositories.collect(),
            stated: None,
        };
        return cx.ui.json(SCHEMA, json);
    }
    if located.is_empty() {
        cx.ui.status("No repository of this machine is recorded.");
        return Ok(());
    }
    cx.ui.table(&table(&located))?;
    conclude(args, cx, &located);
    Ok(())
}

fn locate(cx: &Cx, ledger: &mut dyn Ledger) -> Result<Vec<LocatedRepository>, CommandError> {
    let dirs = [cx.dir.clone()];
    Ok(repositories::locate(&cx.world()?, ledger, &dirs)?)
}

/// Notes the repositories that were moved, and the one that we stand in. Those that were moved are shown as that.
fn note_moves(cx: &Cx, ledger: &mut dyn Ledger) -> Result<Vec<LocatedRepository>, CommandError> {
    let before = locate(cx, ledger)?;
    for located in &before {
        if let Whereabouts::Moved { repo, .. } = &located.whereabouts {
            cx.recognise(ledger, repo)?;
        }
    }
    if let Some(repo) = cx.find_repo() {
        cx.recognise(ledger, &repo)?;
    }
    let mut after = locate(cx, ledger)?;
    for now in &mut after {
        let is_noted = matches!(now.whereabouts, Whereabouts::InPlace);
        let was_moved = |was: &&LocatedRepository| {
            was.record.id == now.record.id && matches!(was.whereabouts, Whereabouts::Moved { .. })
        };
        if let Some(was) = before.iter().find(was_moved).filter(|_| is_noted) {
            *now = was.clone();
        }
    }
    Ok(after)
}

/// Notes that a repository is in another place, as a person says.
fn state(
    args: &Args,
    cx: &Cx,
    ledger: &mut SqliteLedger,
    old: &str,
    new: &Path,
) -> Result<(), CommandError> {
    let world = cx.world()?;
    let record = recorded_at(cx, ledger, old)?;
    let new = cx.dir.join(new);
    let repo = discover(&new, None, None).ok_or_else(|| {
        let shown = ui::one_line(&new.display().to_string(), 200);
        CommandError::not_found(format!("{shown} is not in a checkout of a git repository"))
    })?;
    let relocation = match args.dry_run {
        true => repositories::planned_relocation(&world, ledger, &record, &repo),
        false => repositories::relocate(&world, ledger, &record, &repo),
    };
    let relocation = relocation.map_err(|error| refused(error, record.id))?;
    let (before, path) = (record.checkout(), repo.place.worktree.as_str());
    if cx.ui.json {
        let stated = StatedJson {
            repository: record.id.to_string(),
            before: before.to_owned(),
            path: path.to_owned(),
            outcome: outcome_word(relocation).to_owned(),
        };
        let json = Json {
            done: !args.dry_run,
            repositories: Vec::new(),
            stated: Some(stated),
        };
        return cx.ui.json(SCHEMA, json);
    }
    let (before, path) = (shown(before), shown(path));
    let text = match (relocation, args.dry_run) {
        (Relocation::Unchanged, _) => format!("The repository is at {path} already."),
        (Relocation::Move, true) => {
            format!("{before} would be known as {path}; nothing was noted.")
        }
        (Relocation::Move, false) => {
            format!("{before} is known as {path} now, with all its sessions.")
        }
        (Relocation::Clone, true) => {
            format!("{path} would be known as a clone of {before}; nothing was noted.")
        }
        (Relocation::Clone, false) => format!(
            "{path} is known as a clone of {before} now: it shows the sessions of both, and keeps its own scope."
        ),
    };
    cx.ui.status(text);
    if relocation == Relocation::Move && !args.dry_run && !repo.is_on() {
        cx.ui
            .hint("Run `siglum init` there to record what comes next.");
    }
    Ok(())
}

/// The repository that a person names by the place where it was, or by its id.
fn recorded_at(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    text: &str,
) -> Result<RepositoryRecord, CommandError> {
    let path = cx.dir.join(text);
    // Links are followed as far as directories are there; the last part may be gone.
    let resolved = path.canonicalize().ok().or_else(|| {
        let above = path.parent()?.canonicalize().ok()?;
        Some(above.join(path.file_name()?))
    });
    let paths: Vec<PathBuf> = std::iter::once(path).chain(resolved).collect();
    let id = text.parse::<RepositoryId>().ok();
    let is_it = |r: &LocatedRepository| {
        let worktrees = r.record.worktrees.iter().map(|(worktree, _)| worktree);
        let mut places = worktrees.chain([&r.record.common_dir]);
        id == Some(r.record.id) || places.any(|place| paths.iter().any(|p| p == Path::new(place)))
    };
    let mut found = locate(cx, ledger)?;
    found.retain(is_it);
    // Another one may lie there by now.
    if found.len() > 1 {
        found.retain(|r| !matches!(r.whereabouts, Whereabouts::InPlace));
    }
    let shown = ui::one_line(text, 200);
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one.record),
        (Some(one), false) => {
            let ids = found.iter().chain([&one]).map(|r| r.record.id.to_string());
            let ids: Vec<String> = ids.collect();
            Err(
                CommandError::usage(format!("several repositories were at {shown}"))
                    .hint(format!("Name one by its id: {}.", ids.join(", "))),
            )
        }
        (None, _) => Err(
            CommandError::not_found(format!("no recorded repository was at {shown}"))
                .hint("Run `siglum relocate --dry-run` to list the repositories."),
        ),
    }
}

fn refused(error: RelocationError, id: RepositoryId) -> CommandError {
    let hint = match &error {
        RelocationError::Engine(_) => None,
        RelocationError::StillThere(_) => Some(format!(
            "If the other one is a clone of it, run `siglum init --same-as {id}` there."
        )),
        RelocationError::Unborn(_) => {
            Some("Commit or fetch something there first, so that it can be compared.".to_owned())
        }
        RelocationError::Unproven(_) => Some(format!(
            "Fetch its whole history (`git fetch --unshallow`), or run `siglum init --same-as {id}` there: it then shows the sessions of both."
        )),
        RelocationError::OtherRoots(_) => {
            Some("It is another repository; nothing was changed.".to_owned())
        }
        RelocationError::OtherRemote { .. } => Some(format!(
            "If it is no fork, set its remote to that address, or run `siglum init --same-as {id}` there: it then shows the sessions of both."
        )),
    };
    let error = match error {
        RelocationError::Engine(error) => error.into(),
        other => CommandError::failed(other),
    };
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

const fn outcome_word(relocation: Relocation) -> &'static str {
    match relocation {
        Relocation::Unchanged => "unchanged",
        Relocation::Move => "moved",
        Relocation::Clone => "clone",
    }
}

const fn sign_word(sign: Sign) -> &'static str {
    match sign {
        Sign::Mark => "mark",
        Sign::Worktree => "worktree",
        Sign::RootCommit => "root_commit",
        Sign::Remote => "remote",
        Sign::Origin => "origin",
    }
}

fn shown(path: &str) -> String {
    ui::one_line(&Cx::tilde(Path::new(path)), 200)
}

const fn state_word(whereabouts: &Whereabouts) -> &'static str {
    match whereabouts {
        Whereabouts::InPlace => "in_place",
        Whereabouts::Moved { .. } => "moved",
        Whereabouts::Cloned(_) => "cloned",
        Whereabouts::Unclear(_) => "unclear",
        Whereabouts::Missing => "missing",
    }
}

/// The places in which a repository is, or may be, and what tells that.
fn matches_of(whereabouts: &Whereabouts) -> Vec<(&str, &[Sign])> {
    match whereabouts {
        Whereabouts::InPlace | Whereabouts::Missing => Vec::new(),
        Whereabouts::Moved { repo, signs } => {
            vec![(repo.place.worktree.as_str(), signs.as_slice())]
        }
        Whereabouts::Cloned(others) | Whereabouts::Unclear(others) => others
            .iter()
            .map(|other| (other.record.checkout(), other.signs.as_slice()))
            .collect(),
    }
}

impl RepositoryJson {
    fn from_located(located: &LocatedRepository) -> Self {
        let matches = matches_of(&located.whereabouts).into_iter();
        let json = |(path, signs): (&str, &[Sign])| MatchJson {
            path: path.to_owned(),
            by: signs.iter().map(|s| sign_word(*s).to_owned()).collect(),
        };
        Self {
            repository: located.record.id.to_string(),
            path: located.record.checkout().to_owned(),
            remote: located.record.identity.remote.clone(),
            state: state_word(&located.whereabouts).to_owned(),
            matches: matches.map(json).collect(),
        }
    }
}

fn table(located: &[LocatedRepository]) -> Table {
    let mut table = Table::new(vec!["STATE", "REPOSITORY", "MATCHED BY", "NOW"]);
    for one in located {
        let state = state_word(&one.whereabouts).replace('_', " ");
        let style = match &one.whereabouts {
            Whereabouts::InPlace | Whereabouts::Moved { .. } | Whereabouts::Cloned(_) => {
                Style::Added
            }
            Whereabouts::Unclear(_) | Whereabouts::Missing => Style::Warning,
        };
        let (mut state, mut path) = (Cell::styled(style, state), shown(one.record.checkout()));
        let mut matches = matches_of(&one.whereabouts);
        if matches.is_empty() {
            matches.push(("", &[]));
        }
        for (now, signs) in matches {
            let words = signs.iter().map(|sign| sign_word(*sign).replace('_', " "));
            let words: Vec<String> = words.collect();
            table.row(vec![
                std::mem::replace(&mut state, Cell::plain("")),
                Cell::plain(std::mem::take(&mut path)),
                Cell::plain(words.join(", ")),
                Cell::plain(shown(now)),
            ]);
        }
    }
    table
}

/// Says what was noted, and what to do about the rest.
fn conclude(args: &Args, cx: &Cx, located: &[LocatedRepository]) {
    let is_moved = |l: &&LocatedRepository| matches!(l.whereabouts, Whereabouts::Moved { .. });
    let moved = located.iter().filter(is_moved).count() as u64;
    let n = ui::counted(moved, "repository was moved", "repositories were moved");
    match (moved, args.dry_run) {
        (0, _) => {}
        (_, true) => cx.ui.status(format!("{n}; nothing was noted.")),
        (_, false) => cx.ui.status(format!("{n}, and noted.")),
    }
    let advice = |one: &LocatedRepository| {
        let (id, path) = (one.record.id, shown(one.record.checkout()));
        match &one.whereabouts {
            Whereabouts::Missing => Some(format!(
                "{path} was not found. If it is elsewhere, run `siglum relocate` there, or `siglum relocate {id} NEW`. Nothing is lost: `siglum session list --repository {id}` lists its sessions."
            )),
            Whereabouts::Unclear(others) => {
                let other = shown(others.first()?.record.checkout());
                Some(format!(
                    "{path} was not found, and has commits in common with {other}. If they are the same and not a fork, run `siglum relocate {id} {other}`."
                ))
            }
            _ => None,
        }
    };
    for text in located.iter().filter_map(advice).take(ADVISED) {
        cx.ui.hint(text);
    }
}
