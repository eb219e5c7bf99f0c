//! What a command works with: ledger, repository, world, output.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use siglum_domain::redact::Redactor;
use siglum_domain::{LedgerId, Oid, SessionId};
use siglum_engine::driven::launch;
use siglum_engine::identity::repositories::{self, Recognised};
use siglum_engine::{EngineError, Here, World, settle, worker};
use siglum_gitstore::hooks::{self, HookSite};
use siglum_gitstore::{Git, ObjectStore, Repo, discover, is_bare, siglum_dir, without_checkout};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, RepositoryRecord, Spool, SqliteLedger, read};

use crate::clock::{self, Ids};
use crate::config::Config;
use crate::error::CommandError;
use crate::home::{Home, repository_spool};
use crate::hook::landings;
use crate::ui::{self, Pager, Ui};
use crate::{claim, env, known_ledger, platform};

/// What the store's own log may grow to, in bytes, before a command brings it into the ledger's file: a process that
/// opens the ledger alone reads all of it.
const LOG_MOST: u64 = 4 << 20;

/// What a command works with.
#[derive(Clone)]
pub struct Cx {
    pub ui: Ui,
    pub home: Home,
    pub config: Config,
    pub dir: PathBuf,
}

#[cfg(test)]
impl Cx {
    /// A quiet command whose home and directory are this one.
    pub fn for_tests(dir: &Path) -> Self {
        Self {
            ui: Ui::new(crate::ui::Color::Never, true, true),
            home: Home::at(dir.to_owned()),
            config: Config::load(None),
            dir: dir.to_owned(),
        }
    }
}

impl Cx {
    pub fn new(ui: Ui, dir: PathBuf, config: Config) -> Self {
        Self {
            ui,
            home: Home::find(),
            config,
            dir,
        }
    }

    /// A pager for a long answer, where a person reads it at a terminal and wants one.
    pub fn pager(&self) -> Option<Pager> {
        let git = self.ui.is_paged().then(|| self.git())?;
        Pager::start(&git)
    }

    /// Opens the ledger, migrating it if need be; it is begun only where none was here before.
    pub fn open_ledger(&self) -> Result<SqliteLedger, CommandError> {
        if let Some(id) = known_ledger::load(&self.home) {
            return Ok(SqliteLedger::open_known(&self.home.ledger(), id)?);
        }
        let ledger = self.create_ledger()?;
        // A home that cannot be written to keeps the ledger that it has, and that is learned another time.
        let _ = known_ledger::store(&self.home, ledger.id());
        Ok(ledger)
    }

    /// The same for a worker, whose home may be moved away before it is up or while it is at work: no other home is made.
    pub fn open_ledger_in_home(&self) -> Result<SqliteLedger, CommandError> {
        let dir = self.home.dir();
        if !dir.is_dir() {
            return Err(CommandError::failed(format!("{} is gone", dir.display())));
        }
        self.open_ledger()
    }

    /// Begins a ledger in place of one that is lost, or goes on with the one that stands there.
    pub fn begin_ledger(&self) -> Result<SqliteLedger, CommandError> {
        let ledger = self.create_ledger()?;
        let known = self.home.known_ledger();
        known_ledger::store(&self.home, ledger.id()).map_err(CommandError::at(&known))?;
        Ok(ledger)
    }

    /// Whether there is a ledger, or was one before; asking begins none.
    pub fn has_ledger(&self) -> bool {
        known_ledger::is_here(&self.home)
    }

    fn create_ledger(&self) -> Result<SqliteLedger, CommandError> {
        let how = Open::Command {
            id: LedgerId::mint(&Ids),
            key: clock::secret(),
        };
        Ok(SqliteLedger::open(&self.home.ledger(), how)?)
    }

    /// The ledger with everything in it that waited, and the repository that we stand in, if it is
    /// known. Where nothing can be written, it is told that what waits is not in the answer.
    pub fn settled(&self) -> Result<(SqliteLedger, Option<RepositoryRecord>), CommandError> {
        let mut ledger = self.open_ledger()?;
        if let Err(error) = self.settle(&mut ledger) {
            if !error.is_unwritable() {
                return Err(error);
            }
            let why = format!("{:#}", error.source);
            self.ui
                .warning(format!("{why}; pending deliveries are not in this result"));
        }
        let repository = match self.find_repo() {
            Some(repo) => read(&mut ledger, |tx| tx.repository(&repo.place.common_dir))?,
            None => None,
        };
        Ok((ledger, repository))
    }

    fn settle(&self, ledger: &mut dyn Ledger) -> Result<(), CommandError> {
        let world = self.world()?;
        let repo = self.find_repo();
        let mut spools = vec![self.home.spool()];
        let mut repository = None;
        if let Some(repo) = &repo {
            landings::spool(&self.home, &repo.siglum_dir(), |checkpoint| {
                landings::is_told(ledger, checkpoint)
            });
            spools.push(repository_spool(&repo.siglum_dir()));
            settle::settle(&world, ledger, &spools, None)?;
            self.recognise(ledger, repo)?;
            repository = read(ledger, |tx| tx.repository(&repo.place.common_dir))?;
        }
        settle::settle(&world, ledger, &spools, repository.as_ref())?;
        self.find_lost_launches(&world, ledger)?;
        // Much was taken in, and no worker is there to tidy up: the next process would read all of it.
        if SqliteLedger::log_bytes(&self.home.ledger()) > LOG_MOST {
            ledger.maintain()?;
        }
        Ok(())
    }

    /// Looks which repository lies in a checkout, when what waits is delivered: that was seen in the place where the
    /// repository was. What git cannot read is as it was before.
    pub fn recognise(
        &self,
        ledger: &mut dyn Ledger,
        repo: &Repo,
    ) -> Result<Recognised, CommandError> {
        let spools = [self.home.spool(), repository_spool(&repo.siglum_dir())];
        while worker::drain(&Ids, ledger, &spools)? > 0 {}
        let git = match self.find_repo().as_ref() == Some(repo) {
            true => self.git(),
            false => Git::new(env::git(), repo.worktree()),
        };
        match repositories::recognise(&self.world()?, ledger, &git, repo) {
            Err(EngineError::Git(error)) => {
                tracing::debug!("{} is not checked: {error}", repo.place.worktree);
                Ok(Recognised::Unknown(Vec::new()))
            }
            other => Ok(other?),
        }
    }

    /// Writes down which launches are lost, and takes back the tokens of those that are over.
    pub fn find_lost_launches(
        &self,
        world: &World<'_>,
        ledger: &mut dyn Ledger,
    ) -> Result<(), CommandError> {
        let open = claim::open_launches(&self.home);
        if !open.is_empty() {
            let over = launch::find_lost(world, ledger, &open)?;
            claim::forget(&self.home, &over);
            self.forget_copies(ledger, &over)?;
        }
        Ok(())
    }

    fn forget_copies(
        &self,
        ledger: &mut dyn Ledger,
        over: &[SessionId],
    ) -> Result<(), CommandError> {
        let places = read(ledger, |tx| {
            let repositories = tx.repositories()?;
            let mut places = Vec::new();
            for session in over {
                let repository = tx.session(*session)?.and_then(|s| s.repository);
                let here = repositories.iter().filter(|r| Some(r.id) == repository);
                places.extend(here.map(|r| (*session, r.common_dir.clone())));
            }
            Ok(places)
        })?;
        for (session, common_dir) in places {
            claim::forget_copy(&siglum_dir(Path::new(&common_dir)), session);
        }
        Ok(())
    }

    /// The spools that this command knows of.
    pub fn spools(&self) -> Vec<Spool> {
        let here = self
            .find_repo()
            .map(|repo| repository_spool(&repo.siglum_dir()));
        std::iter::once(self.home.spool()).chain(here).collect()
    }

    /// All spools: that of the home, and those of repositories that are here.
    pub fn all_spools(&self, ledger: &mut dyn Ledger) -> Result<Vec<Spool>, CommandError> {
        let repositories = read(ledger, |tx| tx.repositories())?;
        let here = repositories.iter().filter(|r| r.is_here());
        let of = |r: &RepositoryRecord| repository_spool(&siglum_dir(Path::new(&r.common_dir)));
        Ok(std::iter::once(self.home.spool())
            .chain(here.map(of))
            .collect())
    }

    /// The repository that we stand in, whether it is known or not.
    pub fn find_repo(&self) -> Option<Repo> {
        let (git_dir, work_tree) = (env::path("GIT_DIR"), env::path("GIT_WORK_TREE"));
        discover(&self.dir, git_dir.as_deref(), work_tree.as_deref())
    }

    /// The repository that we stand in.
    pub fn repo(&self) -> Result<Repo, CommandError> {
        self.find_repo().ok_or_else(|| {
            let git_dir = env::path("GIT_DIR");
            match without_checkout(&self.dir, git_dir.as_deref()) {
                Some(git_dir) => CommandError::failed(format!(
                    "{} is a {} without a worktree here",
                    git_dir.display(),
                    match is_bare(&git_dir) {
                        true => "bare repository",
                        false => "git directory",
                    }
                ))
                .hint("Run this in a worktree of it (`git worktree list` shows them), or name one with `-C DIR`."),
                None => CommandError::failed(format!(
                    "{} is not inside a git repository",
                    self.dir.display()
                ))
                .hint("Run this in a git repository, or name one with `-C DIR`."),
            }
        })
    }

    /// The record of the repository that we stand in.
    pub fn recorded(
        &self,
        repository: Option<RepositoryRecord>,
    ) -> Result<RepositoryRecord, CommandError> {
        let repo = self.repo()?;
        repository.ok_or_else(|| {
            CommandError::not_found(format!("nothing is recorded for {}", repo.place.worktree))
                .hint("Run `siglum init` here to enable Siglum.")
        })
    }

    /// Git in the checkout that we stand in, also where only the environment says whose it is.
    pub fn git(&self) -> Git {
        match self.find_repo().filter(|_| env::path("GIT_DIR").is_some()) {
            Some(repo) => Git::new(env::git(), repo.worktree()).with_git_dir(repo.git_dir),
            None => Git::new(env::git(), &self.dir),
        }
    }

    /// Where git takes the hooks of a repository from, to change them: not where git refuses to work.
    pub fn writable_hook_site(&self, repo: &Repo) -> Result<HookSite, CommandError> {
        self.git().check_access().map_err(|error| {
            CommandError::from(error).hint(
                "Run this as the user who owns the repository, or add the repository to git's `safe.directory`.",
            )
        })?;
        let site = self.hook_site(repo)?;
        self.check_user(repo, &site)?;
        Ok(site)
    }

    /// Refuses to change what another user switched on: their hooks would run our program, or none, and what hooks leave in
    /// the repository for us would be in a directory that we cannot write to.
    pub fn check_user(&self, repo: &Repo, site: &HookSite) -> Result<(), CommandError> {
        const HINT: &str = "Work in a clone of your own, or ask that user to run `siglum uninstall` here first: the hooks of a repository call the program of one user.";
        let me = rustix::process::geteuid().as_raw();
        let dir = repo.siglum_dir();
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        if let Ok(meta) = fs::metadata(&dir)
            && meta.is_dir()
            && let Err(error) = rustix::fs::access(&dir, access)
        {
            return Err(match meta.uid() {
                uid if uid == me => CommandError::at(&dir)(error.into()),
                uid => CommandError::failed(format!(
                    "another user (user id {uid}) enabled Siglum here: {} is theirs",
                    dir.display()
                ))
                .hint(HINT),
            });
        }
        let is_anothers = |program: &PathBuf| {
            *program != self.home.shim()
                && match program.ancestors().nth(2).map(fs::metadata) {
                    Some(Ok(meta)) => meta.uid() != me,
                    Some(Err(error)) => error.kind() == ErrorKind::PermissionDenied,
                    None => false,
                }
        };
        match hooks::programs(site).into_iter().find(is_anothers) {
            Some(program) => Err(CommandError::failed(format!(
                "another user enabled Siglum here: the git hooks call {}",
                program.display()
            ))
            .hint(HINT)),
            None => Ok(()),
        }
    }

    /// Where git takes the hooks of a repository from.
    pub fn hook_site(&self, repo: &Repo) -> Result<HookSite, CommandError> {
        Ok(HookSite::find(&self.git(), repo)?)
    }

    /// The commit that a revision names.
    pub fn commit(&self, revision: &str) -> Result<Oid, CommandError> {
        self.repo()?;
        self.git().resolve(revision)?.ok_or_else(|| {
            CommandError::not_found(format!("no commit `{revision}` in this repository"))
                .hint("Run `siglum log` to list commits and their sessions.")
        })
    }

    /// Who makes a statement here: the person's name in git's settings, else in the system.
    pub fn person(&self) -> String {
        let name = self.git().user_name().ok().flatten();
        name.or_else(|| env::text("USER"))
            .map_or_else(|| "unknown".to_owned(), |name| ui::one_line(&name, 100))
    }

    /// The world as this process sees it. Makes the home: a command may be the first that needs one, where the ledger is
    /// elsewhere.
    pub fn world(&self) -> Result<World<'static>, CommandError> {
        let made = self.home.create();
        made.map_err(CommandError::at(self.home.dir()))?;
        self.world_in_home()
    }

    /// The same in a home that is there: of one that was moved away the worker makes no other one.
    pub fn world_in_home(&self) -> Result<World<'static>, CommandError> {
        Ok(World {
            here: Here {
                ids: &Ids,
                clock: &clock::now,
                alive: &platform::alive,
                redactor: Redactor::shared(),
            },
            git: env::git(),
            objects: ObjectStore::open(self.home.objects())?,
        })
    }

    /// A path as people read it: with `~` for their home.
    pub fn tilde(path: &Path) -> String {
        match path.strip_prefix(env::home()) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}
