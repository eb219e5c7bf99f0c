//! The forms that Qwen Code writes: hook payloads and transcript lines.

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
        tool_call_id: "tool_call_id",
        tool_use_id: "tool_use_id",
        error: "error",
        duration_ms: "duration_ms",
        last_message: "last_assistant_message",
        background: "background_tasks",
    }
}

fields! {
    /// Anything with an id.
    Named { id: "id" }
}

fields! {
    /// What the tool is given that starts a sub-agent.
    AgentInput { kind: "subagent_type" }
}

fields! {
    Line {
        kind: "type",
        subtype: "subtype",
        uuid: "uuid",
        timestamp: "timestamp",
        cwd: "cwd",
        git_branch: "gitBranch",
        version: "version",
        model: "model",
        message: "message",
        usage: "usageMetadata",
        result: "toolCallResult",
        payload: "systemPayload",
        forked: "forkedFrom",
    }
}

fields! {
    /// Where a copied line comes from.
    Forked { session: "sessionId" }
}

fields! {
    Message { parts: "parts" }
}

fields! {
    /// One part of a message.
    Part {
        text: "text",
        thought: "thought",
        call: "functionCall",
        response: "functionResponse",
    }
}

fields! {
    /// A tool call.
    Call { id: "id", name: "name", args: "args" }
}

fields! {
    /// What came of a tool call.
    Response { id: "id", name: "name", response: "response" }
}

fields! {
    /// What the agent notes beside it.
    CallResult {
        status: "status",
        display: "resultDisplay",
        duration_ms: "durationMs",
    }
}

fields! {
    /// What a message cost.
    Usage {
        input: "promptTokenCount",
        output: "candidatesTokenCount",
        cached: "cachedContentTokenCount",
        thoughts: "thoughtsTokenCount",
        total: "totalTokenCount",
    }
}

fields! {
    /// What the agent notes of its telemetry.
    Noted { event: "uiEvent" }
}

fields! {
    /// That a model answered, and what that cost.
    Answer {
        name: "event.name",
        request: "response_id",
        prompt: "prompt_id",
        agent: "subagent_id",
        model: "model",
        input: "input_token_count",
        output: "output_token_count",
        cached: "cached_content_token_count",
        thoughts: "thoughts_token_count",
        total: "total_token_count",
    }
}

fields! {
    /// What became of the context.
    Compression { info: "info", history: "compressedHistory" }
}

fields! {
    /// Why it was compacted.
    CompressionInfo { trigger: "triggerReason" }
}

fields! {
    /// The session that a line is of, and where it was written.
    Place { session: "sessionId", cwd: "cwd" }
}
