//! What this ledger knows of commits, as a document for whoever asks from another machine: the answer of `siglum why`,
//! without git.
//!
//! A gateway writes it ([`answers`]), and a laptop or a pipeline reads it ([`CommitAnswers::read`]). Both remove secrets.
//! A reader takes a response as a whole or not at all, and what git says of a commit it takes from its own git.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{Attestation, Judgement, Verdict};
use siglum_domain::link::Link;
use siglum_domain::provenance::{self, Span};
use siglum_domain::redact::Redactor;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, NativeId, Oid, RepositoryId, SessionId,
    Timestamp,
};
use siglum_ledger::{
    CommitRecord, FileAuthors, Forgotten, LedgerError, Mode, SeenBy, SessionOrigin, SessionRecord,
    Transaction,
};

use crate::commits::author_prompts::{AuthorPrompt, LoggedEdits};
use crate::commits::cards::SessionCard;
use crate::commits::origins::Origin;
use crate::commits::prompts::Prompt;
use crate::commits::shown::Shown;
use crate::commits::why::{self, Claim, Why};

/// The most commits of one request.
pub const COMMITS_MOST: usize = 500;
/// The most checkpoints of one request.
pub const CHECKPOINTS_MOST: usize = 1_000;
/// A response that is so large, in bytes of JSON, gets no further answers.
const RESPONSE_FULL: usize = 2 << 20;
/// The largest answer, in bytes of JSON.
const ANSWER_MOST: usize = 1 << 20;
/// What is told of a prompt, in characters.
const PROMPT_MOST: usize = 8_000;
/// The most commits that are told of one checkpoint.
const NAMED_MOST: usize = 100;

/// Why a response is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the answers are malformed: {0}")]
    Malformed(String),
    #[error("an answer is about commit {0}, which is not in the request")]
    Stranger(Oid),
    #[error("the answer about commit {commit} is invalid: {rule}")]
    Invalid { commit: Oid, rule: &'static str },
}

/// Asks a gateway about commits that nobody is known here to have made.
pub type Asker<'a> = &'a mut dyn FnMut(&[Oid]) -> BTreeMap<Oid, CommitAnswer>;

/// What is known of some commits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitAnswers {
    /// Those that are recorded.
    pub items: Vec<CommitAnswer>,
    /// Those checkpoints of the request that are recorded.
    pub checkpoints: Vec<NamedCheckpoint>,
    /// Commits of the request that had no room, and were not looked at.
    pub left_off: Vec<Oid>,
}

/// A checkpoint that a message names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCheckpoint {
    pub id: CheckpointId,
    /// The commits that it is, newest first.
    pub commits: Vec<Oid>,
}

/// What is known of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitAnswer {
    pub commit: Oid,
    /// The repository that it is recorded for.
    pub repository: RepositoryId,
    pub checkpoint: Option<CheckpointId>,
    /// How it was noticed.
    pub seen_by: Option<SeenBy>,
    /// Who made it.
    pub judgement: Judgement,
    /// What a person says, beside the evidence.
    pub claim: Option<Claim>,
    /// What trusted platforms state, as the evidence has it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attestations: Vec<Attestation>,
    /// Who wrote its lines; empty where that would be too much.
    pub files: Vec<AuthoredFile>,
    /// What led to it, the beginning of a long one.
    pub prompt: Option<Prompt>,
    /// What led to the lines of its authors, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub author_prompts: Vec<AuthorPrompt>,
    pub rewritten_from: Vec<Oid>,
    /// The same, and those that they were rewritten from, each with who made it.
    pub origins: Vec<Origin>,
    /// Commits that make the same change.
    pub same_patch: Vec<Oid>,
    /// All sessions that the answer names.
    pub sessions: Vec<NamedSession>,
}

/// Lines of one file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthoredFile {
    /// The path after the commit.
    pub path: String,
    pub spans: Vec<Span>,
}

/// A session as an answer shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSession {
    pub id: SessionId,
    /// The product; `unknown` where nobody named it, as programs of every version read it.
    pub agent: AgentName,
    pub conversation_id: ConversationId,
    /// The ledger that alone extends its chain.
    pub home: LedgerId,
    pub mode: Mode,
    pub origin: SessionOrigin,
    pub created_at: Timestamp,
    /// When anything was last heard of it.
    pub last_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// The agent's ids for it, oldest first.
    pub native_ids: Vec<NativeId>,
    /// The first line of its first prompt.
    pub title: Option<String>,
    pub links: Vec<Link>,
    /// When something of it was erased last.
    pub forgotten_at: Option<Timestamp>,
    /// Whether that was all of it.
    pub forgotten_whole: bool,
}

/// What is known of these commits and checkpoints, in any repository, or in those of `within` only.
///
/// # Errors
/// Those of the ledger.
pub fn answers(
    redactor: &Redactor,
    tx: &mut dyn Transaction,
    commits: &[Oid],
    checkpoints: &[CheckpointId],
    within: Option<&[RepositoryId]>,
) -> Result<CommitAnswers, LedgerError> {
    let mut response = CommitAnswers::default();
    for id in checkpoints.iter().copied().collect::<BTreeSet<_>>() {
        response
            .checkpoints
            .extend(named_checkpoint(tx, id, within)?);
    }
    let (mut bytes, mut edits) = (0, LoggedEdits::default());
    let mut shown = Shown::new(within);
    for commit in commits.iter().collect::<BTreeSet<_>>() {
        if bytes >= RESPONSE_FULL {
            response.left_off.push(commit.clone());
            continue;
        }
        let Some(why) = why::recorded_anywhere(tx, commit, &mut shown)? else {
            continue;
        };
        let mut author_prompts = edits.prompts(tx, &why)?;
        author_prompts.retain(|author| why.sessions.contains_key(&author.prompt.session));
        let mut answer = CommitAnswer::from_why(why, author_prompts);
        answer.redact(redactor);
        if let Some((answer, size)) = answer.bounded() {
            bytes += size;
            response.items.push(answer);
        }
    }
    Ok(response)
}

fn named_checkpoint(
    tx: &mut dyn Transaction,
    id: CheckpointId,
    within: Option<&[RepositoryId]>,
) -> Result<Option<NamedCheckpoint>, LedgerError> {
    let Some(record) = tx.checkpoint(id)? else {
        return Ok(None);
    };
    let is_outside = |ids: &[RepositoryId]| record.repository.is_none_or(|r| !ids.contains(&r));
    if within.is_some_and(is_outside) {
        return Ok(None);
    }
    let is_inside = |c: &CommitRecord| within.is_none_or(|ids| ids.contains(&c.repository));
    let known = tx.commits_of_checkpoint(id)?.into_iter().filter(is_inside);
    let mut commits: Vec<Oid> = known.map(|c| c.commit).take(NAMED_MOST).collect();
    if let Some(own) = record.commit
        && !commits.contains(&own)
    {
        commits.push(own);
    }
    Ok(Some(NamedCheckpoint { id, commits }))
}

impl CommitAnswers {
    /// Reads a response to a request for these commits, all of it or nothing.
    ///
    /// # Errors
    /// [`AnswerError`]: which rule it breaks.
    pub fn read(
        redactor: &Redactor,
        response: Value,
        requested: &BTreeSet<Oid>,
    ) -> Result<Self, AnswerError> {
        let read = serde_json::from_value::<Self>(response);
        let mut answers = read.map_err(|e| AnswerError::Malformed(e.to_string()))?;
        let named = answers.items.iter().map(|answer| &answer.commit);
        let mut named = named.chain(&answers.left_off);
        if let Some(stranger) = named.find(|commit| !requested.contains(*commit)) {
            return Err(AnswerError::Stranger(stranger.clone()));
        }
        for answer in &mut answers.items {
            if let Some(rule) = answer.broken_rule() {
                return Err(AnswerError::Invalid {
                    commit: answer.commit.clone(),
                    rule,
                });
            }
            answer.redact(redactor);
        }
        Ok(answers)
    }
}

impl CommitAnswer {
    fn from_why(why: Why, author_prompts: Vec<AuthorPrompt>) -> Self {
        let files = why.authors.into_iter().flat_map(|author| author.files);
        let mut answer = Self {
            commit: why.facts.commit,
            repository: why.repository,
            checkpoint: why.checkpoint,
            seen_by: why.seen_by,
            judgement: why.judgement,
            claim: why.claim,
            attestations: why.attestations,
            files: files
                .map(|(path, spans)| AuthoredFile { path, spans })
                .collect(),
            prompt: why.prompt,
            author_prompts,
            rewritten_from: why.rewritten_from,
            origins: why.origins,
            same_patch: why.same_patch,
            sessions: why
                .sessions
                .into_values()
                .map(NamedSession::from_card)
                .collect(),
        };
        answer.prompts().for_each(shorten);
        answer
    }

    fn prompts(&mut self) -> impl Iterator<Item = &mut Prompt> {
        let origins = self.origins.iter_mut().filter_map(|o| o.prompt.as_mut());
        let authors = self.author_prompts.iter_mut().map(|a| &mut a.prompt);
        self.prompt.iter_mut().chain(origins).chain(authors)
    }

    /// The sessions of which a prompt is in it.
    pub fn prompted(&self) -> impl Iterator<Item = SessionId> {
        let origins = self.origins.iter().filter_map(|o| o.prompt.as_ref());
        let authors = self.author_prompts.iter().map(|a| &a.prompt);
        let prompts = self.prompt.iter().chain(origins).chain(authors);
        prompts.map(|prompt| prompt.session)
    }

    /// The answer with its size in bytes of JSON. One that is too large goes without lines and further prompts; one that
    /// still is does not go.
    fn bounded(mut self) -> Option<(Self, usize)> {
        let size = |a: &Self| serde_json::to_vec(a).map_or(usize::MAX, |json| json.len());
        let mut bytes = size(&self);
        if bytes > ANSWER_MOST {
            self.files.clear();
            self.author_prompts.clear();
            self.origins.iter_mut().for_each(|o| o.prompt = None);
            bytes = size(&self);
        }
        (bytes <= ANSWER_MOST).then_some((self, bytes))
    }

    /// Removes secrets from all that is text.
    fn redact(&mut self, redactor: &Redactor) {
        let redact = |text: &mut String| {
            if let Cow::Owned(clean) = redactor.redact_cow(text) {
                *text = clean;
            }
        };
        self.prompts().for_each(|prompt| redact(&mut prompt.text));
        self.claim.iter_mut().for_each(|c| redact(&mut c.by));
        let attestations = self.attestations.iter_mut();
        attestations.for_each(|a| redact(&mut a.name));
        self.files.iter_mut().for_each(|f| redact(&mut f.path));
        let paths = self.author_prompts.iter_mut().flat_map(|a| &mut a.paths);
        paths.for_each(redact);
        for session in &mut self.sessions {
            session.title.iter_mut().for_each(redact);
        }
        for origin in &mut self.origins {
            origin.subject.iter_mut().for_each(redact);
        }
        let origins = self.origins.iter_mut().map(|o| &mut o.judgement);
        for judgement in origins.chain([&mut self.judgement]) {
            for evidence in &mut judgement.evidence {
                redact(&mut evidence.text);
            }
        }
    }

    /// The rule that it breaks, of those that its form does not state.
    fn broken_rule(&self) -> Option<&'static str> {
        let is_line = |s: &Span| (1..=s.last).contains(&s.first) && s.last < u32::MAX;
        if !self.files.iter().flat_map(|f| &f.spans).all(is_line) {
            return Some("its lines are invalid");
        }
        let mut links = self.sessions.iter().flat_map(|s| &s.links);
        if !links.all(|link| link.check().is_ok()) {
            return Some("a link in it is invalid");
        }
        None
    }

    /// Whether it says anything where this ledger has this verdict, with or without a person's word, and saw sessions
    /// write lines or not. What is known here stands.
    #[must_use]
    pub fn adds_to(&self, verdict: Verdict, has_claim: bool, has_authors: bool) -> bool {
        if verdict != Verdict::Unknown || has_claim {
            return false;
        }
        let is_sessions = |s: &Span| matches!(s.origin, provenance::Origin::Session(_));
        let mut spans = self.files.iter().flat_map(|f| &f.spans);
        self.judgement.verdict != Verdict::Unknown
            || self.claim.is_some()
            || !has_authors && spans.any(is_sessions)
    }

    /// Who wrote its lines, in the form of the ledger.
    #[must_use]
    pub fn authors(&self) -> Vec<FileAuthors> {
        let file = |f: &AuthoredFile| FileAuthors {
            path: f.path.clone(),
            spans: f.spans.clone(),
        };
        self.files.iter().map(file).collect()
    }

    /// The sessions that it names.
    #[must_use]
    pub fn cards(&self) -> BTreeMap<SessionId, SessionCard> {
        let cards = self.sessions.iter().map(|s| (s.id, s.card()));
        cards.collect()
    }

    /// The answer, with what git says of the commit here.
    #[must_use]
    pub fn into_why(self, facts: CommitFacts) -> Why {
        Why {
            authors: why::authors_of(&self.authors()),
            sessions: self.cards(),
            facts,
            repository: self.repository,
            checkpoint: self.checkpoint,
            seen_by: self.seen_by,
            judgement: self.judgement,
            claim: self.claim,
            attestations: self.attestations,
            prompt: self.prompt,
            rewritten_from: self.rewritten_from,
            origins: self.origins,
            same_patch: self.same_patch,
        }
    }
}

/// Leaves the beginning of a prompt.
fn shorten(prompt: &mut Prompt) {
    if let Some((end, _)) = prompt.text.char_indices().nth(PROMPT_MOST) {
        prompt.text.truncate(end);
        prompt.text.push('…');
    }
}

impl NamedSession {
    fn from_card(card: SessionCard) -> Self {
        let record = card.record;
        Self {
            id: record.id,
            agent: record.agent_key(),
            conversation_id: record.conversation,
            home: record.home,
            mode: record.mode,
            origin: record.origin,
            created_at: record.created_at,
            last_at: record.last_at,
            ended_at: record.ended_at,
            native_ids: card.natives,
            title: card.title,
            links: card.links,
            forgotten_at: record.forgotten.map(Forgotten::at),
            forgotten_whole: matches!(record.forgotten, Some(Forgotten::Whole { .. })),
        }
    }

    /// The session as an answer shows it. It cannot be resumed here: its conversation is on another machine.
    fn card(&self) -> SessionCard {
        let forgotten = self.forgotten_at.map(|at| match self.forgotten_whole {
            true => Forgotten::Whole { at },
            false => Forgotten::Parts { at },
        });
        SessionCard {
            record: SessionRecord {
                last_at: self.last_at,
                ended_at: self.ended_at,
                forgotten,
                ..SessionRecord::new(
                    self.id,
                    self.agent.clone(),
                    self.conversation_id.clone(),
                    self.home,
                    self.mode,
                    self.origin,
                    self.created_at,
                )
            },
            natives: self.native_ids.clone(),
            title: self.title.clone(),
            links: self.links.clone(),
            resume: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SESSION: &str = "ses_01920000000070008000000000000001";

    fn oid(letter: &str) -> Oid {
        Oid::new(letter.repeat(40)).unwrap()
    }

    /// An answer about commit `aaaa…` with one member in place of what stands there.
    fn answer(member: &str, value: Value) -> Value {
        let mut answer = json!({
            "commit": oid("a"),
            "repository": "rep_01920000000070008000000000000001",
            "checkpoint": null,
            "seen_by": "hook",
            "judgement": { "rules": 4, "committer": { "kind": "unknown" }, "verdict": "unknown",
                "evidence": [], "candidates": [], "outer": [] },
            "claim": null,
            "files": [],
            "prompt": null,
            "rewritten_from": [],
            "origins": [],
            "same_patch": [],
            "sessions": [],
        });
        answer[member] = value;
        answer
    }

    fn read(item: &Value) -> Result<CommitAnswer, AnswerError> {
        let response = json!({ "items": [item], "checkpoints": [], "left_off": [] });
        let requested = BTreeSet::from([oid("a"), oid("b")]);
        let answers = CommitAnswers::read(Redactor::shared(), response, &requested)?;
        Ok(answers.items.into_iter().next().unwrap())
    }

    fn spans(first: u32, last: u32) -> Value {
        let origin = json!({ "session": SESSION });
        json!([{ "path": "a", "spans": [{ "first": first, "last": last, "origin": origin }] }])
    }

    #[test]
    fn an_answer_that_breaks_a_rule_is_refused() {
        assert!(read(&answer("files", spans(1, 2))).is_ok());
        for (first, last) in [(0, 2), (2, 1), (1, u32::MAX)] {
            let refused = read(&answer("files", spans(first, last)));
            assert!(
                matches!(refused, Err(AnswerError::Invalid { .. })),
                "{first}-{last}: {refused:?}"
            );
        }
        let stranger = read(&answer("commit", json!(oid("c"))));
        assert_eq!(stranger, Err(AnswerError::Stranger(oid("c"))));
        for malformed in [json!(7), json!("../../etc/passwd"), json!("ses_1")] {
            let refused = read(&answer("commit", malformed));
            assert!(matches!(refused, Err(AnswerError::Malformed(_))));
        }
    }

    #[test]
    fn what_is_known_here_stands() {
        let unknown = read(&answer("claim", Value::Null)).unwrap();
        assert!(!unknown.adds_to(Verdict::Unknown, false, false));
        let human = json!({ "rules": 4, "committer": { "kind": "human" }, "verdict": "certain",
            "evidence": [], "candidates": [], "outer": [] });
        let human = read(&answer("judgement", human)).unwrap();
        assert!(human.adds_to(Verdict::Unknown, false, true));
        assert!(!human.adds_to(Verdict::Unknown, true, false));
        assert!(!human.adds_to(Verdict::Ambiguous, false, false));
        let written = read(&answer("files", spans(1, 2))).unwrap();
        assert!(written.adds_to(Verdict::Unknown, false, false));
        assert!(!written.adds_to(Verdict::Unknown, false, true));
    }

    #[test]
    fn an_answer_that_is_too_large_goes_without_lines() {
        let small = read(&answer("files", spans(1, 2))).unwrap();
        assert_eq!(small.clone().bounded().unwrap().0, small);
        let mut large = small.clone();
        large.files[0].path = "x".repeat(ANSWER_MOST);
        let (bounded, bytes) = large.bounded().unwrap();
        assert!(bounded.files.is_empty() && bytes <= ANSWER_MOST);
        let mut larger = small;
        larger.judgement.rule = "x".repeat(ANSWER_MOST);
        assert!(larger.bounded().is_none());
    }

    #[test]
    fn a_prompt_is_shortened_between_characters() {
        let mut prompt = Prompt {
            session: SESSION.parse().unwrap(),
            turn: "trn_01920000000070008000000000000001".parse().unwrap(),
            text: "ä".repeat(PROMPT_MOST + 1),
        };
        shorten(&mut prompt);
        assert_eq!(prompt.text, "ä".repeat(PROMPT_MOST) + "…");
        let mut short = Prompt {
            text: "ä".repeat(PROMPT_MOST),
            ..prompt
        };
        shorten(&mut short);
        assert_eq!(short.text, "ä".repeat(PROMPT_MOST));
    }
}
