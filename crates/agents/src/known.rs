//! Agents that can be recognised, recorded or not.
//!
//! A process chain or an environment with any of them is never a person's. The table errs on the
//! side of recognising too much: that costs an `unknown`, the other way costs a false statement.

/// How an agent shows itself to what it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    /// The name in the ledger.
    pub name: &'static str,
    /// Base names of its programs.
    pub executables: &'static [&'static str],
    /// Runs of path components that only occur in paths of its programs and scripts.
    pub scripts: &'static [&'static str],
    /// The variable that names the session.
    pub session_variable: Option<&'static str>,
    /// The variable that names a thread, which is the session itself or a sub-agent of it: it names a session where the first
    /// is absent, and only one that is known by this id.
    pub thread_variable: Option<&'static str>,
    /// Variables that only say that the agent is there.
    pub presence_variables: &'static [&'static str],
}

/// Variables that several agents set and that no person does.
pub const GENERIC_VARIABLES: &[&str] = &["AI_AGENT"];

const fn agent(
    name: &'static str,
    executables: &'static [&'static str],
    scripts: &'static [&'static str],
    session_variable: Option<&'static str>,
    presence_variables: &'static [&'static str],
) -> KnownAgent {
    KnownAgent {
        name,
        executables,
        scripts,
        session_variable,
        thread_variable: None,
        presence_variables,
    }
}

/// Claude Code, which is recorded, too. Its native installer names the program after its version.
pub(crate) const CLAUDE_CODE: KnownAgent = agent(
    "claude-code",
    &["claude"],
    &[
        "@anthropic-ai/claude-code",
        "claude/versions",
        ".claude/local",
    ],
    Some("CLAUDE_CODE_SESSION_ID"),
    &["CLAUDECODE"],
);

/// Codex, which is recorded, too. What a sub-agent of its starts has the session in the first
/// variable and the sub-agent in `CODEX_THREAD_ID`; elsewhere both are the session's id.
pub(crate) const CODEX: KnownAgent = KnownAgent {
    thread_variable: Some("CODEX_THREAD_ID"),
    ..agent(
        "codex",
        &["codex", "codex-exec", "codex-linux-sandbox"],
        &["@openai/codex"],
        Some("CODEX_SESSION_ID"),
        &[
            "CODEX_TOOL_CALL_ID",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
        ],
    )
};

/// Gemini CLI, which is recorded, too.
pub(crate) const GEMINI: KnownAgent = agent(
    "gemini",
    &["gemini"],
    &["@google/gemini-cli"],
    Some("GEMINI_SESSION_ID"),
    &["GEMINI_CLI"],
);

/// OpenCode, which is recorded, too. The variable that names its session is set by our plug-in.
pub(crate) const OPENCODE: KnownAgent = agent(
    "opencode",
    &["opencode"],
    &["opencode-ai"],
    Some("SIGLUM_OPENCODE_SESSION_ID"),
    &["OPENCODE", "OPENCODE_PID"],
);

/// Pi, which is recorded, too.
pub(crate) const PI: KnownAgent = agent(
    "pi",
    &["pi"],
    &[
        "@earendil-works/pi-coding-agent",
        "@mariozechner/pi-coding-agent",
    ],
    Some("PI_SESSION_ID"),
    &["PI_CODING_AGENT", "PI_SESSION_FILE"],
);

/// Qwen Code, which is recorded, too.
pub(crate) const QWEN: KnownAgent = agent(
    "qwen",
    &["qwen"],
    &["@qwen-code/qwen-code"],
    Some("QWEN_CODE_SESSION_ID"),
    &["QWEN_CODE", "QWEN_CODE_PROMPT_ID", "QWEN_CODE_AGENT_ID"],
);

/// GitHub Copilot CLI, which is recorded, too.
pub(crate) const COPILOT: KnownAgent = agent(
    "copilot",
    &["copilot"],
    &["@github/copilot"],
    Some("COPILOT_AGENT_SESSION_ID"),
    &["COPILOT_CLI"],
);

/// All agents that can be recognised.
pub static KNOWN_AGENTS: &[KnownAgent] = &[
    CLAUDE_CODE,
    CODEX,
    GEMINI,
    QWEN,
    COPILOT,
    OPENCODE,
    PI,
    agent(
        "openclaw",
        &["openclaw", "openclaw-agent"],
        &["node_modules/openclaw"],
        None,
        &[],
    ),
    agent(
        "aider",
        &["aider"],
        &["bin/aider", "aider/__main__.py"],
        None,
        &[],
    ),
    agent(
        "cursor-agent",
        &["cursor-agent"],
        &["cursor-agent/versions"],
        None,
        &["CURSOR_AGENT"],
    ),
    agent("goose", &["goose"], &[], None, &["GOOSE_TERMINAL"]),
    agent("amp", &["amp"], &["@sourcegraph/amp"], None, &[]),
    agent("crush", &["crush"], &["@charmland/crush"], None, &[]),
    agent(
        "cline",
        &["cline"],
        &["node_modules/cline"],
        None,
        &["CLINE_ACTIVE"],
    ),
    agent("droid", &["droid"], &["@factory/cli"], None, &[]),
    agent("auggie", &["auggie"], &["@augmentcode/auggie"], None, &[]),
    agent("kiro", &["kiro-cli"], &[], None, &[]),
];

/// Finds a known agent by its name.
#[must_use]
pub fn known(name: &str) -> Option<&'static KnownAgent> {
    KNOWN_AGENTS.iter().find(|agent| agent.name == name)
}

/// Why an agent that is recognised is not recorded.
#[must_use]
pub fn unrecorded_reason(name: &str) -> &'static str {
    match name {
        "cursor-agent" | "amp" | "droid" => {
            "formats not documented well enough, and no real client to try them with"
        }
        _ => "no reader of its formats yet",
    }
}

/// Tells which agent a process is, by the path of its program, of the script that it runs, and by the
/// name that an interpreter's process shows for itself: Pi and others run in `node` and write their
/// name over their arguments.
#[must_use]
pub fn recognise(
    executable: Option<&str>,
    script: Option<&str>,
    title: Option<&str>,
) -> Option<&'static KnownAgent> {
    let paths = [executable, script, title];
    let mut paths = paths
        .iter()
        .flatten()
        .map(|path| path.trim_end_matches(" (deleted)").replace('\\', "/"));
    paths.find_map(|path| KNOWN_AGENTS.iter().find(|agent| agent.owns(&path)))
}

impl KnownAgent {
    fn owns(&self, path: &str) -> bool {
        let base = path.rsplit('/').next().unwrap_or(path);
        let base = ["exe", "js", "mjs", "cmd"]
            .iter()
            .find_map(|ending| base.strip_suffix(ending)?.strip_suffix('.'))
            .unwrap_or(base);
        let path = format!("/{path}/");
        self.executables.contains(&base)
            || self
                .scripts
                .iter()
                .any(|part| path.contains(&format!("/{part}/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(executable: Option<&str>, script: Option<&str>, expected: Option<&str>) {
        assert_eq!(
            recognise(executable, script, None).map(|a| a.name),
            expected,
            "{executable:?} {script:?}"
        );
    }

    #[test]
    fn an_agent_that_sets_its_title_is_known_by_it() {
        let node = Some("/usr/bin/node");
        let named = |title| recognise(node, None, Some(title)).map(|a| a.name);
        assert_eq!(named("pi"), Some("pi"));
        assert_eq!(named("claude"), Some("claude-code"));
        assert_eq!(named("webpack"), None);
    }

    #[test]
    fn programs_and_scripts_tell_the_agent() {
        check(Some("/usr/bin/claude"), None, Some("claude-code"));
        check(
            Some("/home/a/.local/share/claude/versions/2.1.329"),
            None,
            Some("claude-code"),
        );
        check(Some("/x/claude (deleted)"), None, Some("claude-code"));
        check(
            Some("/usr/bin/node"),
            Some("/n/node_modules/@google/gemini-cli/bundle/gemini.js"),
            Some("gemini"),
        );
        check(
            Some("/usr/bin/node"),
            Some("/usr/local/bin/qwen"),
            Some("qwen"),
        );
        check(
            Some("/usr/bin/python3.12"),
            Some("/venv/bin/aider"),
            Some("aider"),
        );
        check(Some("C:\\bin\\codex.exe"), None, Some("codex"));
        check(Some("opencode"), None, Some("opencode"));
    }

    #[test]
    fn lookalikes_are_no_agents() {
        check(Some("/usr/bin/git"), None, None);
        check(
            Some("/usr/bin/node"),
            Some("/repo/claude-notes/index.js"),
            None,
        );
        check(Some("/usr/bin/claudette"), None, None);
        check(Some("/home/me/my-opencode-ai/x"), None, None);
        check(None, None, None);
    }

    #[test]
    fn every_agent_that_a_reason_names_is_known() {
        for name in ["cursor-agent", "amp", "droid"] {
            assert!(known(name).is_some(), "{name}");
            assert_ne!(unrecorded_reason(name), unrecorded_reason("aider"));
        }
    }

    #[test]
    fn names_and_variables_are_used_once() {
        let mut names: Vec<_> = KNOWN_AGENTS.iter().map(|a| a.name).collect();
        let mut variables: Vec<_> = KNOWN_AGENTS
            .iter()
            .flat_map(|a| {
                let naming = a.session_variable.iter().chain(&a.thread_variable);
                naming.chain(a.presence_variables)
            })
            .collect();
        let counts = (names.len(), variables.len());
        names.sort_unstable();
        names.dedup();
        variables.sort_unstable();
        variables.dedup();
        assert_eq!((names.len(), variables.len()), counts);
    }
}
