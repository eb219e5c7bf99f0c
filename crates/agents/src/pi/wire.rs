//! The forms of Pi's session files.

use crate::json::fields;

fields! {
    /// One line: the head of the file, a message, or something else that happened.
    Line {
        kind: "type",
        id: "id",
        timestamp: "timestamp",
        cwd: "cwd",
        parent: "parentSession",
        message: "message",
        model: "model",
        summary: "summary",
        usage: "usage",
    }
}

fields! {
    Message {
        role: "role",
        content: "content",
        model: "model",
        usage: "usage",
        call: "toolCallId",
        tool: "toolName",
        is_error: "isError",
    }
}

fields! {
    /// A part of a message: text, or a call.
    Part {
        kind: "type",
        text: "text",
        id: "id",
        name: "name",
        arguments: "arguments",
    }
}

fields! {
    Usage { input: "input", output: "output", cache_read: "cacheRead", cache_write: "cacheWrite" }
}

fields! {
    /// What a tool is given, as far as this program looks at it.
    Arguments { command: "command", path: "path" }
}
