//! Processes: who is an ancestor of whom, as the kernel tells it.
//!
//! A process is named by host, boot, pid namespace, pid and start time, so that a pid that is used
//! again is another process. Names of processes mislead; they are kept for reading only.

mod programs;

use serde::{Deserialize, Serialize};

use self::programs::{
    ADOPTERS, BUILD_TOOLS, LOGIN_PROGRAMS, MULTIPLEXERS, PERSONS_WINDOWS, REMOTE_LOGINS, RUNNERS,
    SHELLS, SYSTEM_INITS, TERMINAL_EDITORS, USER_SWITCHES,
};

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

/// What tells a program with a life of its own from one that only runs commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holdings {
    /// The master of a pseudo-terminal: it can type what others seem to type.
    #[serde(default)]
    pub terminal: bool,
    /// An established network connection, as to a model's provider.
    #[serde(default)]
    pub connection: bool,
}

impl Holdings {
    /// Whether there is nothing of the kind.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.terminal && !self.connection
    }
}

/// One process of a chain, nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    pub identity: ProcessIdentity,
    /// The kernel's short name, for reading only.
    pub name: String,
    /// The file name of the executable, where the system tells it.
    pub executable: Option<String>,
    /// The file name of the script that an interpreter runs, for agents that are scripts.
    pub script: Option<String>,
    /// The name that the process shows for itself (`argv[0]`), where it is another one: agents in
    /// Node.js set it, and their executable is `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds open that shells and build tools do not, where that was looked at.
    #[serde(default, skip_serializing_if = "Holdings::is_empty")]
    pub holdings: Holdings,
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

/// The inode of the pid namespace that Linux boots with (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

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

/// What a program between git and whoever asked for the commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramKind {
    /// A window in which a person works: an editor, a git client.
    Window,
    /// It holds a pseudo-terminal or a network connection of its own, as agents do.
    OwnLife,
    /// Any other program that is no shell, runner or build tool.
    Other,
}

/// Whose the terminal is that git runs in: the program that holds its other end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TerminalOwner {
    /// A login or terminal program, which types nothing by itself.
    Login(String),
    /// A multiplexer, into whose terminals anybody can type with a command.
    Multiplexer(String),
    /// An editor or another window with a terminal in it.
    Window(String),
    /// Any other program, or one that is gone.
    Unknown(String),
}

impl TerminalOwner {
    /// Whether a command that reaches terminals through this program, as
    /// [`crate::command::terminal_addressed`] names it, can type into a terminal of this owner.
    #[must_use]
    pub fn takes_input_from(&self, program: &str) -> bool {
        let anywhere = ["a terminal device", "xdotool", "osascript"].contains(&program);
        anywhere
            || match self {
                Self::Login(owner) if owner.starts_with("kitty") => program == "kitty",
                Self::Login(owner) if owner.to_lowercase().starts_with("wezterm") => {
                    program == "wezterm"
                }
                Self::Login(owner) if REMOTE_LOGINS.contains(&owner.as_str()) => {
                    ["ssh", "expect"].contains(&program)
                }
                Self::Login(_) | Self::Window(_) => false,
                Self::Multiplexer(owner) => owner.starts_with(program) || program == "byobu",
                Self::Unknown(_) => true,
            }
    }
}

/// An interactive shell above git on git's own terminal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TerminalSeen {
    pub shell: String,
    /// Git is the foreground job and the shell is its parent: it was typed there.
    pub typed: bool,
    /// Programs between git and the terminal's owner that are neither shells nor tools which a
    /// person commits through; an unknown agent would be one of them.
    pub through: Vec<String>,
    /// Who holds the other end.
    pub owner: TerminalOwner,
}

/// Tells whether a program does what whoever started it asks for, and commits nothing by itself.
fn is_tool(program: &str) -> bool {
    is_short_lived(program)
        || program == "git"
        || BUILD_TOOLS.contains(&program)
        || TERMINAL_EDITORS.contains(&program)
        || USER_SWITCHES.contains(&program)
}

/// Whose a terminal is, by the processes on it above git and the first one above them.
fn terminal_owner(on_it: &[Ancestor], above: Option<&Ancestor>) -> TerminalOwner {
    // On a console `login` is on the terminal itself.
    let login = on_it.iter().find(|a| a.program() == "login");
    let Some(owner) = login.or(above) else {
        return TerminalOwner::Unknown("nobody".to_owned());
    };
    let names = [owner.program(), owner.name.as_str()];
    let is_in = |list: &[&str]| names.iter().any(|name| list.contains(name));
    let name = owner.program().to_owned();
    if is_in(MULTIPLEXERS) {
        TerminalOwner::Multiplexer(name)
    } else if is_in(LOGIN_PROGRAMS) {
        TerminalOwner::Login(name)
    } else if is_in(PERSONS_WINDOWS) || is_in(TERMINAL_EDITORS) {
        TerminalOwner::Window(name)
    } else {
        TerminalOwner::Unknown(name)
    }
}

impl Chain {
    /// The processes, nearest first.
    pub fn identities(&self) -> impl Iterator<Item = &ProcessIdentity> {
        self.ancestors.iter().map(|ancestor| &ancestor.identity)
    }

    /// Tells whether the walk did not reach the first process of the system: it was cut by its
    /// limit, or it ended in the first process of a container, outside of which nothing is seen.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let Some(top) = self.ancestors.last() else {
            return true;
        };
        let whole_system = matches!(top.identity.namespace, 0 | FIRST_NAMESPACE)
            || SYSTEM_INITS.contains(&top.program());
        !self.complete || !whole_system
    }

    /// The terminal that git runs in, if an interactive shell is above git on it. Tools of agents run
    /// without a controlling terminal, or in one that has no shell with job control in it.
    #[must_use]
    pub fn terminal_seen(&self) -> Option<TerminalSeen> {
        let (at, git) = self.git_process()?;
        let device = git.terminal?.device;
        let above = &self.ancestors[at + 1..];
        let is_here = |a: &Ancestor| a.terminal.is_some_and(|t| t.device == device);
        let interactive =
            |a: &Ancestor| is_shell(a.program()) && a.group != git.group && is_here(a);
        let shell = above.iter().find(|a| interactive(a))?;
        let here = above.iter().take_while(|a| is_here(a)).count();
        let through = above[..here].iter().filter(|a| !is_tool(a.program()));
        Some(TerminalSeen {
            shell: shell.program().to_owned(),
            typed: self.typed_in().is_some(),
            through: through.map(|a| a.program().to_owned()).collect(),
            owner: terminal_owner(&above[..here], above.get(here)),
        })
    }

    /// Whether a person seems to work between git and the ancestor of this depth: in an interactive shell on git's
    /// terminal, or in an editor or a client of git.
    #[must_use]
    pub fn has_person_below(&self, depth: usize) -> bool {
        let Some((at, git)) = self.git_process() else {
            return false;
        };
        let between = self.ancestors.get(at + 1..depth).unwrap_or_default();
        between.iter().any(|a| {
            let on_terminal = a.terminal.is_some()
                && a.terminal.map(|t| t.device) == git.terminal.map(|t| t.device);
            let interactive = is_shell(a.program()) && a.group != git.group && on_terminal;
            interactive || TERMINAL_EDITORS.contains(&a.program())
        })
    }

    /// The programs above git that are no shells, runners or build tools, with how far up the chain
    /// each is: those that could have a will of their own.
    #[must_use]
    pub fn programs_above(&self) -> Vec<(usize, String, ProgramKind)> {
        let Some((at, _)) = self.git_process() else {
            return Vec::new();
        };
        let above = self.ancestors.iter().enumerate().skip(at + 1);
        let programs = above.filter(|(_, a)| {
            a.identity.pid != 1 && !is_tool(a.program()) && !ADOPTERS.contains(&a.program())
        });
        let kind = |a: &Ancestor| match a.program() {
            name if PERSONS_WINDOWS.contains(&name) => ProgramKind::Window,
            _ if !a.holdings.is_empty() => ProgramKind::OwnLife,
            _ => ProgramKind::Other,
        };
        programs
            .map(|(depth, a)| (depth, a.program().to_owned(), kind(a)))
            .collect()
    }

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

    /// Whether the ancestor of this depth runs things for others than one agent: it adopts orphans, lets somebody in, has
    /// terminals, or is a shell in which somebody types. What is below such a process was not all asked for by one.
    #[must_use]
    pub fn serves_others(&self, depth: usize) -> bool {
        let Some(ancestor) = self.ancestors.get(depth) else {
            return false;
        };
        let names = [ancestor.program(), ancestor.name.as_str()];
        let is_in = |list: &[&str]| names.iter().any(|name| list.contains(name));
        // A shell with job control gives what it starts a group of its own.
        let below = depth.checked_sub(1).map(|at| &self.ancestors[at]);
        let is_typed_in = is_shell(ancestor.program())
            && ancestor.terminal.is_some()
            && below.is_some_and(|below| below.group != ancestor.group);
        is_typed_in
            || is_in(ADOPTERS)
            || is_in(SYSTEM_INITS)
            || is_in(LOGIN_PROGRAMS)
            || is_in(MULTIPLEXERS)
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
            title: None,
            holdings: Holdings::default(),
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
    fn what_serves_others_is_no_agents_own_process() {
        let mut c = chain(&["siglum", "bash", "agent", "bash", "tmux", "sshd", "systemd"]);
        c.ancestors[0].group = c.ancestors[1].group;
        let serving =
            |c: &Chain| -> Vec<usize> { (0..9).filter(|n| c.serves_others(*n)).collect() };
        assert_eq!(serving(&c), [4, 5, 6]);
        let c = at_terminal(c, 1);
        assert_eq!(serving(&c), [3, 4, 5, 6], "the shell with job control");
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
        let mut c = chain(&["siglum", "sh", "git", "sh", "bash", "tmux", "systemd"]);
        for a in &mut c.ancestors[..4] {
            a.group = 50;
        }
        assert_eq!(c.terminal_seen(), None, "no terminal");
        let mut c = at_terminal(c, 50);
        for a in &mut c.ancestors[5..] {
            a.terminal = None;
        }
        let seen = c.terminal_seen().unwrap();
        assert_eq!((seen.shell.as_str(), seen.typed), ("bash", false));
        assert_eq!(seen.owner, TerminalOwner::Multiplexer("tmux".into()));
        assert_eq!(seen.through, [""; 0]);
        c.ancestors[4].terminal.as_mut().unwrap().device = 8;
        assert_eq!(c.terminal_seen(), None, "a terminal inside a terminal");
    }

    fn owner_and_programs(programs: &[&str], on_terminal: usize) -> (TerminalOwner, Vec<String>) {
        let mut c = at_terminal(chain(programs), 50);
        for a in &mut c.ancestors[on_terminal..] {
            a.terminal = None;
        }
        c.ancestors[2].group = 50;
        let seen = c.terminal_seen().unwrap();
        (seen.owner, seen.through)
    }

    #[test]
    fn the_owner_of_a_terminal_holds_its_other_end() {
        let (owner, through) = owner_and_programs(
            &["siglum", "sh", "git", "bash", "sshd", "sshd", "systemd"],
            4,
        );
        assert_eq!(owner, TerminalOwner::Login("sshd".into()));
        assert_eq!(through, [""; 0]);
        let (owner, _) =
            owner_and_programs(&["siglum", "sh", "git", "bash", "login", "systemd"], 5);
        assert_eq!(owner, TerminalOwner::Login("login".into()), "a console");
        let programs = [
            "siglum",
            "sh",
            "git",
            "bash",
            "su",
            "bash",
            "gnome-terminal-",
            "systemd",
        ];
        let (owner, through) = owner_and_programs(&programs, 6);
        assert_eq!(owner, TerminalOwner::Login("gnome-terminal-".into()));
        assert_eq!(through, [""; 0], "another user in the same terminal");
        let (owner, _) = owner_and_programs(&["siglum", "sh", "git", "bash", "python3"], 4);
        assert_eq!(owner, TerminalOwner::Unknown("python3".into()));
        let (owner, _) = owner_and_programs(&["siglum", "sh", "git", "bash", "code"], 4);
        assert_eq!(owner, TerminalOwner::Window("code".into()));
        let (_, through) = owner_and_programs(
            &["siglum", "sh", "git", "bash", "helper", "bash", "sshd"],
            6,
        );
        assert_eq!(through, ["helper"], "whatever opened the inner shell");
    }

    #[test]
    fn a_command_types_into_terminals_of_its_own_kind() {
        let tmux = TerminalOwner::Multiplexer("tmux: server".into());
        let login = |program: &str| TerminalOwner::Login(program.to_owned());
        let (sshd, xterm) = (login("sshd"), login("xterm"));
        assert!(tmux.takes_input_from("tmux") && !tmux.takes_input_from("screen"));
        assert!(sshd.takes_input_from("ssh") && !sshd.takes_input_from("tmux"));
        assert!(xterm.takes_input_from("xdotool") && !xterm.takes_input_from("ssh"));
        assert!(TerminalOwner::Unknown("robot".into()).takes_input_from("socat"));
    }

    #[test]
    fn a_walk_that_was_cut_proves_nothing() {
        let mut c = chain(&["siglum", "sh", "git", "bash", "systemd"]);
        assert!(!c.is_cut(), "a whole system's first process");
        c.complete = false;
        assert!(c.is_cut(), "the limit");
        let mut c = chain(&["siglum", "sh", "git", "bash"]);
        assert!(c.is_cut(), "the first process of a container");
        for a in &mut c.ancestors {
            a.identity.namespace = FIRST_NAMESPACE;
        }
        assert!(!c.is_cut());
        assert!(Chain::default().is_cut());
    }

    #[test]
    fn programs_with_a_will_of_their_own() {
        let mut c = chain(&[
            "siglum", "sh", "git", "make", "sh", "node", "code", "claude", "systemd",
        ]);
        c.ancestors[5].holdings.connection = true;
        let kinds: Vec<_> = c
            .programs_above()
            .into_iter()
            .map(|(n, _, kind)| (n, kind))
            .collect();
        let expected = [
            (5, ProgramKind::OwnLife),
            (6, ProgramKind::Window),
            (7, ProgramKind::Other),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn an_alias_is_a_git_below_a_git() {
        let c = chain(&["siglum", "sh", "git", "git", "bash", "init"]);
        assert_eq!(c.git_process().unwrap().0, 3);
    }
}
