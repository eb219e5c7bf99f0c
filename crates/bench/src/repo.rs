//! Repositories with a long history.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use siglum_domain::intake::Place;
use siglum_domain::{Oid, Timestamp};

use crate::Fallible;
use crate::clock::{Chance, now};
use crate::filler::Filler;
use crate::home::Home;

/// A commit of the history.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) commit: Oid,
    pub(crate) parent: Option<Oid>,
    pub(crate) at: Timestamp,
    pub(crate) path: String,
}

/// A repository with its checkout.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) dir: PathBuf,
    pub(crate) files: Vec<String>,
    /// Oldest first.
    pub(crate) history: Vec<Commit>,
}

impl Repo {
    /// Makes a repository of so many files and commits, checked out, with nothing collected later.
    pub(crate) fn create(home: &Home, dir: &Path, files: usize, commits: usize) -> Fallible<Self> {
        std::fs::create_dir_all(dir)?;
        let mut repo = Self {
            dir: dir.to_owned(),
            files: (0..files).map(name).collect(),
            history: Vec::new(),
        };
        repo.git(home, &["init", "-q", "-b", "main"])?;
        for (key, value) in [("gc.auto", "0"), ("maintenance.auto", "false")] {
            repo.git(home, &["config", key, value])?;
        }
        repo.import(home, commits)?;
        repo.git(home, &["reset", "-q", "--hard", "main"])?;
        repo.history = repo.read_history(home)?;
        Ok(repo)
    }

    /// A copy beside it, file by file, with the same index.
    pub(crate) fn copy(&self, home: &Home, dir: &Path) -> Fallible<Self> {
        let done = Command::new("cp")
            .arg("-a")
            .args([&self.dir, dir])
            .status()?
            .success();
        if !done {
            return Err(format!("cannot copy {} to {}", self.dir.display(), dir.display()).into());
        }
        let copy = Self {
            dir: dir.to_owned(),
            ..self.clone()
        };
        copy.git(home, &["update-index", "-q", "--refresh"])?;
        Ok(copy)
    }

    pub(crate) fn place(&self) -> Fallible<Place> {
        let found = siglum_gitstore::discover(&self.dir, None, None);
        Ok(found.ok_or("the repository just made is not found")?.place)
    }

    /// Git in the checkout; it must succeed.
    pub(crate) fn git(&self, home: &Home, args: &[&str]) -> Fallible<String> {
        let mut command = Command::new("git");
        home.apply(&mut command);
        let out = command
            .current_dir(&self.dir)
            .args(args)
            .stdin(Stdio::null())
            .output()?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned());
        }
        let stderr = String::from_utf8_lossy(&out.stderr);
        Err(format!("git {} failed: {stderr}", args.join(" ")).into())
    }

    /// The names of the hooks that are installed.
    pub(crate) fn hooks(&self) -> Fallible<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.dir.join(".git/hooks"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if Path::new(&name).extension().is_none() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Gives it as many hooks as the other one has, which do nothing.
    pub(crate) fn do_nothing_in_hooks_of(&self, other: &Self) -> Fallible<()> {
        for hook in other.hooks()? {
            let path = self.dir.join(".git/hooks").join(hook);
            std::fs::write(&path, "#!/bin/sh\n:\n")?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    fn import(&self, home: &Home, commits: usize) -> Fallible<()> {
        let mut command = Command::new("git");
        home.apply(&mut command);
        let mut child = command
            .current_dir(&self.dir)
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("git takes no input")?;
        self.write_stream(&mut std::io::BufWriter::new(stdin), commits)?;
        if child.wait()?.success() {
            Ok(())
        } else {
            Err("git fast-import failed".into())
        }
    }

    fn write_stream(&self, out: &mut impl std::io::Write, commits: usize) -> Fallible<()> {
        let chance = Chance::new(20);
        let filler = Filler::gather(4 << 20);
        let newest = now().seconds();
        for number in 0..commits.max(1) {
            let at = newest - (commits - number) as i64 * 600;
            writeln!(out, "commit refs/heads/main\nmark :{}", number + 1)?;
            writeln!(out, "committer Ada <ada@example.org> {at} +0000")?;
            let message = format!("Change {number}: {}\n", filler.words(&chance, 6));
            writeln!(out, "data {}\n{message}", message.len())?;
            let one = [chance.below(self.files.len())];
            let all: Vec<usize> = (0..self.files.len()).collect();
            for &file in if number == 0 { &all[..] } else { &one[..] } {
                let text = filler.text(&chance, 600);
                writeln!(out, "M 100644 inline {}", self.files[file])?;
                writeln!(out, "data {}\n{text}", text.len())?;
            }
        }
        writeln!(out, "done")?;
        out.flush()?;
        Ok(())
    }

    fn read_history(&self, home: &Home) -> Fallible<Vec<Commit>> {
        let log = self.git(
            home,
            &["log", "--reverse", "--format=%x01%H %ct %P", "--name-only"],
        )?;
        let mut history = Vec::new();
        for block in log.split('\u{1}').skip(1) {
            let mut lines = block.lines().filter(|l| !l.is_empty());
            let mut words = lines.next().unwrap_or_default().split(' ');
            history.push(Commit {
                commit: Oid::new(words.next().unwrap_or_default())?,
                at: Timestamp::from_seconds(words.next().unwrap_or_default().parse()?),
                parent: words.next().and_then(|p| Oid::new(p).ok()),
                path: lines.next().unwrap_or_default().to_owned(),
            });
        }
        Ok(history)
    }
}

fn name(number: usize) -> String {
    format!("src/part{:03}/file{number:05}.rs", number / 100)
}
