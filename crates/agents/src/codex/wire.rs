//! The forms that Codex writes: hook payloads and transcript lines.

use crate::json::fields;

fields! {
    Hook {
        session_id: "session_id",
        turn_id: "turn_id",
        transcript_path: "transcript_path",
        agent_transcript_path: "agent_transcript_path",
        cwd: "cwd",
        event: "hook_event_name",
        agent_id: "agent_id",
        agent_type: "agent_type",
        source: "source",
        model: "model",
        reason: "reason",
        prompt: "prompt",
        tool: "tool_name",
        tool_input: "tool_input",
        tool_response: "tool_response",
        tool_use_id: "tool_use_id",
        last_message: "last_assistant_message",
        trigger: "trigger",
    }
}

fields! {
    /// What a tool is given, as far as this program looks at it.
    ToolInput { command: "command" }
}

fields! {
    Line { timestamp: "timestamp", kind: "type", payload: "payload" }
}

fields! {
    /// What a line holds, in the form of any kind.
    Payload {
        kind: "type",
        id: "id",
        session_id: "session_id",
        forked_from: "forked_from_id",
        parent_thread: "parent_thread_id",
        cwd: "cwd",
        git: "git",
        version: "cli_version",
        model: "model",
        turn_id: "turn_id",
        root_turn_id: "root_turn_id",
        role: "role",
        content: "content",
        message: "message",
        name: "name",
        arguments: "arguments",
        input: "input",
        call_id: "call_id",
        action: "action",
        output: "output",
        item: "item",
        usage: "usage",
        response_id: "response_id",
        total: "thread_token_usage",
        info: "info",
        started_ms: "started_at_ms",
        thread_name: "thread_name",
    }
}

fields! {
    /// What of the repository a transcript names.
    Git { branch: "branch", commit: "commit_hash" }
}

fields! {
    /// Something that is done: a message, a command, a change of files.
    Item {
        kind: "type",
        id: "id",
        content: "content",
        command: "command",
        output: "aggregated_output",
        exit_code: "exit_code",
        status: "status",
        changes: "changes",
        stdout: "stdout",
        tool: "tool",
        receivers: "receiver_thread_ids",
    }
}

fields! {
    /// What the tool says that starts a sub-agent, as JSON in a string.
    Spawned { agent_id: "agent_id" }
}

fields! {
    /// How a file was changed.
    FileChange { kind: "type", content: "content", diff: "unified_diff", moved: "move_path" }
}

fields! {
    /// One part of a message.
    Part { text: "text" }
}

fields! {
    /// What a call of the shell is given: a line, or a program and its arguments.
    Arguments { cmd: "cmd", command: "command" }
}

fields! {
    /// What the tool of older versions said, as JSON in a string.
    OldOutput { output: "output", metadata: "metadata" }
}

fields! {
    /// How a command of older versions ended.
    OldMetadata { exit_code: "exit_code" }
}

fields! {
    /// The usage of older versions.
    Info { total: "total_token_usage", last: "last_token_usage" }
}

fields! {
    /// Tokens.
    Usage {
        input: "input_tokens",
        cached: "cached_input_tokens",
        cache_write: "cache_write_input_tokens",
        output: "output_tokens",
        total: "total_tokens",
    }
}
