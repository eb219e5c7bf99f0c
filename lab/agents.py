"""How each agent of the lab is configured, started and resumed."""
import json
import os
import re
import shutil
import urllib.parse
from pathlib import Path

HOOK_TIMEOUT_S = 30


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def telemetry():
    """Where the agents send their own telemetry, and with which header; none where they send none."""
    return os.environ.get("LAB_OTEL"), os.environ.get("LAB_OTEL_HEADERS", "")


def exporter():
    """The variables that OpenTelemetry itself reads."""
    endpoint, headers = telemetry()
    if not endpoint:
        return {}
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    return {**named, **({"OTEL_EXPORTER_OTLP_HEADERS": headers} if headers else {})}


def hooks_of(run, events, timeout):
    return {event: [{"hooks": [{"type": "command", "command": run.hook_command(event), "timeout": timeout}]}]
            for event in events}


def program(name):
    """A program of the lab's, from its variable."""
    found = os.environ.get("LAB_" + name)
    if not found:
        raise SystemExit(f"set LAB_{name}; `cargo xtask lab path` prints it")
    return found


class Agent:
    def acp(self, run):
        """The command that speaks the Agent Client Protocol on its pipes."""
        raise SystemExit(f"{self.folder} is not driven over the Agent Client Protocol here")

    def acp_env(self, run):
        """What its adapter reads besides."""
        return {}

    def transcript(self, run, session):
        """The transcript of a session."""
        return next(path for path in self.transcripts(run) if path.stem == session)

    def subagents(self, transcript):
        """Where the session's sub-agents write transcripts of their own."""
        return transcript.with_suffix("") / "subagents"

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
        if exporter():
            env.pop("DISABLE_TELEMETRY")
            env.update(CLAUDE_CODE_ENABLE_TELEMETRY="1", CLAUDE_CODE_ENHANCED_TELEMETRY_BETA="1",
                       OTEL_TRACES_EXPORTER="otlp", OTEL_LOGS_EXPORTER="otlp", OTEL_METRICS_EXPORTER="otlp")
        return {**env, **exporter()}

    def command(self, run, kind, prompt, session):
        command = [run.program, "-p", prompt, "--dangerously-skip-permissions",
                   "--output-format", "json"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": ["--resume", session], "prompt": ["--resume", session],
                   "fork": ["--resume", session, "--fork-session"]}
        return command + options[kind]

    def acp(self, run):
        return ["node", program("CLAUDE_ACP")]

    def acp_env(self, run):
        return {"CLAUDE_CODE_EXECUTABLE": run.program}

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
""" + self.otel()

    def otel(self):
        endpoint, headers = telemetry()
        if not endpoint:
            return ""
        named = dict(h.split("=", 1) for h in headers.split(",") if h)
        sent = "".join(f", {json.dumps(k)} = {json.dumps(urllib.parse.unquote(v))}" for k, v in named.items())
        return "".join(
            f'[otel.{table}.otlp-http]\nendpoint = "{endpoint}/v1/{signal}"\nprotocol = "binary"\n'
            f"headers = {{{sent[1:]} }}\n"
            for table, signal in (("exporter", "logs"), ("trace_exporter", "traces"), ("metrics_exporter", "metrics")))

    def env(self, run, server):
        return {"LAB_API_KEY": "dummy"}

    def command(self, run, kind, prompt, session):
        command = [run.program, "exec", "--json", "--dangerously-bypass-approvals-and-sandbox",
                   "--dangerously-bypass-hook-trust"]
        options = {"new": [], "continue": ["resume", "--last"], "resume": ["resume", session],
                   "prompt": ["resume", session], "fork": ["fork", session]}
        return command + options[kind] + [prompt]

    def acp(self, run):
        return ["node", program("CODEX_ACP")]

    def acp_env(self, run):
        return {"CODEX_PATH": run.program, "NO_BROWSER": "1"}

    def transcripts(self, run):
        return sorted((run.home / ".codex" / "sessions").rglob("*.jsonl"))


class Gemini(Agent):
    folder = "gemini"
    home = ".gemini"
    events = ["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
              "BeforeToolSelection", "BeforeTool", "AfterTool", "PreCompress", "Notification"]

    def configure(self, run, server):
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                    "hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S * 1000), **self.otel()}
        write_json(run.home / self.home / "settings.json", settings)

    @staticmethod
    def otel():
        endpoint, _ = telemetry()
        return {"telemetry": {"enabled": True, "target": "local", "otlpProtocol": "http", "otlpEndpoint": endpoint,
                              "logPrompts": False}} if endpoint else {}

    def env(self, run, server):
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": server.url(),
                "GEMINI_CLI_TRUST_WORKSPACE": "true", **exporter()}

    def command(self, run, kind, prompt, session):
        command = ["node", run.program, "--yolo", "--skip-trust", "-o", "json", "-m", "gemini-2.5-flash"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--resume", "latest"],
                   "resume": ["--resume", session], "prompt": ["--resume", session]}
        return command + options[kind] + ["-p", prompt]

    def acp(self, run):
        return ["node", run.program, "--acp", "--skip-trust", "-m", "gemini-2.5-flash"]

    def transcripts(self, run):
        return sorted((run.home / ".gemini" / "tmp").rglob("*.jsonl"))


class Qwen(Gemini):
    folder = "qwen"
    home = ".qwen"
    events = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
              "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"]

    def configure(self, run, server):
        settings = {"security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
                    "model": {"name": "fake-model"}, "privacy": {"usageStatisticsEnabled": False},
                    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
                    "hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S * 1000), **self.otel()}
        write_json(run.home / self.home / "settings.json", settings)

    def env(self, run, server):
        return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": server.url("/v1"), "OPENAI_MODEL": "fake-model",
                "QWEN_CODE_SKIP_UPDATE_CHECK_ONCE": "1", **exporter()}

    def command(self, run, kind, prompt, session):
        command = ["node", run.program, "--yolo", "-o", "json", "--auth-type", "openai"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": ["--resume", session], "prompt": ["--resume", session],
                   "fork": ["--resume", session, "--fork-session"]}
        return command + options[kind] + ["-p", prompt]

    def transcripts(self, run):
        return sorted((run.home / ".qwen").rglob("*.jsonl"))

    def subagents(self, transcript):
        return transcript.parent.parent / "subagents" / transcript.stem


class Copilot(Agent):
    folder = "copilot"
    events = ["sessionStart", "sessionEnd", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure",
              "agentStop", "subagentStart", "subagentStop", "preCompact", "errorOccurred"]

    def configure(self, run, server):
        hooks = {event: [{"type": "command", "bash": run.hook_command(event), "timeoutSec": HOOK_TIMEOUT_S}]
                 for event in self.events}
        write_json(run.home / ".copilot" / "hooks" / "lab.json", {"version": 1, "hooks": hooks})

    def env(self, run, server):
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": server.url("/v1"),
                "COPILOT_PROVIDER_API_KEY": "dummy", "COPILOT_MODEL": "fake-model",
                "COPILOT_PROVIDER_WIRE_API": "completions", **exporter()}

    def command(self, run, kind, prompt, session):
        command = [run.program, "--allow-all", "--output-format", "json"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": [f"--resume={session}"], "prompt": [f"--resume={session}"]}
        return command + options[kind] + ["-p", prompt]

    def session_id(self, run):
        said = (event["stdin"] for event in reversed(run.events()))
        ids = (s.get("sessionId") or s.get("session_id") for s in said if isinstance(s, dict))
        return next(filter(None, ids), None)

    def transcripts(self, run):
        return sorted((run.home / ".copilot").rglob("*.jsonl"))

    def transcript(self, run, session):
        return run.home / ".copilot" / "session-state" / session / "events.jsonl"


class CopilotAsClaude(Copilot):
    """The same with hooks in the form of Claude Code's, whose payloads name the event."""
    events = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
              "Stop", "SubagentStart", "SubagentStop", "PreCompact"]

    def configure(self, run, server):
        write_json(run.home / ".copilot" / "hooks" / "lab.json", {"hooks": hooks_of(run, self.events, HOOK_TIMEOUT_S)})


class OpenCode(Agent):
    """Has no hooks of its own; its session is read from what it prints."""
    folder = "opencode"

    def configure(self, run, server):
        home = run.home / ".config" / "opencode"
        lab = {"npm": "@ai-sdk/openai-compatible", "name": "lab",
               "options": {"baseURL": server.url("/v1"), "apiKey": "dummy"},
               "models": {"fake-model": {"name": "fake", "tool_call": True,
                                         "limit": {"context": 200000, "output": 8000}}}}
        write_json(home / "opencode.json", {
            "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled",
            "model": "lab/fake-model", "small_model": "lab/fake-model", "permission": "allow",
            "experimental": {"openTelemetry": bool(exporter())}, "provider": {"lab": lab}})
        # It would install this package by npm at its start, and hang without a network.
        if os.environ.get("LAB_OPENCODE_PLUGIN"):
            shutil.copytree(os.environ["LAB_OPENCODE_PLUGIN"], home, dirs_exist_ok=True, symlinks=True)

    def env(self, run, server):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", **exporter()}

    def command(self, run, kind, prompt, session):
        command = [run.program, "run", "--format", "json"]
        options = {"new": [], "continue": ["--continue"], "resume": ["--session", session],
                   "prompt": ["--session", session], "fork": ["--session", session, "--fork"]}
        return command + options[kind] + [prompt]

    def acp(self, run):
        return [run.program, "acp"]

    def session_id(self, run):
        said = "\n".join(path.read_text("utf-8", "replace") for path in sorted(run.dir.glob("step*.out")))
        found = re.findall(r'"sessionID":"(ses_\w+)"', said)
        return found[-1] if found else None

    def transcripts(self, run):
        return sorted((run.home / ".local" / "share" / "opencode").glob("*.db"))


class Pi(Agent):
    """Has extensions in TypeScript in place of hooks; its session is read from its files."""
    folder = "pi"

    def configure(self, run, server):
        home = run.home / ".pi" / "agent"
        lab = {"baseUrl": server.url("/v1"), "api": "openai-completions", "apiKey": "dummy",
               "models": [{"id": "fake-model"}]}
        write_json(home / "models.json", {"providers": {"lab": lab}})
        write_json(home / "settings.json", {"defaultProvider": "lab", "defaultModel": "fake-model",
                                            "enableInstallTelemetry": False})

    def env(self, run, server):
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def command(self, run, kind, prompt, session):
        command = ["node", run.program, "-p", "--mode", "json", "--model", "lab/fake-model"]
        options = {"new": [], "id": ["--session-id", session], "continue": ["--continue"],
                   "resume": ["--session", session], "prompt": ["--session", session], "fork": ["--fork", session]}
        return command + options[kind] + [prompt]

    def acp(self, run):
        return ["node", program("PI_ACP")]

    def acp_env(self, run):
        return {"PI_ACP_PI_COMMAND": run.program}

    def session_id(self, run):
        found = self.transcripts(run)
        return json.loads(found[-1].read_text().splitlines()[0])["id"] if found else None

    def transcripts(self, run):
        return sorted((run.home / ".pi" / "agent" / "sessions").rglob("*.jsonl"))


AGENTS = {"claude": Claude, "codex": Codex, "gemini": Gemini, "qwen": Qwen, "copilot": Copilot,
          "opencode": OpenCode, "pi": Pi}
