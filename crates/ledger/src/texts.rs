//! Where text from outside is stored, beside payloads, lines of transcripts and telemetry: every such column, and what
//! may become of it when something in it is to be forgotten.
//!
//! A check of the conformance suite derives the columns of each store from its schema and holds them against this
//! list, so that none is left out.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::{AgentVariable, Scene};
use siglum_domain::pipeline::What;
use siglum_domain::process::ProcessIdentity;

use crate::statement::Statement;

/// A column that holds text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextColumn {
    pub table: &'static str,
    pub column: &'static str,
}

/// What may become of a text that holds what is to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// Anybody may read it and nobody looks anything up by it: it is replaced in parts.
    Text,
    /// JSON: texts in it are replaced, as long as it can still be read.
    Json,
    /// It goes as a whole.
    Whole,
    /// Other rows name the same thing by it: it gets another name, the same everywhere.
    Name,
    /// Receipts, the chain of the audit or settings rest on it: it stays, and whoever asks is told so.
    Kept,
    /// Words, digests and ids of ours or of git: nobody outside chooses them.
    Own,
}

use TextForm::{Json, Kept, Name, Own, Text, Whole};

/// All columns with text, by table and form.
const COLUMNS: &[(&str, TextForm, &[&str])] = &[
    ("active_runs", Name, &["key"]),
    ("active_runs", Text, &["by", "cancelled_by"]),
    ("active_runs", Own, &["driver"]),
    ("aliases", Name, &["native"]),
    ("aliases", Kept, &["agent"]),
    ("audit", Whole, &["body"]),
    ("audit", Kept, &["actor", "reason", "field", "pipeline"]),
    (
        "audit",
        Own,
        &["action", "outcome", "body_digest", "previous", "digest"],
    ),
    ("audit_end", Own, &["digest"]),
    ("audit_ends", Own, &["digest"]),
    ("authors", Name, &["path"]),
    ("authors", Own, &["commit", "spans"]),
    ("authorships", Own, &["commit"]),
    ("checkpoints", Own, &["kind", "commit"]),
    ("commits", Json, &["judgement", "facts"]),
    ("commits", Text, &["patch"]),
    (
        "commits",
        Own,
        &["commit", "committer", "verdict", "seen_by"],
    ),
    ("context_gaps", Name, &["context"]),
    ("context_gaps", Text, &["reason", "accepted_by"]),
    ("context_runs", Name, &["client", "run", "context"]),
    ("context_runs", Own, &["content"]),
    ("context_turns", Name, &["context", "key", "recovers"]),
    ("context_turns", Own, &["kind", "digest"]),
    ("contexts", Name, &["key", "route", "parent"]),
    ("contexts", Json, &["prepared", "anchors"]),
    ("contexts", Text, &["by"]),
    ("contexts", Own, &["cause", "inherit"]),
    ("counters", Own, &["name"]),
    ("cursors", Kept, &["projection"]),
    ("declines", Name, &["key", "common_dir"]),
    ("declines", Text, &["detail"]),
    ("declines", Own, &["edge", "reason"]),
    ("deliveries", Kept, &["projection"]),
    ("deliveries", Text, &["reason"]),
    ("destinations", Kept, &["projection"]),
    ("destinations", Text, &["reason"]),
    ("documents", Kept, &["projection"]),
    ("documents", Own, &["kind", "document"]),
    ("edits", Name, &["worktree", "path"]),
    ("edits", Kept, &["event"]),
    ("edits", Json, &["detail"]),
    (
        "edits",
        Own,
        &["before", "before_object", "after", "after_object"],
    ),
    ("forwards", Kept, &["destination"]),
    ("forwards", Own, &["signal"]),
    ("head_moves", Kept, &["event"]),
    ("head_moves", Own, &["commit", "said"]),
    ("heartbeats", Kept, &["name"]),
    ("heartbeats", Json, &["definition", "origin"]),
    ("heartbeats", Text, &["by"]),
    ("intents", Name, &["worktree"]),
    ("intents", Json, &["scene"]),
    ("intents", Own, &["git", "state", "commit"]),
    ("interactions", Text, &["title", "by"]),
    ("interactions", Json, &["options"]),
    ("interactions", Kept, &["call", "option"]),
    ("interactions", Own, &["kind", "how"]),
    ("leases", Text, &["holder"]),
    ("links", Name, &["value"]),
    ("links", Own, &["field"]),
    ("meta", Own, &["key"]),
    ("observations", Kept, &["key", "event", "subagent"]),
    ("observations", Own, &["source", "kind", "digest"]),
    ("open_turns", Name, &["key"]),
    ("open_turns", Text, &["held"]),
    ("outbox", Json, &["body"]),
    ("outbox", Own, &["topic"]),
    ("parked", Name, &["item"]),
    ("parked", Text, &["reason"]),
    ("parked", Own, &["queue"]),
    ("pending", Kept, &["key", "event", "subagent"]),
    ("pending", Own, &["source", "kind", "digest"]),
    ("pipeline_events", Name, &["pipeline", "key"]),
    ("pipeline_events", Text, &["text", "by"]),
    ("pipeline_events", Json, &["body"]),
    ("pipeline_events", Own, &["source", "kind", "content"]),
    ("pipeline_sessions", Name, &["pipeline"]),
    ("pipelines", Name, &["id"]),
    ("processes", Json, &["identity", "carried"]),
    ("processes", Own, &["process"]),
    ("projections", Kept, &["name", "target", "scope"]),
    ("projections", Own, &["kind"]),
    ("receipts", Name, &["key"]),
    ("receipts", Own, &["turns", "previous", "digest", "content"]),
    ("replica_aliases", Name, &["native"]),
    ("replica_repositories", Name, &["common_dir"]),
    ("replica_repositories", Text, &["host"]),
    ("replica_stamps", Own, &["kind", "document"]),
    ("repositories", Name, &["common_dir", "remote"]),
    ("repositories", Own, &["roots"]),
    ("requests", Name, &["key"]),
    ("requests", Json, &["outcome"]),
    ("requests", Own, &["content"]),
    ("rewrites", Text, &["command"]),
    ("rewrites", Own, &["old", "new"]),
    ("route_moves", Name, &["route", "to", "from"]),
    ("route_moves", Text, &["by"]),
    ("route_moves", Own, &["cause"]),
    ("routes", Name, &["key", "current", "last_context"]),
    ("routes", Kept, &["agent"]),
    ("routes", Own, &["last_outcome"]),
    ("running_calls", Name, &["worktree"]),
    ("running_calls", Kept, &["event"]),
    ("run_events", Json, &["events"]),
    ("runs", Name, &["key", "native", "route", "context"]),
    ("runs", Text, &["by", "error"]),
    ("runs", Own, &["status"]),
    ("segments", Name, &["stream"]),
    ("session_links", Name, &["value"]),
    ("session_links", Own, &["field"]),
    ("sessions", Name, &["conversation_id", "cwd", "worktree"]),
    ("sessions", Text, &["quarantined"]),
    ("sessions", Kept, &["agent"]),
    ("sessions", Own, &["mode", "origin", "parent_relation"]),
    ("statements", Text, &["by", "source"]),
    ("statements", Json, &["body"]),
    ("statements", Own, &["kind", "commit"]),
    ("summaries", Text, &["title"]),
    ("summaries", Json, &["models"]),
    ("summaries", Own, &["state"]),
    ("tallies", Own, &["name"]),
    ("telemetry_counts", Own, &["name"]),
    ("telemetry_inbox", Own, &["signal"]),
    ("tick_totals", Kept, &["heartbeat"]),
    ("tick_totals", Own, &["outcome", "reason"]),
    ("ticks", Kept, &["heartbeat"]),
    ("ticks", Name, &["context"]),
    ("ticks", Text, &["by", "owed", "reason"]),
    ("ticks", Json, &["target"]),
    ("ticks", Own, &["cause", "outcome"]),
    ("tokens", Text, &["name", "by"]),
    // It has the names of repositories that the token is limited to.
    ("tokens", Kept, &["scope"]),
    ("tokens", Own, &["digest"]),
    ("transcripts", Name, &["stream", "path", "file"]),
    ("transcripts", Kept, &["agent", "subagent", "turn"]),
    ("transcripts", Own, &["tail"]),
    ("turns", Name, &["native"]),
    ("unassigned", Text, &["name"]),
    ("unassigned", Kept, &["agent"]),
    ("unassigned", Own, &["signal", "reason"]),
    ("usage_quarters", Text, &["model", "branch"]),
    ("usage_quarters", Json, &["left_out"]),
    ("usages", Text, &["model", "branch"]),
    ("usages", Kept, &["event", "request", "subagent"]),
    ("usages", Json, &["left_out"]),
    ("usages", Own, &["source"]),
    ("verified", Own, &["state", "digest"]),
    ("worktrees", Name, &["path"]),
    ("worktrees", Own, &["swept_head"]),
];

impl TextColumn {
    /// All of them, with their forms. Names come first, since JSON speaks of what they name.
    #[must_use]
    pub fn all() -> Vec<(Self, TextForm)> {
        let columns = COLUMNS.iter().flat_map(|(table, form, columns)| {
            let one = move |column: &&'static str| (Self { table, column }, *form);
            columns.iter().map(one)
        });
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by_key(|(column, form)| (*form != Name, *column));
        columns
    }

    /// Whether what is read from here can be read if this stands there.
    #[must_use]
    pub fn can_hold(self, text: &str) -> bool {
        fn reads<T: serde::de::DeserializeOwned>(text: &str) -> bool {
            serde_json::from_str::<T>(text).is_ok()
        }
        match (self.table, self.column) {
            ("commits", "facts") => reads::<CommitFacts>(text),
            ("commits", "judgement") => reads::<Judgement>(text),
            ("intents", "scene") => reads::<Scene>(text),
            ("processes", "identity") => reads::<ProcessIdentity>(text),
            ("processes", "carried") => reads::<Vec<AgentVariable>>(text),
            ("statements", "body") => reads::<Statement>(text),
            ("pipeline_events", "body") => reads::<What>(text),
            _ => reads::<serde_json::Value>(text),
        }
    }
}
