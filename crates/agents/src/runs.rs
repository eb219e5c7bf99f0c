//! How each agent is run without a terminal: the program that speaks the Agent Client Protocol for it, natively or by its
//! published adapter, what differs between them, and the headless mode of its own that does where there is no such program.

/// How one agent is run.
#[derive(Debug, Clone, Copy)]
pub struct RunSpec {
    /// The agent.
    pub name: &'static str,
    /// The program that speaks the protocol.
    pub program: &'static str,
    /// What it is started with.
    pub arguments: &'static [&'static str],
    /// Variables that it gets beside those of the gateway.
    pub environment: &'static [(&'static str, &'static str)],
    /// Its modes, where its own default is not meant.
    pub modes: Option<Mode>,
    /// How a model is chosen.
    pub model: Choosing,
    /// What the usage that it tells with its answer stands for.
    pub usage: ReportedUsage,
    /// Whether its messages have ids: what comes without one is a notice of the program.
    pub names_messages: bool,
    /// The first chunk of a process may be an empty line, which is no word of the model.
    pub blank_first: Blank,
    /// Its own headless mode, if that is known here.
    pub headless: Option<HeadlessSpec>,
}

/// How an agent is run once, without the protocol: it reads its prompt from standard input.
#[derive(Debug, Clone, Copy)]
pub struct HeadlessSpec {
    pub program: &'static str,
    /// What it is started with.
    pub arguments: &'static [&'static str],
    /// What it is started with besides where all is allowed.
    pub allowing: &'static [&'static str],
    /// What it is started with besides where what it wants to be allowed is refused.
    pub refusing: &'static [&'static str],
    /// The option that names the native session to go on with.
    pub resume: &'static str,
    /// The option that names the model.
    pub model: &'static str,
}

/// The modes of an agent, by what is answered when it wants to be allowed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Where somebody is asked, or it is refused.
    pub asking: &'static str,
    /// Where all is allowed.
    pub allowing: &'static str,
}

/// How a model is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choosing {
    /// By an option of the native session.
    Option(&'static str),
    /// By the request that sets a model.
    Request,
    /// It cannot be chosen.
    Never,
}

/// What the usage stands for that an agent tells with its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedUsage {
    /// All requests of the turn.
    Turn,
    /// Its last request alone: what the turn used is more.
    LastRequest,
    Nothing,
}

/// Whether the first chunk of a process may be an empty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// It may.
    First,
    /// All that it says is meant.
    Never,
}

const PLAIN: RunSpec = RunSpec {
    name: "",
    program: "",
    arguments: &[],
    environment: &[],
    modes: None,
    model: Choosing::Option("model"),
    usage: ReportedUsage::Turn,
    names_messages: true,
    blank_first: Blank::Never,
    headless: None,
};

/// The agents that can be run.
static RUNS: &[RunSpec] = &[
    RunSpec {
        name: "claude-code",
        program: "claude-agent-acp",
        // Else its model is asked after each turn what the person may say next, which nobody here reads and somebody pays.
        environment: &[("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false")],
        // Its own default has a server decide.
        modes: Some(Mode {
            asking: "default",
            allowing: "default",
        }),
        headless: Some(HeadlessSpec {
            program: "claude",
            arguments: &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--include-partial-messages",
            ],
            allowing: &["--permission-mode", "bypassPermissions"],
            refusing: &["--permission-mode", "default"],
            resume: "--resume",
            model: "--model",
        }),
        ..PLAIN
    },
    RunSpec {
        name: "codex",
        program: "codex-acp",
        // In all others git cannot commit.
        modes: Some(Mode {
            asking: "agent",
            allowing: "agent-full-access",
        }),
        ..PLAIN
    },
    RunSpec {
        name: "gemini",
        program: "gemini",
        arguments: &["--acp"],
        modes: Some(Mode {
            asking: "default",
            allowing: "yolo",
        }),
        model: Choosing::Request,
        names_messages: false,
        ..PLAIN
    },
    RunSpec {
        name: "opencode",
        program: "opencode",
        arguments: &["acp"],
        usage: ReportedUsage::LastRequest,
        ..PLAIN
    },
    RunSpec {
        name: "pi",
        program: "pi-acp",
        usage: ReportedUsage::Nothing,
        names_messages: false,
        blank_first: Blank::First,
        ..PLAIN
    },
];

/// How an agent is run; nothing for one that cannot be.
#[must_use]
pub fn run_spec(name: &str) -> Option<&'static RunSpec> {
    RUNS.iter().find(|spec| spec.name == name)
}

/// The names of the agents that can be run.
#[must_use]
pub fn runnable() -> Vec<&'static str> {
    RUNS.iter().map(|spec| spec.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::known;

    #[test]
    fn agents_that_are_run_are_known() {
        for spec in RUNS {
            assert!(known(spec.name).is_some(), "{}", spec.name);
            assert_eq!(run_spec(spec.name).map(|s| s.program), Some(spec.program));
        }
        assert!(run_spec("aider").is_none());
    }
}
