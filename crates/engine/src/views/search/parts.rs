//! The parts of a session as the index has them: its turns, each in parts of some steps, and what is known beside them.
//!
//! What a part is made of is known before its texts are read, so that those of parts that did not change are not read at
//! all. It depends on the ledger alone, and not on when it is read.

use std::borrow::Cow;

use serde_json::Value;
use siglum_domain::digest::Hasher;
use siglum_domain::fold::{self, MessageView, ToolCall, TurnView};
use siglum_domain::observation::{Body, Outcome, Role};
use siglum_domain::search::{Piece, PieceKind, TurnText};
use siglum_domain::{NativeId, RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{CommitRecord, Forgotten, LedgerError, PartKey, SessionRecord, Transaction};

use crate::damage::{self, undamaged};
use crate::identity::statements::links;
use crate::record::passages::Passages;
use crate::views::history::turn_of_commit;

/// Messages and calls of one part.
const STEPS: usize = 24;
/// How much text they have at most, in bytes: a part is in memory as a whole, and what has much more has more words than
/// a `tsvector` holds.
const PART_MOST: usize = STEPS * (16 << 10);
/// How many of a session's newest commits are in the index.
const COMMITS: usize = 10_000;
/// How many of them are in one part; others of its turn are in parts of their own, from this number on.
const COMMITS_OF_PART: usize = 32;
const MORE_COMMITS: u64 = 1 << 32;

/// A part of a session, before its texts are read.
pub(super) struct Draft {
    pub(super) key: PartKey,
    /// The number of the turn, from 1; 0 for what is outside of all turns.
    pub(super) number: u64,
    pub(super) began: Timestamp,
    pieces: Vec<DraftPiece>,
}

/// A text that is to be read.
struct DraftPiece {
    /// What is known of it; where the text is in a body, without text.
    piece: Piece,
    body: Option<Body>,
}

/// A session, before its texts are read.
#[derive(Default)]
pub(super) struct Drafts {
    pub(super) agent: String,
    pub(super) repositories: Vec<RepositoryId>,
    pub(super) parts: Vec<Draft>,
    /// When something of it was last erased: then a text may be another one where nothing else tells so.
    pub(super) erased: Option<Timestamp>,
}

/// What is in the index of a session; without parts where there is no such session.
pub(super) fn drafts(
    tx: &mut dyn Transaction,
    session: SessionId,
    repositories: Vec<RepositoryId>,
) -> Result<Drafts, LedgerError> {
    let Some(record) = tx.session(session)? else {
        return Ok(Drafts::default());
    };
    let entries = damage::readable(tx, session)?;
    let views = fold::session(&entries).turns;
    let commits = undamaged(tx.commits_of_session(session, COMMITS))?.unwrap_or_default();
    let mut parts = turns(&record, &views, &commits);
    let unplaced: Vec<&CommitRecord> = match views.is_empty() {
        true => commits.iter().collect(),
        false => Vec::new(),
    };
    let (first, more) = unplaced.split_at(unplaced.len().min(COMMITS_OF_PART));
    parts.push(Draft {
        key: (None, 0),
        number: 0,
        began: record.created_at,
        pieces: known(tx, &record, first)?,
    });
    parts.extend(more_commits((None, 0, record.created_at), more));
    Ok(Drafts {
        agent: record.agent_word().to_owned(),
        repositories,
        parts,
        erased: record.forgotten.map(Forgotten::at),
    })
}

/// The parts of all turns.
fn turns(record: &SessionRecord, views: &[TurnView], commits: &[CommitRecord]) -> Vec<Draft> {
    let outside = views.iter().filter(|view| view.id.is_none()).count();
    let all: Vec<&TurnView> = views.iter().collect();
    let mut made: Vec<Vec<&CommitRecord>> = vec![Vec::new(); views.len()];
    for commit in commits {
        if let Some(of_turn) = turn_of_commit(&all, commit).and_then(|at| made.get_mut(at)) {
            of_turn.push(commit);
        }
    }
    let mut parts = Vec::new();
    for (at, (view, commits)) in views.iter().zip(made).enumerate() {
        let began = view.opened.unwrap_or(record.created_at);
        let number = (at + 1).saturating_sub(outside) as u64;
        let (first, more) = commits.split_at(commits.len().min(COMMITS_OF_PART));
        let mut pieces: Vec<DraftPiece> = prompt(view, began).into_iter().collect();
        pieces.extend(first.iter().copied().map(commit_piece));
        let mut chunks = in_parts(&steps(view, began));
        // Prompt and commits stand before the first steps.
        match chunks.first_mut() {
            Some(first) => drop(first.splice(0..0, pieces)),
            None => chunks.push(pieces),
        }
        // What is outside of all turns is behind what is known of the session.
        let from = u64::from(view.id.is_none());
        let chunks = chunks.into_iter().filter(|pieces| !pieces.is_empty());
        parts.extend((from..).zip(chunks).map(|(nth, pieces)| Draft {
            key: (view.id, nth),
            number,
            began,
            pieces,
        }));
        parts.extend(more_commits((view.id, number, began), more));
    }
    parts
}

/// The pieces of steps in parts.
fn in_parts(steps: &[Step<'_>]) -> Vec<Vec<DraftPiece>> {
    let mut parts: Vec<Vec<DraftPiece>> = Vec::new();
    for chunk in steps.chunks(STEPS) {
        let mut part = Vec::new();
        let mut room = PART_MOST;
        for draft in chunk.iter().flat_map(Step::pieces) {
            let (start, end) = draft.piece.kind.bounds();
            let most = match draft.body {
                Some(_) => start + end,
                None => draft.piece.text.len(),
            };
            if room < most {
                parts.push(std::mem::take(&mut part));
                room = PART_MOST;
            }
            room = room.saturating_sub(most);
            part.push(draft);
        }
        parts.push(part);
    }
    parts
}

/// Parts of commits that have no room in the first part of a turn, which is given with its number and when it began.
fn more_commits(
    (turn, number, began): (Option<TurnId>, u64, Timestamp),
    commits: &[&CommitRecord],
) -> Vec<Draft> {
    let chunks = commits.chunks(COMMITS_OF_PART).zip(MORE_COMMITS..);
    chunks
        .map(|(chunk, nth)| Draft {
            key: (turn, nth),
            number,
            began,
            pieces: chunk.iter().copied().map(commit_piece).collect(),
        })
        .collect()
}

fn prompt(view: &TurnView, began: Timestamp) -> Option<DraftPiece> {
    let kind = match view.synthetic {
        true => PieceKind::Answer,
        false => PieceKind::Prompt,
    };
    DraftPiece::of_body(kind, view.prompt.as_ref()?, began)
}

/// A message, or a call with what it returned.
enum Step<'a> {
    Message(&'a MessageView),
    Call(&'a ToolCall, Timestamp),
    /// The last words of a turn of which no message was seen.
    LastWords(&'a Body, Timestamp),
}

/// The steps of a turn in order.
fn steps(view: &TurnView, began: Timestamp) -> Vec<Step<'_>> {
    let at = |call: &ToolCall| call.started.or(call.ended).unwrap_or(began);
    let messages = view.messages.iter().map(|m| (m.at, Step::Message(m)));
    let calls = view
        .tools
        .iter()
        .map(|call| (at(call), Step::Call(call, at(call))));
    let mut steps: Vec<(Timestamp, Step<'_>)> = messages.chain(calls).collect();
    steps.sort_by_key(|(at, _)| *at);
    let is_answer = |m: &MessageView| m.role == Role::Assistant && m.subagent.is_none();
    let has_answer = view.messages.iter().any(is_answer);
    let last = view.last_message.as_ref().filter(|_| !has_answer);
    let end = view.stopped.unwrap_or(began);
    steps.extend(last.map(|body| (end, Step::LastWords(body, end))));
    steps.into_iter().map(|(_, step)| step).collect()
}

impl Step<'_> {
    fn pieces(&self) -> Vec<DraftPiece> {
        match self {
            Self::Message(message) => {
                let kind = match message.role {
                    Role::User => PieceKind::Prompt,
                    Role::Assistant => PieceKind::Answer,
                };
                let parts = message.parts.iter();
                let pieces = parts.map(|body| DraftPiece::of_body(kind, body, message.at));
                pieces.flatten().collect()
            }
            Self::Call(call, at) => call_pieces(call, *at),
            Self::LastWords(body, at) => {
                let piece = DraftPiece::of_body(PieceKind::Answer, body, *at);
                piece.into_iter().collect()
            }
        }
    }
}

/// What a call was given, what it returned, and the files that it named or changed.
fn call_pieces(call: &ToolCall, at: Timestamp) -> Vec<DraftPiece> {
    let failed = matches!(call.outcome, Some(Outcome::Failed));
    let of_tool = |mut draft: DraftPiece, failed: bool| {
        draft.piece.tool = Some(call.tool.clone());
        draft.piece.failed = failed;
        draft
    };
    let mut pieces = Vec::new();
    let input = call.input.as_ref();
    let input = input.and_then(|body| DraftPiece::of_body(PieceKind::Call, body, at));
    // Without an input, the tool is found nevertheless.
    let input = input.unwrap_or_else(|| DraftPiece::of_text(PieceKind::Call, &call.tool, at));
    pieces.push(of_tool(input, failed && call.output.is_none()));
    let output = call.output.as_ref();
    let output = output.and_then(|body| DraftPiece::of_body(PieceKind::Result, body, at));
    pieces.extend(output.map(|draft| of_tool(draft, failed)));
    let mut paths: Vec<&str> = call.path.as_deref().into_iter().collect();
    paths.extend(call.edits.iter().map(|edit| edit.path.as_str()));
    paths.sort_unstable();
    paths.dedup();
    let paths = paths.into_iter();
    pieces.extend(paths.map(|path| DraftPiece::of_text(PieceKind::Path, path, at)));
    pieces
}

fn commit_piece(commit: &CommitRecord) -> DraftPiece {
    let subject = commit.facts.as_ref().map_or("", |f| f.subject.as_str());
    let text = format!("{} {subject}", commit.commit);
    let mut draft = DraftPiece::of_text(PieceKind::Commit, text.trim_end(), commit.at);
    draft.piece.repository = Some(commit.repository);
    draft
}

/// What is known of a session beside its log.
fn known(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    commits: &[&CommitRecord],
) -> Result<Vec<DraftPiece>, LedgerError> {
    let at = record.created_at;
    let of = |kind: PieceKind, text: &str| DraftPiece::of_text(kind, text, at);
    let mut pieces = vec![
        // People see the last digits of an id.
        of(
            PieceKind::Name,
            &format!("{} {}", record.id, record.id.short()),
        ),
        of(PieceKind::Name, record.conversation.as_str()),
        of(PieceKind::Name, record.agent_word()),
    ];
    let natives = tx.aliases(record.id)?;
    let natives = natives.iter().map(NativeId::as_str);
    pieces.extend(natives.map(|native| of(PieceKind::Name, native)));
    let statements = undamaged(tx.statements_of_session(record.id))?.unwrap_or_default();
    let links = links(&statements);
    pieces.extend(
        links
            .iter()
            .map(|link| of(PieceKind::Link, &link.to_string())),
    );
    let mut places: Vec<&str> = [record.worktree.as_deref(), record.cwd.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    places.dedup();
    pieces.extend(
        places
            .into_iter()
            .map(|path| of(PieceKind::Directory, path)),
    );
    pieces.extend(commits.iter().copied().map(commit_piece));
    Ok(pieces)
}

impl DraftPiece {
    fn of_text(kind: PieceKind, text: &str, at: Timestamp) -> Self {
        Self {
            piece: Piece::new(kind, text, at),
            body: None,
        }
    }

    /// Nothing where nobody kept the text.
    fn of_body(kind: PieceKind, body: &Body, at: Timestamp) -> Option<Self> {
        let body = match body {
            Body::Text(text) => return Some(Self::of_text(kind, &plain(kind, text.as_str()), at)),
            Body::Withheld { .. } => return None,
            Body::Passage { .. } => body.clone(),
        };
        Some(Self {
            body: Some(body),
            ..Self::of_text(kind, "", at)
        })
    }
}

impl Draft {
    /// The digest of what the part is made of.
    pub(super) fn mark(&self, session: &Drafts) -> [u8; 32] {
        let mut hasher = Hasher::new();
        hasher.field(session.agent.as_bytes());
        for repository in &session.repositories {
            hasher.field(repository.uuid().as_bytes());
        }
        for DraftPiece { piece, body } in &self.pieces {
            hasher.field(piece.kind.word().as_bytes());
            hasher.field(piece.text.as_bytes());
            hasher.field(piece.tool.as_deref().unwrap_or_default().as_bytes());
            hasher.field(&[u8::from(piece.failed)]);
            hasher.field(&piece.at.nanos().to_le_bytes());
            if let Some(repository) = piece.repository {
                hasher.field(repository.uuid().as_bytes());
            }
            if let Some(Body::Passage { stream, offset }) = body {
                hasher.field(stream.as_bytes());
                hasher.field(&offset.to_le_bytes());
            }
        }
        hasher.bytes()
    }

    /// The part with its texts.
    pub(super) fn text(
        &self,
        session: &Drafts,
        passages: &mut Passages<'_>,
    ) -> Result<TurnText, LedgerError> {
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for DraftPiece { piece, body } in &self.pieces {
            let Some(body) = body else {
                pieces.push(piece.clone());
                continue;
            };
            // What is damaged cannot be found; `verify` tells of it.
            let Some(text) = undamaged(passages.text(body))?.flatten() else {
                continue;
            };
            pieces.push(Piece {
                text: Piece::new(piece.kind, &plain(piece.kind, &text), piece.at).text,
                ..piece.clone()
            });
        }
        Ok(TurnText {
            agent: session.agent.clone(),
            repositories: session.repositories.clone(),
            pieces,
        })
    }
}

/// A text as it is read. Of what a tool was given or returned in JSON, the texts in that: what JSON escapes would be parts
/// of other words.
fn plain(kind: PieceKind, text: &str) -> Cow<'_, str> {
    let is_of_tool = matches!(kind, PieceKind::Call | PieceKind::Result);
    if !is_of_tool || !text.starts_with(['{', '[']) {
        return Cow::Borrowed(text);
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        // It was cut, or only looks like it.
        return Cow::Owned(text.replace("\\n", "\n").replace("\\t", "\t"));
    };
    let mut texts = Vec::new();
    texts_in(&value, &mut texts);
    Cow::Owned(texts.join("\n"))
}

/// Adds the texts and numbers in a value, in its order.
fn texts_in(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts_in(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| texts_in(field, texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use siglum_domain::observation::Tokens;

    use super::*;

    #[test]
    fn a_part_has_a_bound_however_much_is_said_in_one_message() {
        let at = Timestamp::default();
        let body = |offset: u64| Body::Passage {
            stream: "s".to_owned(),
            offset,
        };
        let message = MessageView {
            event: "e".to_owned(),
            events: BTreeSet::new(),
            request: None,
            at,
            role: Role::Assistant,
            parts: (0..100).map(body).collect(),
            model: None,
            tokens: Tokens::default(),
            subagent: None,
        };
        let parts = in_parts(&[Step::Message(&message)]);
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(sizes, [24, 24, 24, 24, 4]);
    }

    #[track_caller]
    fn check(kind: PieceKind, text: &str, expected: &str) {
        assert_eq!(plain(kind, text), expected);
    }

    #[test]
    fn what_json_escapes_is_read_as_it_was_said() {
        let json = r#"{"command":"echo \"a\"\nbob","n":[1,{"x":"\u00fc"}]}"#;
        check(PieceKind::Call, json, "echo \"a\"\nbob\n1\nü");
        check(PieceKind::Result, r#"{"cut":"a\nbob"#, "{\"cut\":\"a\nbob");
        check(PieceKind::Result, "no JSON", "no JSON");
        check(PieceKind::Prompt, json, json);
    }
}
