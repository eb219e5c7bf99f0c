//! The forms that Gemini CLI writes: hook payloads and transcripts.

use crate::json::fields;

fields! {
    Hook {
        session_id: "session_id",
        transcript_path: "transcript_path",
        cwd: "cwd",
        event: "hook_event_name",
        source: "source",
        reason: "reason",
        prompt: "prompt",
        prompt_response: "prompt_response",
        tool: "tool_name",
        tool_input: "tool_input",
        tool_response: "tool_response",
    }
}

fields! {
    /// What a tool returns.
    Response { content: "llmContent", error: "error", display: "returnDisplay" }
}

fields! {
    /// What a tool is given, as far as this program looks at it.
    ToolInput {
        command: "command",
        file_path: "file_path",
        agent_name: "agent_name",
        content: "content",
        new: "new_string",
    }
}

fields! {
    /// A line of a transcript: its head, a message or an update; or a message of an older document.
    Line {
        id: "id",
        kind: "type",
        timestamp: "timestamp",
        content: "content",
        model: "model",
        tokens: "tokens",
        calls: "toolCalls",
        set: "$set",
    }
}

fields! {
    Update { messages: "messages" }
}

fields! {
    /// One part of a message's content.
    Part { text: "text" , response: "functionResponse" }
}

fields! {
    /// What a message cost.
    Usage {
        input: "input",
        output: "output",
        cached: "cached",
        thoughts: "thoughts",
        tool: "tool",
    }
}

fields! {
    /// A tool call with its result.
    Call {
        id: "id",
        name: "name",
        args: "args",
        result: "result",
        status: "status",
        timestamp: "timestamp",
        agent_id: "agentId",
        display: "resultDisplay",
    }
}

fields! {
    /// What a tool said.
    FunctionResponse { response: "response" }
}

fields! {
    /// That, if it went well or not.
    ResponseBody { output: "output", error: "error" }
}

fields! {
    /// What an edit tool shows of what it did.
    EditDisplay {
        path: "filePath",
        before: "originalContent",
        after: "newContent",
        is_new: "isNewFile",
        truncated: "truncatedForSession",
    }
}

fields! {
    /// The head of a transcript.
    Head { session: "sessionId" }
}
