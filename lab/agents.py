"""How each agent of the lab is configured, started and resumed. So far: Claude Code."""
import json
import os
from pathlib import Path

HOOK_TIMEOUT_S = 30


class Claude:
    folder = "claude"
    events = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification",
              "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "SessionEnd", "Stop",
              "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",
              "PermissionRequest", "PermissionDenied", "Setup", "TaskCreated", "TaskCompleted",
              "ConfigChange", "InstructionsLoaded", "CwdChanged", "FileChanged"]

    def configure(self, run):
        hooks = {event: [{"hooks": [{"type": "command", "command": run.hook_command(event),
                                     "timeout": HOOK_TIMEOUT_S}]}] for event in self.events}
        settings = run.home / ".claude" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"hooks": hooks}, indent=2) + "\n")

    def env(self, server):
        """What keeps the agent on loopback, quiet, and willing to run as root."""
        env = {"ANTHROPIC_BASE_URL": server.url(), "ANTHROPIC_API_KEY": "dummy",
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
               "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"
        return env

    def command(self, program, kind, prompt, session):
        command = [str(program), "-p", prompt, "--dangerously-skip-permissions",
                   "--output-format", "json"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": ["--resume", session], "prompt": ["--resume", session],
                   "fork": ["--resume", session, "--fork-session"]}
        return command + options[kind]

    def session_id(self, run):
        """The session of the last hook call."""
        for event in reversed(run.events()):
            if isinstance(event["stdin"], dict) and event["stdin"].get("session_id"):
                return event["stdin"]["session_id"]
        return None

    def transcripts(self, run):
        return sorted((Path(run.home) / ".claude" / "projects").rglob("*.jsonl"))


AGENTS = {"claude": Claude}
