//! The forms that Copilot CLI writes: hook payloads and transcript lines.

use crate::json::{Field, fields};

fields! {
    /// A payload, in either of its forms.
    Hook {
        event: "hook_event_name",
        other_event: "hookName",
        session_id: "session_id",
        other_session_id: "sessionId",
        transcript_path: "transcript_path",
        other_transcript_path: "transcriptPath",
        cwd: "cwd",
        source: "source",
        reason: "reason",
        prompt: "prompt",
        tool: "tool_name",
        other_tool: "toolName",
        tool_input: "tool_input",
        other_tool_input: "toolArgs",
        tool_result: "tool_result",
        other_tool_result: "toolResult",
        error: "error",
        agent_id: "agent_id",
        other_agent_id: "agentId",
        agent_type: "agent_type",
        other_agent_type: "agentType",
        agent_name: "agent_name",
        other_agent_name: "agentName",
        parent: "parent_agent_id",
        other_parent: "parentAgentId",
        stop_reason: "stop_reason",
        other_stop_reason: "stopReason",
        last_message: "last_assistant_message",
        other_last_message: "response",
    }
}

/// The first of two that is there.
pub(super) fn either<'a>(one: Field<'a>, other: Field<'a>) -> Field<'a> {
    if one.raw().is_some() { one } else { other }
}

fields! {
    /// What a tool is given, as far as this program looks at it.
    ToolInput {
        command: "command",
        own_path: "path",
        file_path: "file_path",
        content: "file_text",
        new: "new_str",
    }
}

impl<'a> ToolInput<'a> {
    /// The file that it names.
    pub(super) fn path(&self) -> Field<'a> {
        either(self.own_path, self.file_path)
    }
}

fields! {
    /// What a tool returned, in either of its forms.
    ToolResult {
        kind: "result_type",
        other_kind: "resultType",
        text: "text_result_for_llm",
        other_text: "textResultForLlm",
    }
}

fields! {
    /// A line of a transcript: one event.
    Line { kind: "type", id: "id", timestamp: "timestamp", agent: "agentId", data: "data" }
}

fields! {
    /// What an event tells, whichever it is.
    Data {
        version: "copilotVersion",
        context: "context",
        cwd: "cwd",
        branch: "branch",
        content: "content",
        source: "source",
        continuation: "isAutopilotContinuation",
        message: "messageId",
        model: "model",
        output: "outputTokens",
        api_call: "apiCallId",
        usage: "usage",
        call: "toolCallId",
        tool: "toolName",
        arguments: "arguments",
        success: "success",
        result: "result",
        error: "error",
        agent_name: "agentName",
        agent_type: "agentType",
        summary: "summaryContent",
        trigger: "trigger",
    }
}

fields! {
    /// Where a session works.
    Context { cwd: "cwd", branch: "branch" }
}

fields! {
    /// What an answer of a model cost.
    Usage {
        model: "model",
        input: "inputTokens",
        output: "outputTokens",
        cache_read: "cacheReadTokens",
        cache_write: "cacheWriteTokens",
        api_call: "apiCallId",
    }
}

fields! {
    /// What a tool returned, in a transcript.
    Returned { content: "content" }
}

fields! {
    /// Why a tool failed.
    Failure { message: "message" }
}
