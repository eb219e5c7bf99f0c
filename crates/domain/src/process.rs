//! Processes: who is an ancestor of whom, as the kernel tells it.
//!
//! A process is named by host, boot, pid namespace, pid and start time, so that a pid that is used
//! again is another process. Names of processes mislead; they are kept for reading only.

use serde::{Deserialize, Serialize};

/// How many ancestors a walk visits at most.
pub const WALK_LIMIT: usize = 32;

/// One process for as long as it lives, and never another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The name of the host.
    pub host: String,
    /// The id of the kernel's boot.
    pub boot: String,
    /// The inode of the pid namespace; 0 where there is none.
    pub namespace: u64,
    /// The process id inside that namespace.
    pub pid: u32,
    /// The start time in the kernel's own units since boot.
    pub start: u64,
}

impl ProcessIdentity {
    /// One text that is equal exactly for equal processes, to look them up by.
    #[must_use]
    pub fn key(&self) -> String {
        format!(
            "{}/{}/{}/{}/{}",
            self.host, self.boot, self.namespace, self.pid, self.start
        )
    }

    /// The process of such a text.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        let mut parts = key.rsplitn(5, '/');
        let start = parts.next()?.parse().ok()?;
        let pid = parts.next()?.parse().ok()?;
        let namespace = parts.next()?.parse().ok()?;
        let boot = parts.next()?.to_owned();
        let host = parts.next()?.to_owned();
        Some(Self {
            host,
            boot,
            namespace,
            pid,
            start,
        })
    }
}

impl ProcessIdentity {
    /// Tells whether this process began after another one, by the kernel's clock, which nobody sets.
    #[must_use]
    pub fn began_after(&self, other: &Self) -> bool {
        self.host == other.host && self.boot == other.boot && self.start > other.start
    }
}

/// The controlling terminal of a process, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// The device number.
    pub device: u64,
    /// The process group in its foreground.
    pub foreground: i64,
}

/// One process of a chain, nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Which process.
    pub identity: ProcessIdentity,
    /// The kernel's short name, for reading only.
    pub name: String,
    /// The file name of the executable, where the system tells it.
    pub executable: Option<String>,
    /// The file name of the script that an interpreter runs, for agents that are scripts.
    pub script: Option<String>,
    /// The process group.
    pub group: i64,
    /// Its controlling terminal.
    pub terminal: Option<Terminal>,
}

impl Ancestor {
    /// The name to go by: the executable, else the kernel's short name.
    #[must_use]
    pub fn program(&self) -> &str {
        self.executable.as_deref().unwrap_or(&self.name)
    }
}

/// A walk from a process upwards. `complete` tells whether it reached the first process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The process itself, then its parent, and so on.
    pub ancestors: Vec<Ancestor>,
    /// Whether the walk ended at the first process of the system (and not at the limit, a loop or a
    /// process that vanished).
    pub complete: bool,
    /// How many units of a start time make a second; 0 where that is not known.
    #[serde(default)]
    pub per_second: u32,
}

const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh",
];
const RUNNERS: &[&str] = &[
    "npx", "npm", "pnpm", "yarn", "bunx", "uvx", "pipx", "env", "timeout", "nice", "setsid",
    "script", "sudo", "xargs",
];

/// What orphans are given to.
const ADOPTERS: &[&str] = &[
    "systemd",
    "init",
    "launchd",
    "tini",
    "dumb-init",
    "docker-init",
];

/// Tells whether a program of this name is a shell.
#[must_use]
pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.trim_start_matches('-'))
}

/// Tells whether a program of this name only starts another: a shell, a package runner, or us.
#[must_use]
pub fn is_short_lived(program: &str) -> bool {
    is_shell(program) || RUNNERS.contains(&program) || program == "siglum"
}

impl Chain {
    /// The process that a hook speaks for: the one whose pid the agent named, else the first
    /// ancestor that is no shell, no package runner and not us. None where the agent is gone: above
    /// a hook that outlived it is who adopts orphans, and that is nobody's agent.
    #[must_use]
    pub fn agent_process(&self, named: Option<u32>) -> Option<&Ancestor> {
        let above = self.ancestors.get(1..)?;
        match named {
            Some(pid) => above.iter().find(|a| a.identity.pid == pid),
            None => above
                .iter()
                .find(|a| !is_short_lived(a.program()))
                .filter(|a| !ADOPTERS.contains(&a.program())),
        }
    }

    /// The `git` process that runs a hook: the outermost of the first run of `git` processes, since
    /// an alias is a git below a git.
    #[must_use]
    pub fn git_process(&self) -> Option<(usize, &Ancestor)> {
        let first = self.ancestors.iter().position(|a| a.program() == "git")?;
        let mut last = first;
        while self
            .ancestors
            .get(last + 1)
            .is_some_and(|a| a.program() == "git")
        {
            last += 1;
        }
        Some((last, &self.ancestors[last]))
    }

    /// The interactive shell in which a person typed the git command, if that is what happened: git
    /// is the foreground job of its terminal, and its parent is a shell with job control, which a
    /// script's shell does not have.
    #[must_use]
    pub fn typed_in(&self) -> Option<&Ancestor> {
        let (at, git) = self.git_process()?;
        let shell = self.ancestors.get(at + 1)?;
        let terminal = git.terminal?;
        let typed = is_shell(shell.program())
            && git.group == terminal.foreground
            && shell.group != git.group
            && shell.terminal.is_some_and(|t| t.device == terminal.device);
        typed.then_some(shell)
    }

    /// The interactive shell on git's own terminal above git, with whatever between: somebody's
    /// terminal, in which a script, a background job or a program ran git. Tools of agents run
    /// without a controlling terminal, or in one that has no shell with job control in it.
    #[must_use]
    pub fn shell_above(&self) -> Option<&Ancestor> {
        let (at, git) = self.git_process()?;
        let terminal = git.terminal?;
        self.ancestors[at + 1..].iter().find(|shell| {
            is_shell(shell.program())
                && shell.group != git.group
                && shell.terminal.is_some_and(|t| t.device == terminal.device)
        })
    }

    /// Tells whether this chain could hold a process: it was seen on the same host, in the same boot
    /// and pid namespace. Where pids mean something else, its absence says nothing.
    #[must_use]
    pub fn is_seen_from(&self, process: &ProcessIdentity) -> bool {
        self.ancestors.first().is_some_and(|a| {
            let a = &a.identity;
            a.host == process.host && a.boot == process.boot && a.namespace == process.namespace
        })
    }

    /// For how long at least what was left behind has run, in milliseconds: what the topmost process
    /// above git that is not the system's first one is older than this process.
    #[must_use]
    pub fn left_behind_ms(&self) -> Option<i64> {
        let (_, git) = self.git_process()?;
        let own = self.ancestors.first()?.identity.start;
        let top = self.ancestors.iter().rfind(|a| a.identity.pid != 1);
        let began = top.unwrap_or(git).identity.start;
        let units = own.checked_sub(began)?.saturating_sub(1);
        let ms = units.checked_mul(1_000)? / u64::from(self.per_second).max(1);
        (self.per_second > 0).then_some(i64::try_from(ms).ok()?)
    }

    /// Tells whether what started this was left behind by its parent: above git there are only
    /// shells and runners up to the first process, or the walk ends inside another namespace.
    #[must_use]
    pub fn is_orphaned(&self) -> bool {
        let Some((at, _)) = self.git_process() else {
            return false;
        };
        self.ancestors[at + 1..]
            .iter()
            .all(|a| a.identity.pid == 1 || is_short_lived(a.program()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn process(pid: u32, program: &str) -> Ancestor {
        Ancestor {
            identity: ProcessIdentity {
                host: "h".into(),
                boot: "b".into(),
                namespace: 1,
                pid,
                start: u64::from(pid),
            },
            name: program.chars().take(15).collect(),
            executable: Some(program.to_owned()),
            script: None,
            group: i64::from(pid),
            terminal: None,
        }
    }

    pub(crate) fn chain(programs: &[&str]) -> Chain {
        let pids = (0..programs.len()).rev();
        let ancestors = programs
            .iter()
            .zip(pids)
            .map(|(p, n)| process(u32::try_from(n).unwrap() + 1, p))
            .collect();
        Chain {
            ancestors,
            complete: true,
            per_second: 0,
        }
    }

    #[test]
    fn a_process_is_known_by_its_key() {
        let agent = process(42, "claude").identity;
        assert_eq!(ProcessIdentity::from_key(&agent.key()), Some(agent));
        assert_eq!(ProcessIdentity::from_key("h/b/1/x/2"), None);
        assert_eq!(ProcessIdentity::from_key(""), None);
    }

    #[test]
    fn the_agent_is_the_first_that_is_no_shell_or_runner() {
        let c = chain(&["siglum", "sh", "claude", "bash", "systemd"]);
        assert_eq!(c.agent_process(None).unwrap().program(), "claude");
        let c = chain(&["siglum", "sh", "helper", "claude", "bash"]);
        assert_eq!(c.agent_process(Some(2)).unwrap().program(), "claude");
    }

    #[test]
    fn a_hook_that_outlived_its_agent_speaks_for_no_process() {
        let c = chain(&["siglum", "sh", "helper", "claude", "bash"]);
        assert_eq!(c.agent_process(Some(99)), None);
        let adopted = chain(&["siglum", "sh", "systemd", "systemd"]);
        assert_eq!(adopted.agent_process(None), None);
    }

    fn at_terminal(mut c: Chain, foreground: i64) -> Chain {
        for a in &mut c.ancestors {
            a.terminal = Some(Terminal {
                device: 7,
                foreground,
            });
        }
        c
    }

    #[test]
    fn a_person_types_in_a_shell_with_job_control() {
        let mut c = chain(&["siglum", "sh", "git", "bash", "sshd"]);
        for a in &mut c.ancestors[..3] {
            a.group = 50;
        }
        assert!(at_terminal(c.clone(), 50).typed_in().is_some());
        assert!(
            at_terminal(c.clone(), 51).typed_in().is_none(),
            "a background job"
        );
        assert!(c.typed_in().is_none(), "no terminal");
        c.ancestors[3].group = 50;
        assert!(
            at_terminal(c, 50).typed_in().is_none(),
            "a script's shell has no job control"
        );
    }

    #[test]
    fn a_program_between_shell_and_git_is_not_a_person() {
        let mut c = chain(&["siglum", "sh", "git", "aider", "bash"]);
        for a in &mut c.ancestors[..4] {
            a.group = 50;
        }
        assert!(at_terminal(c, 50).typed_in().is_none());
    }

    #[test]
    fn a_script_in_a_terminal_has_its_shell_above() {
        let mut c = chain(&["siglum", "sh", "git", "sh", "bash", "tmux"]);
        for a in &mut c.ancestors[..4] {
            a.group = 50;
        }
        assert!(c.shell_above().is_none(), "no terminal");
        let c = at_terminal(c, 50);
        assert!(c.typed_in().is_none());
        assert_eq!(c.shell_above().unwrap().program(), "bash");
        let mut elsewhere = c;
        elsewhere.ancestors[4].terminal.as_mut().unwrap().device = 8;
        assert!(
            elsewhere.shell_above().is_none(),
            "a terminal inside a terminal"
        );
    }

    #[test]
    fn an_alias_is_a_git_below_a_git() {
        let c = chain(&["siglum", "sh", "git", "git", "bash", "init"]);
        assert_eq!(c.git_process().unwrap().0, 3);
    }

    #[test]
    fn how_long_ago_work_was_left_behind() {
        let mut c = chain(&["siglum", "sh", "git", "sh", "systemd"]);
        let starts = [1_000, 999, 998, 700, 1];
        for (a, start) in c.ancestors.iter_mut().zip(starts) {
            a.identity.start = start;
        }
        c.ancestors[4].identity.pid = 1;
        assert_eq!(c.left_behind_ms(), None, "the unit is not known");
        c.per_second = 100;
        assert_eq!(c.left_behind_ms(), Some(2_990));
        c.per_second = 1;
        assert_eq!(c.left_behind_ms(), Some(299_000));
        c.ancestors[3].identity.start = 2_000;
        assert_eq!(
            c.left_behind_ms(),
            None,
            "no child is older than its parent"
        );
    }

    #[test]
    fn only_shells_up_to_the_first_process_is_orphaned() {
        assert!(chain(&["siglum", "sh", "git", "sh", "systemd"]).is_orphaned());
        assert!(!chain(&["siglum", "sh", "git", "sh", "cron", "systemd"]).is_orphaned());
    }
}
