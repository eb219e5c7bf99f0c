//! A directory with repositories that know nothing of the machine's git settings.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use siglum_domain::Oid;
use siglum_gitstore::{Git, Repo, discover};

pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// A new repository under this name.
    pub(crate) fn init(&self, name: &str, options: &[&str]) -> Tree {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        let tree = Tree(path);
        tree.git(&[&["init", "-q", "-b", "main"], options].concat());
        tree
    }
}

/// One checkout.
pub(crate) struct Tree(pub(crate) PathBuf);

impl Tree {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' own git, to compare with"
    )]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.0)
            .args(args)
            .env("HOME", "/nonexistent");
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        command
            .env("GIT_AUTHOR_NAME", "Ann")
            .env("GIT_AUTHOR_EMAIL", "ann@example.org");
        command
            .env("GIT_COMMITTER_NAME", "Cem")
            .env("GIT_COMMITTER_EMAIL", "cem@example.org");
        command
            .env("GIT_AUTHOR_DATE", "@1700000000 +0200")
            .env("GIT_COMMITTER_DATE", "@1700000100 +0000");
        command
            .env("GIT_EDITOR", "true")
            .env("GIT_ALLOW_PROTOCOL", "file");
        command
    }

    pub(crate) fn try_git(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_with(args, b"")
    }

    pub(crate) fn git_with(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.try_git(args, input);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn oid(&self, rev: &str) -> Oid {
        Oid::new(self.git(&["rev-parse", rev]).trim()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file, commits everything and returns the commit.
    pub(crate) fn commit(&self, path: &str, content: &str, message: &str) -> Oid {
        self.write(path, content);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.oid("HEAD")
    }

    pub(crate) fn repo(&self) -> Repo {
        discover(&self.0, None, None).unwrap()
    }

    pub(crate) fn gitstore(&self) -> Git {
        Git::new("git", &self.0)
    }
}

pub(crate) fn script(path: &Path, content: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
