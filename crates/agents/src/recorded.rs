//! Recordings of agents, for the tests of all of them.

use std::path::Path;

use serde_json::Value;
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use crate::hook::HookCall;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit, TranscriptReader};

/// A hook's call with a payload, for an agent whose own directory has this name in a home.
pub(crate) fn call<'a>(payload: &'a [u8], agent_dir: &'a str) -> HookCall<'a> {
    HookCall {
        payload,
        redactor: Redactor::shared(),
        digest_key: &[7; 32],
        now: Timestamp::from_seconds(1_795_222_294),
        delivery: "d1",
        agent_dir: Path::new(agent_dir),
        worktree: Some(Path::new("/repo")),
    }
}

/// The payloads of recorded hook calls, a line each.
pub(crate) fn payloads(hooks: &str) -> Vec<Value> {
    let lines = hooks
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let payload = |line: Value| {
        let mut payload = line["stdin"].clone();
        // As it was recorded, whatever the tests were built with.
        payload.sort_all_objects();
        payload
    };
    lines.map(payload).collect()
}

pub(crate) fn native(id: &str) -> NativeId {
    NativeId::new(id).expect("a native id")
}

/// All that a transcript tells.
#[derive(Debug, Default)]
pub(crate) struct TranscriptContent {
    /// What was seen, what is held back at the end included.
    pub(crate) seen: Vec<Sighting>,
    pub(crate) edits: Vec<TranscriptEdit>,
    pub(crate) commits: Vec<CommitMention>,
}

/// Reads a transcript to its end.
pub(crate) fn read(text: &str, reader: &mut dyn TranscriptReader) -> TranscriptContent {
    let (mut offset, mut content) = (0, TranscriptContent::default());
    for line in text.split_inclusive('\n') {
        let read = reader.line(offset, line, Redactor::shared());
        content.seen.extend(read.sightings);
        content.edits.extend(read.edits);
        content.commits.extend(read.commits);
        offset += line.len() as u64;
    }
    content.seen.extend(reader.finish());
    content
}
