//! The form of lines: one table, of which the check and the published schema are made.

use serde_json::Value;
use siglum_domain::link::{Link, NUMBER_MAX};
use siglum_domain::{NativeId, Timestamp};

/// The version of the protocol, which every line names.
pub(super) const VERSION: u64 = 1;
/// Longest line, in bytes.
pub const LINE_MOST: usize = 4 << 20;
/// Longest word, in characters.
pub(super) const WORD_MOST: usize = 200;
/// Longest text, in characters.
pub(super) const TEXT_MOST: usize = 256 << 10;
/// Longest content of a file, in characters.
pub(super) const CONTENT_MOST: usize = 1 << 20;
/// Longest path, in characters.
pub(super) const PATH_MOST: usize = 4096;
/// Most paths of one call.
pub(super) const PATHS_MOST: usize = 256;
/// Longest id, in characters.
pub(super) const ID_MOST: usize = 256;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineType {
    SessionStart,
    SessionEnd,
    Prompt,
    Message,
    Usage,
    ToolCall,
    ToolResult,
    Edit,
    TurnEnd,
    SubagentStart,
    Compaction,
    Link,
}

/// What the value of a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name of the sender's own.
    Id,
    Word,
    OneOf(&'static [&'static str]),
    Text,
    /// The content of a file; `null` where there is no file.
    Content,
    Path,
    Paths,
    /// An absolute path.
    Directory,
    Time,
    Count,
    Flag,
    Link,
    Any,
}

/// One field of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) about: &'static str,
}

/// All lines of one type.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) line_type: LineType,
    /// The word for it in a line.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) fields: &'static [Field],
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        is_required: true,
        about,
    }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        is_required: false,
        about,
    }
}

/// The fields that all lines have, besides the version and the type.
pub(super) const COMMON: &[Field] = &[
    required("session", Kind::Id, "The agent's own id of the session"),
    required(
        "id",
        Kind::Id,
        "The id of this line within the session: a line that comes again under it is stored once",
    ),
    optional(
        "at",
        Kind::Time,
        "When it happened; absent: now, and what is on disk is looked at",
    ),
    optional(
        "turn",
        Kind::Id,
        "The turn that it belongs to; absent: the last one",
    ),
    optional("subagent", Kind::Id, "The sub-agent that it happened in"),
    optional(
        "cwd",
        Kind::Directory,
        "The directory that the agent works in; absent: that of `siglum record`",
    ),
];

const TOOL: Field = required("tool", Kind::Word, "The tool's own name");
const CALL: Field = required("call", Kind::Id, "The id of the call");
const PATHS: Field = optional(
    "paths",
    Kind::Paths,
    "The files that the call changes, for tools of the kind `edit`",
);
const BEFORE: Field = optional(
    "before",
    Kind::Content,
    "The content that the tool started from; null: there was no file",
);
const AFTER: Field = optional(
    "after",
    Kind::Content,
    "The content that the tool wrote; without `before`: all lines that it added, each whole",
);
const KIND: Field = optional(
    "kind",
    Kind::OneOf(&["edit", "shell", "agent", "other"]),
    "What the tool does; absent: other",
);
const MODEL: Field = optional("model", Kind::Word, "The model");
const REQUEST: Field = optional("request", Kind::Id, "The provider's id of the request");

/// All types of lines.
pub(super) static FORMS: &[Form] = &[
    Form {
        line_type: LineType::SessionStart,
        name: "session_start",
        about: "The agent begins to run the session",
        fields: &[
            optional(
                "source",
                Kind::OneOf(&["startup", "resume", "fork", "clear", "compact"]),
                "How it comes to run; absent: startup",
            ),
            optional("parent", Kind::Id, "The session that it was forked from"),
            MODEL,
        ],
    },
    Form {
        line_type: LineType::SessionEnd,
        name: "session_end",
        about: "The agent stops running the session",
        fields: &[optional("reason", Kind::Word, "Why")],
    },
    Form {
        line_type: LineType::Prompt,
        name: "prompt",
        about: "Somebody prompts, and a turn begins; in a sub-agent: what it is given to do",
        fields: &[
            required("text", Kind::Text, "The prompt"),
            optional("synthetic", Kind::Flag, "Whether the agent wrote it itself"),
        ],
    },
    Form {
        line_type: LineType::Message,
        name: "message",
        about: "A message of the conversation",
        fields: &[
            required("text", Kind::Text, "What it says"),
            optional(
                "message",
                Kind::Id,
                "The id of the message; absent: that of the line",
            ),
            optional(
                "role",
                Kind::OneOf(&["user", "assistant"]),
                "Who wrote it; absent: assistant",
            ),
            MODEL,
            REQUEST,
        ],
    },
    Form {
        line_type: LineType::Usage,
        name: "usage",
        about: "What a message cost, in tokens; counted once per message",
        fields: &[
            optional(
                "message",
                Kind::Id,
                "The id of the message; absent: that of the line",
            ),
            optional(
                "input",
                Kind::Count,
                "Read by the model and not from a cache",
            ),
            optional("output", Kind::Count, "Written by the model"),
            optional("cache_read", Kind::Count, "Read from the cache"),
            optional("cache_write", Kind::Count, "Written to the cache"),
            MODEL,
            REQUEST,
        ],
    },
    Form {
        line_type: LineType::ToolCall,
        name: "tool_call",
        about: "A tool is about to run",
        fields: &[
            CALL,
            TOOL,
            KIND,
            optional(
                "input",
                Kind::Any,
                "What it is given; of an edit, only names and sizes are kept",
            ),
            PATHS,
        ],
    },
    Form {
        line_type: LineType::ToolResult,
        name: "tool_result",
        about: "A tool returned",
        fields: &[
            CALL,
            TOOL,
            KIND,
            optional(
                "outcome",
                Kind::OneOf(&["ok", "failed", "denied"]),
                "How it ended; absent: ok",
            ),
            optional("output", Kind::Text, "What it said"),
            optional(
                "duration_ms",
                Kind::Count,
                "How long it ran, in milliseconds",
            ),
            PATHS,
            BEFORE,
            AFTER,
        ],
    },
    Form {
        line_type: LineType::Edit,
        name: "edit",
        about: "The agent changed a file, and no tool call tells of it",
        fields: &[required("path", Kind::Path, "The file"), BEFORE, AFTER],
    },
    Form {
        line_type: LineType::TurnEnd,
        name: "turn_end",
        about: "A turn came to its stop; in a sub-agent: the sub-agent did",
        fields: &[optional("text", Kind::Text, "The last words of the agent")],
    },
    Form {
        line_type: LineType::SubagentStart,
        name: "subagent_start",
        about: "A sub-agent begins",
        fields: &[
            required("subagent", Kind::Id, "The id of the sub-agent"),
            optional("agent_type", Kind::Word, "What kind it is"),
            optional("call", Kind::Id, "The tool call that started it"),
        ],
    },
    Form {
        line_type: LineType::Compaction,
        name: "compaction",
        about: "The context was compacted",
        fields: &[
            optional("trigger", Kind::Word, "By whom"),
            optional("summary", Kind::Text, "What is left of it"),
        ],
    },
    Form {
        line_type: LineType::Link,
        name: "link",
        about: "The session works for this",
        fields: &[required(
            "link",
            Kind::Link,
            "issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE",
        )],
    },
];

/// Whether a text has at least one character and at most so many, none of which is a control character.
fn is_plain(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control)
}

impl Kind {
    /// Whether a value is one of this kind.
    pub(super) fn takes(self, value: &Value) -> bool {
        let text = value.as_str();
        let is = |check: &dyn Fn(&str) -> bool| text.is_some_and(check);
        match self {
            Self::Id => is(&|t| NativeId::new(t).is_ok()),
            Self::Word => is(&|t| is_plain(t, WORD_MOST)),
            Self::OneOf(words) => is(&|t| words.contains(&t)),
            Self::Text => is(&|t| t.chars().count() <= TEXT_MOST),
            Self::Content => value.is_null() || is(&|t| t.chars().count() <= CONTENT_MOST),
            Self::Path => is(&|t| is_plain(t, PATH_MOST)),
            Self::Directory => is(&|t| is_plain(t, PATH_MOST) && t.starts_with('/')),
            Self::Paths => value.as_array().is_some_and(|paths| {
                paths.len() <= PATHS_MOST && paths.iter().all(|path| Self::Path.takes(path))
            }),
            Self::Time => is(&|t| t.parse::<Timestamp>().is_ok()),
            Self::Count => value.as_u64().is_some_and(|n| n <= NUMBER_MAX),
            Self::Flag => value.is_boolean(),
            Self::Link => is(&|t| t.parse::<Link>().is_ok()),
            Self::Any => true,
        }
    }

    /// What a value of this kind is, as the end of a sentence.
    pub(super) fn rule(self) -> String {
        match self {
            Self::Id => {
                format!("1 to {ID_MOST} printable characters without blanks, slashes or `..`")
            }
            Self::Word => format!("1 to {WORD_MOST} characters on one line"),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::Text => format!("a text of up to {TEXT_MOST} characters"),
            Self::Content => format!("a text of up to {CONTENT_MOST} characters, or null"),
            Self::Path => format!("a path of up to {PATH_MOST} characters"),
            Self::Directory => format!("an absolute path of up to {PATH_MOST} characters"),
            Self::Paths => format!("an array of up to {PATHS_MOST} paths"),
            Self::Time => "a time such as 2026-11-20T21:18:59Z".to_owned(),
            Self::Count => format!("a whole number from 0 to {NUMBER_MAX}"),
            Self::Flag => "true or false".to_owned(),
            Self::Link => {
                "issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE"
                    .to_owned()
            }
            Self::Any => "any JSON".to_owned(),
        }
    }
}
