//! The constructions: each a family of stories that rules of evidence may get wrong, with their
//! neighbours in which the obvious answer is the right one.

mod chains;
mod disguises;
mod lines;
mod natural;
mod orphans;
mod printers;
mod refusals;
mod rewrites;
mod servers;
mod terminals;

use std::fs::File;
use std::io::BufReader;

use crate::agent::{Agent, Kind};
use crate::case::Case;
use crate::parts::PART;

/// One family of stories.
pub(crate) struct Construction {
    pub(crate) name: &'static str,
    pub(crate) play: fn(&mut Case<'_>),
}

/// All of them, in the order of the table.
pub(crate) static CONSTRUCTIONS: &[Construction] = &[
    Construction {
        name: "orphans",
        play: orphans::play,
    },
    Construction {
        name: "printers",
        play: printers::play,
    },
    Construction {
        name: "terminals",
        play: terminals::play,
    },
    Construction {
        name: "rewrites",
        play: rewrites::play,
    },
    Construction {
        name: "servers",
        play: servers::play,
    },
    Construction {
        name: "refusals",
        play: refusals::play,
    },
    Construction {
        name: "disguises",
        play: disguises::play,
    },
    Construction {
        name: "lines",
        play: lines::play,
    },
    Construction {
        name: "chains",
        play: chains::play,
    },
    Construction {
        name: "natural",
        play: natural::play,
    },
];

/// The words that take every variable of an agent away from a command.
pub(crate) const CLEAN: &str = "env -u AI_AGENT -u CLAUDECODE -u CLAUDE_CODE_ENTRYPOINT \
    -u CLAUDE_CODE_CHILD_SESSION -u CLAUDE_CODE_SESSION_ID -u CLAUDE_PID -u CODEX_CI \
    -u CODEX_SESSION_ID -u CODEX_THREAD_ID -u CODEX_TOOL_CALL_ID -u GEMINI_CLI";

/// What agents run for a while.
pub(crate) const BUSY: &[&str] = &[
    "sleep 5",
    "make -j2 test",
    "cargo build",
    "npm test",
    "git status",
    "git fetch --all",
    "sed -n 1,80p README.md",
];

/// A named pipe to and from a process that somebody else starts, and the shell's words for it.
struct Pipes {
    words: String,
    input: File,
    output: File,
}

fn pipes(case: &mut Case<'_>) -> Pipes {
    let mut ends = Vec::new();
    for _ in 0..2 {
        let name = case.world.fresh_name("pipe");
        let path = case.world.root.join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
        // Open at both ends, so that nobody waits for the other to open it.
        let file = File::options().read(true).write(true).open(&path);
        ends.push((path, file.unwrap()));
    }
    let (output, input) = (ends.pop().unwrap(), ends.pop().unwrap());
    let words = format!("<{} >{}", input.0.display(), output.0.display());
    Pipes {
        words,
        input: input.1,
        output: output.1,
    }
}

/// Takes up an agent that a command of somebody else became.
fn take_up(case: &mut Case<'_>, kind: Kind, pipes: Pipes) -> usize {
    let agent = Agent::on(
        case.world,
        kind,
        Box::new(pipes.input),
        Box::new(BufReader::new(pipes.output)),
    );
    case.admit(agent)
}

/// The words that start an agent below a shell.
fn agent_words(case: &Case<'_>, kind: Kind) -> String {
    format!("{PART}=agent {}", case.world.bin(kind.program()).display())
}

/// An agent in the background of the person's terminal, with a session.
fn started_in_a_terminal(case: &mut Case<'_>) -> usize {
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let pipes = pipes(case);
    let words = agent_words(case, kind);
    case.person_types(&format!("{words} {} &", pipes.words));
    let agent = take_up(case, kind, pipes);
    case.begin(agent, "startup");
    agent
}

/// An agent that another agent's command starts, with a session of its own.
fn started_by_agent(case: &mut Case<'_>, outer: usize, kind: Kind, before: &str) -> usize {
    let pipes = pipes(case);
    let words = agent_words(case, kind);
    case.start(outer, &format!("{before} env {words} {}", pipes.words));
    let agent = take_up(case, kind, pipes);
    case.begin(agent, "startup");
    agent
}
