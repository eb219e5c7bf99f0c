//! What the tools take. The doc comments are what an agent reads.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use siglum_engine::views::cost;

/// Where a tool looks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// A commit in any form that git takes (a hash, a branch, `HEAD~2`), or a line of a committed file as `FILE:LINE`.
    /// Default: HEAD.
    #[serde(default = "head")]
    pub commit: String,
    /// The directory to work in: an absolute path in this repository. Default: the one that the server was started in.
    pub directory: Option<PathBuf>,
}

fn head() -> String {
    "HEAD".to_owned()
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Terms, separated by blanks: words, `"a phrase"`, `pre*`, `path:src/a.rs`, `agent:codex`, `tool:Bash`, `since:7d`,
    /// `until:2026-01-31`, `issue:42`, `pr:7`, `is:error`. All of them must be in one turn of a session, in any case and
    /// order.
    pub words: String,
    /// At most this many sessions, 1 to 100.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: usize,
    /// The directory to work in: an absolute path in this repository. Default: the one that the server was started in.
    pub directory: Option<PathBuf>,
}

const fn twenty() -> usize {
    20
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The session: its id (`ses_…`), the last six or more digits of it, its conversation id, or the agent's own id.
    /// Default: the session that asks.
    pub session: Option<String>,
    /// Only the turn with this number, from 1.
    #[schemars(range(min = 1))]
    pub turn: Option<usize>,
    /// Only this many turns, the last ones, 1 to 200.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: usize,
    /// With all messages and what tools returned, not shortened. Can be long: name a turn.
    #[serde(default)]
    pub full: bool,
}

/// By what usage is summed up: a word of `siglum cost --by`.
#[derive(Debug, Clone, Copy)]
pub struct By(pub cost::By);

impl Default for By {
    fn default() -> Self {
        Self(cost::By::Session)
    }
}

impl<'de> Deserialize<'de> for By {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = cost::By::ALL.into_iter().find(|by| by.word() == word);
        let unknown = || {
            let words = cost::By::ALL.map(cost::By::word).join("`, `");
            D::Error::custom(format!(
                "unknown variant `{word}`, expected one of `{words}`"
            ))
        };
        known.map(Self).ok_or_else(unknown)
    }
}

impl JsonSchema for By {
    fn schema_name() -> Cow<'static, str> {
        "By".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": cost::By::ALL.map(cost::By::word) })
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// By what usage is summed up.
    #[serde(default)]
    pub by: By,
    /// Only this session: its id, the last digits of it, or the agent's own id; `self` is the session that asks.
    pub session: Option<String>,
    /// Only turns with all of these facts attached: `issue=42` (or `#42`), `pr=7`, `pipeline=ID`, `role=NAME`,
    /// `phase=NAME`, `label=KEY=VALUE`.
    #[serde(default)]
    pub links: Vec<String>,
    /// Only messages from this time on: `7d`, `2026-01-31`, an RFC 3339 time, or `all`. Default: the last 30 days, or all
    /// where `session` or `links` is given.
    pub since: Option<String>,
    /// At most this many rows, 1 to 200.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 200))]
    pub limit: usize,
    /// The directory to work in: an absolute path in this repository. Default: the one that the server was started in.
    pub directory: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What to attach: `issue=42` (or `#42`), `pr=7`, `pipeline=ID`, `role=NAME`, `phase=NAME` or `label=KEY=VALUE`.
    #[schemars(length(min = 1, max = 20))]
    pub links: Vec<String>,
    /// The session. Default, and nearly always right: the one that asks.
    pub session: Option<String>,
}
