//! What the result of a call shows beyond its having come: the change of a file, the name of a
//! commit.
//!
//! A result belongs to whoever made the call. Where the call was read, its line told whose it is,
//! and nothing is held back. Where a reader began behind the call, a result in what may be copied
//! history waits for the next line of the assistant: told if that is a copy as well, else dropped.
//! Commits need the command, so there they are not told.

use std::borrow::Cow;

use siglum_domain::observation::{Fact, Outcome};

use super::calls::{Call, Owner, Purpose};
use super::facts::Seen;
use super::{Reader, edits};
use crate::claude_code::passage::content_text;
use crate::claude_code::wire::{Block, Line, Message, ShellResponse};
use crate::mentions::{CommitOutput, mentioned};
use crate::transcript::{CommitMention, ReadLine, TranscriptEdit};

/// Most bytes of edits that are held back.
const HELD_LIMIT: usize = 32 << 20;

/// Edits of which it is not known yet whose they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    edits: Vec<TranscriptEdit>,
    bytes: usize,
}

impl Held {
    fn keep(&mut self, edit: TranscriptEdit) {
        let bytes = edit.after.len() + edit.before.as_ref().map_or(0, Vec::len);
        if self.bytes + bytes <= HELD_LIMIT {
            self.bytes += bytes;
            self.edits.push(edit);
        }
    }
}

impl Reader {
    /// Reads what the one result in a line shows.
    pub(super) fn outcome(
        &mut self,
        owner: &Owner,
        line: &Line<'_>,
        seen: &[Seen],
        out: &mut ReadLine<'_>,
    ) {
        let mut calls = Vec::new();
        for seen in seen {
            if let Fact::ToolEnded { outcome, .. } = seen.fact {
                calls.push((seen.event.as_str(), outcome, self.calls.end(&seen.event)));
            }
        }
        let [(event, outcome, call)] = calls.as_slice() else {
            return;
        };
        let purpose = call.as_ref().map(|call| call.purpose);
        match (purpose, call) {
            (Some(Purpose::Commit(kind)), Some(call)) => {
                out.commits = self.commits(line, call, kind);
            }
            (Some(Purpose::Other), _) => {}
            _ if *outcome == Outcome::Ok => {
                let of = call.as_ref().map_or(owner, |call| &call.owner);
                let edit = self.edit(of, line, event);
                if call.is_some() || self.own {
                    out.edits.extend(edit);
                } else if let Some(edit) = edit {
                    self.held_edits.keep(edit);
                }
            }
            _ => {}
        }
    }

    fn edit(&self, owner: &Owner, line: &Line<'_>, event: &str) -> Option<TranscriptEdit> {
        let change = edits::change(line.result)?;
        Some(TranscriptEdit {
            owner: owner.id.clone(),
            copied: owner.copied,
            event: event.to_owned(),
            path: change.path,
            before: change.before,
            after: change.after,
            at: self.last_at,
            turn: self.turn_of(owner),
            subagent: self.subagent_of(line),
        })
    }

    fn commits(&self, line: &Line<'_>, call: &Call, kind: CommitOutput) -> Vec<CommitMention> {
        let output = output(line).unwrap_or_default();
        let mention = |id: &str| CommitMention {
            owner: call.owner.id.clone(),
            copied: call.owner.copied,
            event: call.event.clone(),
            abbreviated: id.to_owned(),
            started: call.at,
            ended: self.last_at,
        };
        mentioned(&output, kind).into_iter().map(mention).collect()
    }

    /// Gives held edits to the session that the next line of the assistant is a copy of. If it is
    /// no copy, the edits may still be.
    pub(super) fn release_edits(&mut self, owner: &Owner) -> Vec<TranscriptEdit> {
        let held = std::mem::take(&mut self.held_edits).edits;
        if !owner.copied {
            return Vec::new();
        }
        let give = |mut edit: TranscriptEdit| {
            edit.owner = owner.id.clone();
            edit.copied = true;
            edit.turn = None;
            edit
        };
        held.into_iter().map(give).collect()
    }
}

/// What a command printed: by itself, else as the model was told.
fn output<'a>(line: &Line<'a>) -> Option<Cow<'a, str>> {
    let response: ShellResponse<'_> = line.result.object();
    response.stdout.text().or_else(|| {
        let message: Message<'_> = line.message.object();
        let blocks = message.content.items().into_iter();
        let mut texts = blocks.filter_map(|block| {
            let block: Block<'_> = block.object();
            block.tool_use_id.raw().and(content_text(block.content))
        });
        texts.next().map(Cow::Owned)
    })
}
