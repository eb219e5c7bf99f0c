//! A span as a back end gets it, and sums of tokens.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use siglum_domain::observation::Tokens;

/// A span.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty where it has none.
    pub(super) parent: String,
    pub(super) attributes: Value,
}

impl Span {
    /// A span in the JSON form of OTLP, with plain attributes.
    pub(super) fn from_json(span: &Value) -> Self {
        let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
        Self {
            trace: text("traceId"),
            id: text("spanId"),
            parent: text("parentSpanId"),
            attributes: span["attributes"].clone(),
        }
    }

    /// A text; nothing where it is absent or empty.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.attributes[key]
            .as_str()
            .filter(|text| !text.is_empty())
    }

    /// The first text that is there.
    pub(super) fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.text(key))
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.attributes[key].as_u64()
    }

    /// The first number that is there.
    pub(super) fn count(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| self.number(key))
    }

    pub(super) fn is_llm(&self) -> bool {
        self.text("openinference.span.kind") == Some("LLM")
    }

    /// The same one without these attributes.
    pub(super) fn without(&self, keys: &[&str]) -> Self {
        let mut less = self.clone();
        for key in keys {
            less.attributes.as_object_mut().unwrap().remove(*key);
        }
        less
    }

    /// The same one with these tokens.
    pub(super) fn with_tokens(&self, input: u64, output: u64) -> Self {
        let mut more = self.clone();
        more.attributes["gen_ai.usage.input_tokens"] = json!(input);
        more.attributes["gen_ai.usage.output_tokens"] = json!(output);
        more
    }
}

/// Tokens; what came from a cache, or went into one, is a part of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) input: u64,
    pub(super) output: u64,
}

impl From<Tokens> for Totals {
    fn from(used: Tokens) -> Self {
        Self {
            input: used.input + used.cache_read + used.cache_write,
            output: used.output,
        }
    }
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
    }
}

/// What is shown of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) traces: BTreeSet<String>,
    pub(super) totals: Totals,
}

/// What is shown of all sessions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions(pub(super) BTreeMap<String, Shown>);

impl Sessions {
    /// A trace is listed in a session.
    pub(super) fn list(&mut self, session: &str, trace: &str) {
        let shown = self.0.entry(session.to_owned()).or_default();
        shown.traces.insert(trace.to_owned());
    }

    /// Tokens count for a session.
    pub(super) fn count(&mut self, session: &str, tokens: Totals) {
        self.0.entry(session.to_owned()).or_default().totals += tokens;
    }
}
