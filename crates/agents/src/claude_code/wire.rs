//! The forms that Claude Code writes: hook payloads and transcript lines.

use crate::json::fields;

fields! {
    Hook {
        session_id: "session_id",
        transcript_path: "transcript_path",
        cwd: "cwd",
        event: "hook_event_name",
        prompt_id: "prompt_id",
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
        error: "error",
        duration_ms: "duration_ms",
        last_message: "last_assistant_message",
        background: "background_tasks",
        trigger: "trigger",
        summary: "compact_summary",
    }
}

fields! {
    /// What the shell tool returns.
    ShellResponse { stdout: "stdout", stderr: "stderr" }
}

fields! {
    /// What the tool returns that starts a sub-agent: at once, or when the sub-agent is done.
    Spawned { agent_id: "agentId", agent_type: "agentType", prompt: "prompt" }
}

fields! {
    /// What a tool is given, as far as this program looks at it.
    ToolInput {
        command: "command",
        file_path: "file_path",
        content: "content",
        new: "new_string",
        edits: "edits",
        notebook_path: "notebook_path",
        subagent_type: "subagent_type",
    }
}

fields! {
    /// Anything with an id.
    Named { id: "id" }
}

fields! {
    /// The name of a session.
    CustomTitle { session: "sessionId", title: "customTitle" }
}

fields! {
    /// The place of a line in the chain of messages.
    ChainLink { uuid: "uuid", parent: "parentUuid" }
}

fields! {
    Line {
        kind: "type",
        subtype: "subtype",
        uuid: "uuid",
        session: "sessionId",
        request_session: "requestSessionId",
        request: "requestId",
        prompt_id: "promptId",
        prompt_source: "promptSource",
        agent_id: "agentId",
        sidechain: "isSidechain",
        meta: "isMeta",
        summary: "isCompactSummary",
        compact: "compactMetadata",
        timestamp: "timestamp",
        cwd: "cwd",
        git_branch: "gitBranch",
        version: "version",
        message: "message",
        result: "toolUseResult",
    }
}

fields! {
    /// What an edit tool returned, in the form of any of them.
    EditResult {
        kind: "type",
        path: "filePath",
        content: "content",
        original: "originalFile",
        original_contents: "originalFileContents",
        old: "oldString",
        new: "newString",
        all: "replaceAll",
        edits: "edits",
        patch: "structuredPatch",
        user_modified: "userModified",
    }
}

fields! {
    /// One of several replacements.
    Replacement { old: "old_string", new: "new_string", all: "replace_all" }
}

fields! {
    /// One piece of a patch.
    Hunk { old_start: "oldStart", lines: "lines" }
}

fields! {
    Message {
        id: "id",
        model: "model",
        content: "content",
        usage: "usage",
        stop_reason: "stop_reason",
    }
}

fields! {
    /// One block of a message's content.
    Block {
        kind: "type",
        text: "text",
        id: "id",
        name: "name",
        input: "input",
        tool_use_id: "tool_use_id",
        content: "content",
        is_error: "is_error",
    }
}

fields! {
    /// What a message cost.
    Usage {
        input: "input_tokens",
        output: "output_tokens",
        cache_read: "cache_read_input_tokens",
        cache_write: "cache_creation_input_tokens",
    }
}

fields! {
    /// How the context was compacted.
    Compact { trigger: "trigger" }
}

fields! {
    /// The session that a line is of.
    SessionLine { session: "sessionId" }
}

fields! {
    /// The working directory of a line.
    Cwd { cwd: "cwd" }
}
