"""How each agent of the lab is configured, started and resumed."""
import json
import os
from pathlib import Path

HOOK_TIMEOUT_S = 30


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def hooks_of(run, events, timeout):
    return {event: [{"hooks": [{"type": "command", "command": run.hook_command(event), "timeout": timeout}]}]
            for event in events}


class Agent:
    def session_id(self, run):
        """The session of the last hook call."""
        for event in reversed(run.events()):
            if isinstance(event["stdin"], dict) and event["stdin"].get("session_id"):
                return event["stdin"]["session_id"]
        return None


class Claude(Agent):
    folder = "claude"
    events = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification",
              "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "SessionEnd", "Stop",
              "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
              "PermissionRequest", "PermissionDenied", "Setup", "TaskCreated", "TaskCompleted",
              "ConfigChange", "InstructionsLoaded", "CwdChanged", "FileChanged"]

    def configure(self, run, server):
        write_json(run.home / ".claude" / "settings.json",
                   {"hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S)})

    def env(self, run, server):
        """What keeps the agent on loopback, quiet, and willing to run as root."""
        env = {"ANTHROPIC_BASE_URL": server.url(), "ANTHROPIC_API_KEY": "dummy",
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
               "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"
        return env

    def command(self, run, kind, prompt, session):
        command = [run.program, "-p", prompt, "--dangerously-skip-permissions",
                   "--output-format", "json"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": ["--resume", session], "prompt": ["--resume", session],
                   "fork": ["--resume", session, "--fork-session"]}
        return command + options[kind]

    def transcripts(self, run):
        return sorted((Path(run.home) / ".claude" / "projects").rglob("*.jsonl"))


class Codex(Agent):
    folder = "codex"
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
              "PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt",
              "SessionEnd"]

    def configure(self, run, server):
        write_json(run.home / ".codex" / "hooks.json", {"hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S)})
        (run.home / ".codex" / "config.toml").write_text(self.settings(run, server))

    def settings(self, run, server):
        return f"""model = "{os.environ.get("LAB_MODEL", "gpt-5.5")}"
model_provider = "lab"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.lab]
name = "lab"
base_url = "{server.url("/v1")}"
env_key = "LAB_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[projects.{json.dumps(str(run.work))}]
trust_level = "trusted"
"""

    def env(self, run, server):
        return {"LAB_API_KEY": "dummy"}

    def command(self, run, kind, prompt, session):
        command = [run.program, "exec", "--json", "--dangerously-bypass-approvals-and-sandbox",
                   "--dangerously-bypass-hook-trust"]
        options = {"new": [], "continue": ["resume", "--last"], "resume": ["resume", session],
                   "prompt": ["resume", session], "fork": ["fork", session]}
        return command + options[kind] + [prompt]

    def transcripts(self, run):
        return sorted((run.home / ".codex" / "sessions").rglob("*.jsonl"))


class Gemini(Agent):
    folder = "gemini"
    events = ["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
              "BeforeToolSelection", "BeforeTool", "AfterTool", "PreCompress", "Notification"]

    def configure(self, run, server):
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                    "hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S * 1000)}
        write_json(run.home / ".gemini" / "settings.json", settings)

    def env(self, run, server):
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": server.url(),
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, run, kind, prompt, session):
        command = ["node", run.program, "--yolo", "--skip-trust", "-o", "json", "-m", "gemini-2.5-flash"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--resume", "latest"],
                   "resume": ["--resume", session], "prompt": ["--resume", session]}
        return command + options[kind] + ["-p", prompt]

    def transcripts(self, run):
        return sorted((run.home / ".gemini" / "tmp").rglob("*.jsonl"))


AGENTS = {"claude": Claude, "codex": Codex, "gemini": Gemini}
