//! What npm installs for the lab, each in a folder of its own.

use std::path::{Path, PathBuf};

/// An agent, or what lets one speak the Agent Client Protocol, as npm knows it.
pub(super) struct Package {
    /// The name of its folder and of its variable.
    part: &'static str,
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Its program below `node_modules`; `{arch}` and `{triple}` stand for this machine.
    pub(super) program: &'static str,
}

impl Package {
    pub(super) fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.part, self.version))
    }

    /// How its variable ends.
    pub(super) fn variable(&self) -> String {
        self.part.replace('-', "_").to_uppercase()
    }
}

pub(super) const OPENCODE: &Package = &Package {
    part: "opencode",
    name: "opencode-ai",
    version: "1.18.33",
    program: "opencode-linux-{arch}/bin/opencode",
};

pub(super) const AGENTS: &[&Package] = &[
    &Package {
        part: "claude",
        name: "@anthropic-ai/claude-code",
        version: "2.1.329",
        program: "@anthropic-ai/claude-code-linux-{arch}/claude",
    },
    &Package {
        part: "codex",
        name: "@openai/codex",
        version: "0.169.0",
        program: "@openai/codex-linux-{arch}/vendor/{triple}-unknown-linux-musl/bin/codex",
    },
    &Package {
        part: "gemini",
        name: "@google/gemini-cli",
        version: "0.61.0",
        program: "@google/gemini-cli/bundle/gemini.js",
    },
    &Package {
        part: "qwen",
        name: "@qwen-code/qwen-code",
        version: "0.24.4",
        program: "@qwen-code/qwen-code/cli-entry.js",
    },
    &Package {
        part: "copilot",
        name: "@github/copilot",
        version: "1.0.102",
        program: "@github/copilot-linux-{arch}/copilot",
    },
    OPENCODE,
    // The newest whose dependencies are all published.
    &Package {
        part: "pi",
        name: "@earendil-works/pi-coding-agent",
        version: "0.87.1",
        program: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    },
    // The adapters bring an agent of their own along, which the lab does not use: it names the one above.
    &Package {
        part: "claude-acp",
        name: "@agentclientprotocol/claude-agent-acp",
        version: "0.101.0",
        program: "@agentclientprotocol/claude-agent-acp/dist/index.js",
    },
    &Package {
        part: "codex-acp",
        name: "@agentclientprotocol/codex-acp",
        version: "2.6.0",
        program: "@agentclientprotocol/codex-acp/dist/index.js",
    },
    &Package {
        part: "pi-acp",
        name: "pi-acp",
        version: "0.0.34",
        program: "pi-acp/dist/index.js",
    },
];
