//! A user with a corpus: a home, a repository that is recorded, and directories that are none.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use super::writer::{Corpus, Size, write};
use crate::Fallible;
use crate::home::Home;
use crate::repo::Repo;
use crate::run::Run;
use crate::watched::{self, Took};

/// The command that imports everything.
pub(crate) const IMPORT: &[&str] = &["import", "--all"];

/// A user whose agents worked in a repository, and elsewhere.
pub(crate) struct Scene {
    pub(crate) home: Home,
    pub(crate) repo: Repo,
    pub(crate) corpus: Corpus,
}

impl Scene {
    /// Makes one, with a corpus of so many megabytes and sessions where nothing else is wanted.
    pub(crate) fn create(
        run: &Run,
        name: &str,
        (megabytes, sessions): (usize, usize),
    ) -> Fallible<Self> {
        let dir = run.dir(name)?;
        let home = Home::create(&run.program, &dir)?;
        let repo = Repo::create(&home, &dir.join("repo"), 20, 20)?;
        home.run(&repo.dir, &["init", "--yes"])?;
        let size = Size::wanted(
            run.megabytes.unwrap_or(megabytes),
            run.sessions.unwrap_or(sessions),
        );
        let corpus = write(&home.user, &repo.dir, size)?;
        Ok(Self { home, repo, corpus })
    }

    /// Imports everything into a home, with no worker in the way, and gives what that took.
    pub(crate) fn import(&self, home: &Home) -> Fallible<Took> {
        let lock = home.without_worker()?;
        self.deliver_plugin_lines(home)?;
        let took = watched::run(&mut home.command(&self.repo.dir, IMPORT))?;
        // The import starts a worker, which leaves when it finds the lock taken.
        std::thread::sleep(Duration::from_secs(1));
        drop(lock);
        Ok(took)
    }

    /// Calls the hook with each line of OpenCode's plug-in, as the plug-in does.
    fn deliver_plugin_lines(&self, home: &Home) -> Fallible<()> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.corpus.plugin_lines)? {
            paths.push(entry?.path());
        }
        paths.sort();
        for path in paths {
            for line in std::fs::read_to_string(path)?.lines() {
                let mut command = home.command(&self.repo.dir, &["hook", "opencode"]);
                command.stdin(Stdio::piped()).stdout(Stdio::null());
                let mut child = command.spawn()?;
                if let Some(mut stdin) = child.stdin.take() {
                    stdin.write_all(line.as_bytes())?;
                }
                if !child.wait()?.success() {
                    return Err("a hook did not exit with 0".into());
                }
            }
        }
        Ok(())
    }
}
