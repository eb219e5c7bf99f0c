//! One event that is hooked, and how it looks as JSON.

/// One event that we hook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hooked {
    /// The agent's name for it.
    pub(crate) event: &'static str,
    /// Which tool calls are reported, by the agent's own pattern; none for all, and for other events.
    pub(crate) matcher: Option<&'static str>,
    /// How long the agent waits for this hook at most, where it is less than for the others.
    pub(crate) timeout: Option<u32>,
}

impl Hooked {
    /// An event that is reported whenever it happens.
    pub(crate) const fn plain(event: &'static str) -> Self {
        Self {
            event,
            matcher: None,
            timeout: None,
        }
    }

    /// An event of tool calls that is reported for the tools that match.
    pub(crate) const fn tool(event: &'static str, tools: &'static str) -> Self {
        Self {
            event,
            matcher: Some(tools),
            timeout: None,
        }
    }

    /// An event for whose hook the agent waits no longer than this, in its own unit.
    pub(crate) const fn brief(event: &'static str, timeout: u32) -> Self {
        Self {
            event,
            matcher: None,
            timeout: Some(timeout),
        }
    }

    /// Tells whether a group with this matcher sees everything that we want to see.
    pub(super) fn is_matched_by(self, matcher: Option<&str>) -> bool {
        matches!(matcher, None | Some("" | "*")) || matcher == self.matcher
    }

    pub(super) fn group(self, command: &str, timeout: u32) -> Json {
        let hook = Json::Object(vec![
            ("type", Json::Text("command".to_owned())),
            ("command", Json::Text(command.to_owned())),
            ("timeout", Json::Number(self.timeout.unwrap_or(timeout))),
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
pub(crate) enum Json {
    Object(Vec<(&'static str, Self)>),
    Array(Vec<Self>),
    Text(String),
    Number(u32),
    Bool(bool),
}

/// How we write it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layout<'a> {
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

    pub(crate) fn render(&self, layout: Layout<'_>) -> String {
        match self {
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Number(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
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
