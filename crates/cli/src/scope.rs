//! The scope of a destination: its flags, and how it is shown.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use siglum_domain::scope::{Kinds, Scope};
use siglum_domain::{RepositoryId, Timestamp};
use siglum_engine::identity::repositories;
use siglum_gitstore::{Repo, discover, is_on, is_remote_name, remote_name};
use siglum_ledger::{
    Durability, Ledger, LedgerError, Projection, Reach, RepositoryRecord, Transaction, read, write,
};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, time, ui};

/// How many repositories are named in a line.
const NAMED: usize = 5;

/// The repositories that a list is of.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Where {
    /// Only this repository: a path inside it, its id, or its remote, such as `github.com/o/r`; default: the repository of
    /// the current directory, or all repositories of a server store
    #[arg(long, value_name = "PATH|ID|REMOTE", conflicts_with = "all")]
    pub repository: Option<String>,
    /// Include all repositories
    #[arg(long)]
    pub all: bool,
    #[arg(skip)]
    clones: Clones,
}

/// Whether what a repository's clones have is its own, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Clones {
    #[default]
    With,
    #[cfg_attr(
        not(feature = "gateway"),
        expect(dead_code, reason = "agents ask through it")
    )]
    Without,
}

impl Where {
    /// This repository alone. An agent is told nothing of another place, whatever that has in common with this one.
    #[cfg(feature = "gateway")]
    pub fn here_alone() -> Self {
        Self {
            clones: Clones::Without,
            ..Self::default()
        }
    }

    /// All repositories.
    pub fn everywhere() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    /// The same, or the repository that a query names; not both, and none where only this one is answered for.
    pub fn narrowed(&self, named: Option<&str>) -> Result<Self, CommandError> {
        let Some(name) = named else {
            return Ok(self.clone());
        };
        if self.clones != Clones::With || self.repository.is_some() {
            let what = match self.repository {
                Some(_) => "the repository is named twice: by `repo:` and by `--repository`",
                None => {
                    "`repo:` is refused: only the repository of the current directory is answered for"
                }
            };
            return Err(CommandError::usage(what));
        }
        Ok(Self {
            repository: Some(name.to_owned()),
            ..Self::default()
        })
    }

    /// Whether all repositories are included: because it is said, or because a server knows no directory of this machine.
    pub fn is_everywhere(&self) -> bool {
        self.all || (self.repository.is_none() && store::is_server())
    }

    /// Whether the repository is another one than that of the current directory, or all are included.
    pub const fn is_elsewhere(&self) -> bool {
        self.all || self.repository.is_some()
    }

    /// The repository by the name that a gateway knows it by, its id or its remote, unless all are included.
    pub fn name_at_gateway(&self, cx: &Cx) -> Result<Option<String>, CommandError> {
        let repo = match &self.repository {
            _ if self.all => return Ok(None),
            None => cx.repo()?,
            Some(text) => {
                let is_id = text.parse::<RepositoryId>().is_ok();
                match discover(&cx.dir.join(text), None, None) {
                    Some(repo) if !is_id && cx.dir.join(text).exists() => repo,
                    // A password in an address does not leave.
                    _ => {
                        return match remote_name(text) {
                            Some(name) => Ok(Some(name)),
                            None if !is_remote_name(text) && text.contains([':', '@']) => {
                                Err(CommandError::usage("this address names no repository")
                                    .hint("Name it as `github.com/owner/name`."))
                            }
                            None => Ok(Some(text.clone())),
                        };
                    }
                }
            }
        };
        let remote = siglum_gitstore::remote(Path::new(&repo.place.common_dir));
        match remote.filter(|name| !name.starts_with('/')) {
            Some(name) => Ok(Some(name)),
            None => {
                let worktree = &repo.place.worktree;
                let error = format!("{worktree} has no remote that a gateway may know it by");
                Err(CommandError::not_found(error)
                    .hint("Name the repository with `--repository REMOTE`, or pass `--all`."))
            }
        }
    }

    /// The repositories, if they are not all, with their clones; `here` is that of the current directory.
    pub fn listed(
        &self,
        cx: &Cx,
        ledger: &mut dyn Ledger,
        here: Option<RepositoryRecord>,
    ) -> Result<Vec<RepositoryId>, CommandError> {
        let named = match &self.repository {
            _ if self.is_everywhere() => return Ok(Vec::new()),
            Some(text) => matching(cx, ledger, text)?,
            None => {
                let here = cx.recorded(here);
                let here = here.map_err(|e| e.hint("Pass `--all` to include all repositories."))?;
                vec![here.id]
            }
        };
        match self.clones {
            Clones::Without => Ok(named),
            Clones::With => Ok(read(ledger, |tx| repositories::clones(tx, &named))?),
        }
    }
}

/// The repositories that a filter names: by a path, an id, or a remote, which several may have.
fn matching(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    text: &str,
) -> Result<Vec<RepositoryId>, CommandError> {
    let id = text.parse::<RepositoryId>();
    let path = cx.dir.join(text);
    if id.is_err() && path.exists() && !store::is_server() {
        return at(cx, ledger, &path, text).map(|id| vec![id]);
    }
    let found = read(ledger, |tx| repositories::named(tx, text))?;
    match (found.is_empty(), id) {
        (false, _) => Ok(found),
        (true, Ok(id)) => known(ledger, id).map(|id| vec![id]),
        (true, Err(_)) => Err(no_repository(ledger, text)?),
    }
}

/// That a name is nobody's, with the names that there are.
fn no_repository(ledger: &mut dyn Ledger, text: &str) -> Result<CommandError, CommandError> {
    let all = read(ledger, repositories::known)?;
    let remotes = all.iter().filter_map(|r| r.identity.hosted_remote());
    let remotes: BTreeSet<String> = remotes.map(|r| ui::one_line(r, 200)).collect();
    let error = CommandError::not_found(format!(
        "{} is neither a path in a git repository nor a repository id, and no known repository has this remote",
        ui::one_line(text, 200)
    ));
    let mut names: Vec<String> = remotes.iter().take(NAMED).cloned().collect();
    if remotes.len() > NAMED {
        names.push(format!("{} more", remotes.len() - NAMED));
    }
    Ok(match names.is_empty() {
        true => error,
        false => error.hint(format!("Known remotes: {}.", names.join(", "))),
    })
}

/// What may leave for a destination.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct ScopeArgs {
    /// Send sessions of this repository: a path inside it, or its id; repeatable; default: the repository of the
    /// current directory. For a server store: its id, or its remote
    #[arg(long, value_name = "PATH|ID")]
    repository: Vec<String>,
    /// Send sessions of all repositories in which Siglum is enabled now, and sessions without a repository
    #[arg(long, conflicts_with = "repository")]
    all_repositories: bool,
    /// Send only sessions that began at this time or later: `7d`, `2026-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = time::since)]
    since: Option<Timestamp>,
}

/// How much of a session leaves.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub struct KindsArg {
    /// Data to send of each session: verdicts, prompts (includes verdicts), or conversations (everything)
    #[arg(long, value_name = "KINDS")]
    kinds: Option<Kinds>,
}

impl ScopeArgs {
    /// Whether anything is given.
    pub const fn is_given(&self, kinds: KindsArg) -> bool {
        !self.repository.is_empty()
            || self.all_repositories
            || self.since.is_some()
            || kinds.kinds.is_some()
    }

    /// The scope that the flags name; what they leave open stays as it was, and is the repository that we stand in where
    /// there was none.
    pub fn resolve(
        &self,
        cx: &Cx,
        ledger: &mut dyn Ledger,
        before: Option<&Scope>,
        kinds: KindsArg,
    ) -> Result<Scope, CommandError> {
        let mut scope = before.cloned().unwrap_or_default();
        if self.all_repositories {
            scope.repositories = switched_on(ledger)?.iter().map(|r| r.id).collect();
            scope.no_repository = true;
        } else if !self.repository.is_empty() {
            scope.no_repository = false;
            scope.repositories = scoped(cx, ledger, &self.repository)?.into_iter().collect();
        } else if before.is_none() {
            scope.repositories = std::iter::once(current(cx, ledger)?).collect();
        }
        scope.since = self.since.or(scope.since);
        scope.kinds = kinds.kinds.unwrap_or(scope.kinds);
        Ok(scope)
    }
}

/// The repositories of these paths and ids.
pub fn named<C: FromIterator<RepositoryId>>(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    texts: &[String],
) -> Result<C, CommandError> {
    let ids = texts.iter().map(|text| one_named(cx, ledger, text));
    ids.collect()
}

/// The repositories that a scope names. Those of a server have ids and remotes, and no path on this machine.
pub fn scoped(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    texts: &[String],
) -> Result<Vec<RepositoryId>, CommandError> {
    if !store::is_server() {
        return named(cx, ledger, texts);
    }
    let mut ids = Vec::new();
    for text in texts {
        ids.extend(matching(cx, ledger, text)?);
    }
    Ok(ids)
}

fn one_named(cx: &Cx, ledger: &mut dyn Ledger, text: &str) -> Result<RepositoryId, CommandError> {
    match text.parse::<RepositoryId>() {
        Ok(id) => known(ledger, id),
        Err(_) => at(cx, ledger, &cx.dir.join(text), text),
    }
}

fn known(ledger: &mut dyn Ledger, id: RepositoryId) -> Result<RepositoryId, CommandError> {
    let all = read(ledger, |tx| tx.repositories())?;
    match all.iter().any(|r| r.id == id) {
        true => Ok(id),
        false => Err(CommandError::not_found(format!("no repository {id}"))),
    }
}

fn at(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    dir: &Path,
    shown: &str,
) -> Result<RepositoryId, CommandError> {
    let shown = ui::one_line(shown, 200);
    let repo = discover(dir, None, None).ok_or_else(|| {
        CommandError::not_found(format!(
            "{shown} is neither a path in a git repository nor a repository id"
        ))
    })?;
    cx.recognise(ledger, &repo)?;
    recorded(ledger, &repo)?.ok_or_else(|| {
        CommandError::not_found(format!("nothing is recorded for {}", repo.place.worktree))
            .hint("Run `siglum init` there to enable Siglum.")
    })
}

/// The repository of a checkout, if Siglum was ever switched on in it.
fn recorded(ledger: &mut dyn Ledger, repo: &Repo) -> Result<Option<RepositoryId>, CommandError> {
    let known = read(ledger, |tx| tx.repository(&repo.place.common_dir))?;
    Ok(known.map(|r| r.id))
}

/// The repository that we stand in, which is the scope where none is named.
fn current(cx: &Cx, ledger: &mut dyn Ledger) -> Result<RepositoryId, CommandError> {
    if store::is_server() {
        return Err(CommandError::usage("a store on a server needs a scope")
            .hint("Name repositories with `--repository ID`, or pass `--all-repositories`."));
    }
    let id = match cx.find_repo() {
        Some(repo) => {
            cx.recognise(ledger, &repo)?;
            recorded(ledger, &repo)?
        }
        None => None,
    };
    id.ok_or_else(|| {
        CommandError::usage(
            "the current directory is not in a repository with Siglum enabled, so it sets no scope",
        )
        .hint("Name repositories with `--repository PATH`, or pass `--all-repositories`.")
    })
}

/// The repositories that Siglum is switched on in now, and those that programs elsewhere named; of a server, all.
fn switched_on(ledger: &mut dyn Ledger) -> Result<Vec<RepositoryRecord>, CommandError> {
    if store::is_server() {
        return Ok(read(ledger, repositories::known)?);
    }
    let mut all = read(ledger, |tx| tx.repositories())?;
    all.retain(|r| !r.is_here() || is_on(Path::new(&r.common_dir)));
    Ok(all)
}

/// A scope with what it comes to, for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    scope: Option<Scope>,
    /// Each with its place, where that is known.
    repositories: Vec<(RepositoryId, Option<String>)>,
    reach: Reach,
}

/// The JSON form.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScopeJson {
    /// Sessions that work in these repositories alone may leave.
    repositories: Vec<RepositoryJson>,
    /// Whether sessions of no repository may.
    no_repository: bool,
    /// Only sessions that began then or later may; absent where all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// `verdicts`, `prompts` or `conversations`: how much of each leaves.
    kinds: String,
    /// Whether all of the ledger may: a program that owns the ledger feeds this one itself.
    everything: bool,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RepositoryJson {
    id: String,
    /// Its git directory, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// How many sessions may leave.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReachJson {
    /// Sessions with sealed turns that are in scope.
    sessions: u64,
    /// Sessions with sealed turns that are outside, and stay here.
    outside: u64,
}

impl Shown {
    /// The scope of a projection, in a transaction.
    pub fn new(
        tx: &mut dyn Transaction,
        name: &str,
        scope: Option<&Scope>,
    ) -> Result<Self, LedgerError> {
        let known = tx.repositories()?;
        let place = |id: RepositoryId| {
            let record = known.iter().find(|r| r.id == id);
            record.map(|r| r.common_dir.clone())
        };
        let ids = scope.iter().flat_map(|s| &s.repositories);
        Ok(Self {
            repositories: ids.map(|id| (*id, place(*id))).collect(),
            scope: scope.cloned(),
            reach: tx.reach(name)?,
        })
    }

    /// What a projection with its scope comes to, whether it is there or not. Nothing is written.
    pub fn planned(ledger: &mut dyn Ledger, projection: &Projection) -> Result<Self, CommandError> {
        as_if_added(ledger, projection, |_, shown| Ok(shown))
    }

    /// Everything, for tests.
    #[cfg(test)]
    pub fn everything() -> Self {
        Self {
            scope: Some(Scope::in_process()),
            ..Self::default()
        }
    }

    /// Whether there is a scope at all.
    pub const fn is_open(&self) -> bool {
        self.scope.is_some()
    }

    pub fn json(&self) -> (Option<ScopeJson>, ReachJson) {
        let scope = self.scope.as_ref().map(|scope| ScopeJson {
            repositories: self
                .repositories
                .iter()
                .map(|(id, path)| RepositoryJson {
                    id: id.to_string(),
                    path: path.clone(),
                })
                .collect(),
            no_repository: scope.no_repository,
            since: scope.since.map(|at| at.to_string()),
            kinds: scope.kinds.to_string(),
            everything: scope.everything,
        });
        let reach = ReachJson {
            sessions: self.reach.sessions,
            outside: self.reach.outside,
        };
        (scope, reach)
    }

    /// In words: what may leave, and how much that is.
    pub fn text(&self) -> String {
        let Some(scope) = &self.scope else {
            return "no scope is set, so nothing is sent".to_owned();
        };
        let mut text = self.repositories_text(scope);
        if let Some(since) = scope.since {
            text += &format!(", since {}", ui::when(since));
        }
        format!(
            "{text}, {}; {} in scope, {} outside",
            scope.kinds,
            ui::plural(self.reach.sessions, "session"),
            ui::count(self.reach.outside)
        )
    }

    fn repositories_text(&self, scope: &Scope) -> String {
        if scope.everything {
            return "everything".to_owned();
        }
        let short = |(id, place): &(RepositoryId, Option<String>)| match place {
            Some(place) => name_of(place),
            None => id.to_string(),
        };
        let mut names: Vec<String> = self.repositories.iter().take(NAMED).map(short).collect();
        if self.repositories.len() > NAMED {
            names.push(format!("{} more", self.repositories.len() - NAMED));
        }
        let mut text = match self.repositories.len() {
            0 => "no repository".to_owned(),
            1 => format!("repository {}", names[0]),
            n => format!("{n} repositories ({})", names.join(", ")),
        };
        if scope.no_repository {
            text += " and sessions without a repository";
        }
        text
    }
}

/// Looks at a ledger as if a projection were there as it is given: a transaction that fails leaves nothing behind.
pub fn as_if_added<T>(
    ledger: &mut dyn Ledger,
    projection: &Projection,
    mut look: impl FnMut(&mut dyn Transaction, Shown) -> Result<T, LedgerError>,
) -> Result<T, CommandError> {
    let mut found = None;
    let undone = write(ledger, Durability::Process, |tx| {
        tx.put_projection(projection)?;
        let shown = Shown::new(tx, &projection.name, projection.scope.as_ref())?;
        found = Some(look(tx, shown)?);
        Err::<(), _>(LedgerError::Refused)
    });
    match (found, undone) {
        (Some(found), _) => Ok(found),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(())) => Err(CommandError::failed("cannot read the ledger")),
    }
}

/// What people call a repository: its directory.
fn name_of(common_dir: &str) -> String {
    let path = Path::new(common_dir);
    let dir = match path.file_name().is_some_and(|name| name == ".git") {
        true => path.parent().unwrap_or(path),
        false => path,
    };
    ui::one_line(&dir.display().to_string(), 200)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_scope_is_shown_in_one_line() {
        let id = |n| RepositoryId::from_uuid(Uuid::from_u128(n));
        let mut shown = Shown::default();
        assert_eq!(shown.text(), "no scope is set, so nothing is sent");
        shown.scope = Some(Scope::new([id(1)]));
        shown.repositories = vec![(id(1), Some("/src/team/.git".to_owned()))];
        shown.reach = Reach {
            sessions: 2,
            outside: 7,
        };
        assert_eq!(
            shown.text(),
            "repository /src/team, conversations; 2 sessions in scope, 7 outside"
        );
        shown.scope = Some(Scope {
            no_repository: true,
            kinds: Kinds::Prompts,
            ..Scope::new((1..=7).map(id))
        });
        shown.repositories = (1..=7).map(|n| (id(n), Some(format!("/r{n}")))).collect();
        assert_eq!(
            shown.text(),
            "7 repositories (/r1, /r2, /r3, /r4, /r5, 2 more) and sessions without a repository, prompts; 2 sessions in scope, 7 outside"
        );
    }
}
