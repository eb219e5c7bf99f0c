//! The hooks that are registered, and how they look as JSON.

/// Which tool calls are reported.
const TOOLS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent";
/// How long the agent waits for the hook at most, in seconds.
const TIMEOUT: u32 = 10;

/// One event that we hook.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hooked {
    pub(super) event: &'static str,
    pub(super) matcher: Option<&'static str>,
}

const fn plain(event: &'static str) -> Hooked {
    Hooked {
        event,
        matcher: None,
    }
}

const fn tool(event: &'static str) -> Hooked {
    Hooked {
        event,
        matcher: Some(TOOLS),
    }
}

/// The events that we hook, in the order in which they are written.
pub(super) const HOOKED: &[Hooked] = &[
    plain("SessionStart"),
    plain("SessionEnd"),
    plain("UserPromptSubmit"),
    tool("PreToolUse"),
    tool("PostToolUse"),
    tool("PostToolUseFailure"),
    plain("Stop"),
    plain("SubagentStart"),
    plain("SubagentStop"),
    plain("PreCompact"),
    plain("PostCompact"),
];

impl Hooked {
    /// Tells whether a group with this matcher sees everything that we want to see.
    pub(super) fn is_matched_by(self, matcher: Option<&str>) -> bool {
        matches!(matcher, None | Some("" | "*")) || matcher == self.matcher
    }

    /// The group for this event.
    pub(super) fn group(self, command: &str) -> Json {
        let hook = Json::Object(vec![
            ("type", Json::Text("command".to_owned())),
            ("command", Json::Text(command.to_owned())),
            ("timeout", Json::Number(TIMEOUT)),
        ]);
        let matcher = self
            .matcher
            .map(|matcher| ("matcher", Json::Text(matcher.to_owned())));
        let hooks = ("hooks", Json::Array(vec![hook]));
        Json::Object(matcher.into_iter().chain([hooks]).collect())
    }
}

/// What we write.
#[derive(Debug, Clone)]
pub(super) enum Json {
    Object(Vec<(&'static str, Self)>),
    Array(Vec<Self>),
    Text(String),
    Number(u32),
}

/// How we write it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Layout<'a> {
    Inline,
    Lines {
        newline: &'a str,
        /// Of the line that the value starts in.
        indent: &'a str,
        unit: &'a str,
    },
}

impl Json {
    /// The text of a member of an object.
    pub(super) fn member(&self, name: &str, layout: Layout<'_>) -> String {
        format!("{}: {}", serde_json::Value::from(name), self.render(layout))
    }

    /// The text.
    pub(super) fn render(&self, layout: Layout<'_>) -> String {
        match self {
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Number(number) => number.to_string(),
            Self::Object(members) => wrap('{', '}', layout, |inner| {
                members
                    .iter()
                    .map(|(name, value)| value.member(name, inner))
                    .collect()
            }),
            Self::Array(items) => wrap('[', ']', layout, |inner| {
                items.iter().map(|item| item.render(inner)).collect()
            }),
        }
    }
}

fn wrap(
    open: char,
    close: char,
    layout: Layout<'_>,
    items: impl Fn(Layout<'_>) -> Vec<String>,
) -> String {
    match layout {
        Layout::Inline => format!("{open}{}{close}", items(layout).join(", ")),
        Layout::Lines {
            newline,
            indent,
            unit,
        } => {
            let inner = format!("{indent}{unit}");
            let items = items(Layout::Lines {
                newline,
                indent: &inner,
                unit,
            });
            let items = items.join(&format!(",{newline}{inner}"));
            format!("{open}{newline}{inner}{items}{newline}{indent}{close}")
        }
    }
}
