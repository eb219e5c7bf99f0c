//! A repository, and questions about it.

use std::path::{Path, PathBuf};

use super::answer::Why;
use super::world::{Ran, World};

/// A checkout.
#[derive(Clone)]
pub(crate) struct Repo<'w> {
    pub(crate) world: &'w World,
    pub(crate) dir: PathBuf,
}

impl<'w> Repo<'w> {
    /// Runs a shell script here, by nobody: no agent above it, no terminal.
    pub(crate) fn sh(&self, script: &str) -> Ran {
        self.world.sh(&self.dir, script)
    }

    /// Runs git here and gives its output; it must succeed.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = self.world.command("git");
        let output = git.args(args).current_dir(&self.dir).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!(ran.code, Some(0), "git {args:?}: {}", ran.stderr);
        ran.stdout.trim_end_matches('\n').to_owned()
    }

    /// Adds so many commits to `main`, which no hook sees: each with a file, `0.txt` and so on.
    pub(crate) fn add_commits(&self, count: usize) {
        let onto = self.sh("git rev-parse --verify --quiet HEAD").stdout;
        let mut stream = String::from("feature done\n");
        for number in 0..count {
            let from = match (number, onto.trim_end()) {
                (0, onto) if !onto.is_empty() => format!("from {onto}\n"),
                _ => String::new(),
            };
            stream.push_str(&format!(
                "commit refs/heads/main\ncommitter A <a@example.com> {} +0000\ndata 4\nwork\n{from}\
                 M 644 inline {number}.txt\ndata 4\none\n\n",
                1_700_000_000 + number
            ));
        }
        stream.push_str("done\n");
        let file = self.world.root.join("stream");
        std::fs::write(&file, stream).unwrap();
        let git = "git -c core.hooksPath=/dev/null";
        self.sh(&format!(
            "{git} fast-import --quiet <'{}' && {git} reset -q --hard",
            file.display()
        ))
        .ok();
    }

    /// Runs the program under test here.
    pub(crate) fn siglum(&self, args: &[&str]) -> Ran {
        self.world.siglum(&self.dir, args)
    }

    /// The commands that the program has below another one, or at all, by its own help.
    pub(crate) fn commands_below(&self, above: &[&str]) -> Vec<String> {
        let (help, begin) = match above {
            [] => (self.siglum(&["help", "--all"]).ok(), ":\n"),
            _ => (
                self.siglum(&[above, &["--help"]].concat()).ok(),
                "\nCommands:\n",
            ),
        };
        let list = help.split_once(begin).map_or("", |(_, list)| list);
        let list = list
            .split_once("\nOptions:\n")
            .map_or(list, |(list, _)| list);
        // Longer descriptions go on in lines that are indented further.
        let lines = list
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with(' '));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        names
            .filter(|name| *name != "help")
            .map(str::to_owned)
            .collect()
    }

    /// Another directory of the same world.
    pub(crate) fn beside(&self, dir: impl AsRef<Path>) -> Self {
        Self {
            world: self.world,
            dir: self.dir.join(dir),
        }
    }

    /// The commit that a revision names.
    #[track_caller]
    pub(crate) fn id(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// The commits of a range, oldest first.
    #[track_caller]
    pub(crate) fn commits(&self, range: &str) -> Vec<String> {
        let list = self.git(&["rev-list", "--reverse", range]);
        list.lines().map(str::to_owned).collect()
    }

    /// The whole message of a commit.
    pub(crate) fn message(&self, revision: &str) -> String {
        self.git(&["log", "-1", "--format=%B", revision])
    }

    /// The checkpoints that the trailers of a commit name, by git's own reading.
    #[track_caller]
    pub(crate) fn trailers(&self, revision: &str) -> Vec<String> {
        let format = "--format=%(trailers:key=Siglum-Checkpoint,valueonly)";
        let list = self.git(&["log", "-1", format, revision]);
        list.split_whitespace().map(str::to_owned).collect()
    }

    /// The answer of `siglum why`.
    #[track_caller]
    pub(crate) fn why(&self, revision: &str) -> Why {
        Why(self.world.json(&self.dir, &["why", revision]))
    }

    /// Who made a commit, and how sure that is, in two words.
    #[track_caller]
    pub(crate) fn committer(&self, revision: &str) -> String {
        self.why(revision).committer()
    }

    /// Checks who made a commit, and that the message points there if it should.
    #[track_caller]
    pub(crate) fn check(&self, what: &str, revision: &str, expected: &str) {
        let why = self.why(revision);
        let trailers = self.trailers(revision);
        assert_eq!(why.committer(), expected, "{what}\n{why}");
        if expected.starts_with("human") || expected.starts_with("unknown unknown") {
            assert!(trailers.is_empty(), "{what}: {trailers:?}");
        } else {
            assert_eq!(why.checkpoints(), trailers, "{what}\n{why}");
        }
    }
}
