//! What trusted platforms state of a commit, beside what was observed of it.
//!
//! An attestation is no sign: it is in no case, and [`judge`](super::judge) never sees it. It is joined to a judgement
//! when somebody asks, and nothing of that is stored.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Basis, Committer, Evidence, Judgement, Verdict};
use crate::grammar::PlatformName;
use crate::id::{SessionId, TokenId};
use crate::time::Timestamp;

/// The row by which attestations of one session give an answer: nobody was observed.
const ONE_SESSION: &str = "attested";
/// The row by which attestations of several sessions contradict each other: nobody was observed.
const SEVERAL_SESSIONS: &str = "several-attested";
/// The rows by which an agent was observed that nobody records: it may have committed for anybody.
const OF_STRANGERS: [&str; 2] = ["unrecorded-agent", "unrecorded-variable"];

/// What a trusted platform states: that a session made a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    pub session: SessionId,
    /// The token that it was stated with.
    pub token: TokenId,
    /// What people call that token.
    pub name: String,
    /// What the platform calls itself.
    pub platform: Option<PlatformName>,
    /// When it was stated.
    pub at: Timestamp,
    /// When the token was revoked, later than that.
    pub revoked_at: Option<Timestamp>,
}

impl fmt::Display for Attestation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attested by token {}", self.name)?;
        if let Some(platform) = &self.platform {
            write!(f, " of {platform}")?;
        }
        write!(f, " at {}", self.at)?;
        match self.revoked_at {
            Some(at) => write!(f, "; the token was revoked at {at}"),
            None => Ok(()),
        }
    }
}

/// Joins the attestations of a commit that stand to what was observed of it. Equal for every order of them.
///
/// | observed | attested | answer |
/// | --- | --- | --- |
/// | a session or a person | any session | as observed; another session is a candidate |
/// | `ambiguous` | any session | as observed; the session is a candidate |
/// | `unknown`, an agent that nobody records | any session | as observed; the session is a candidate |
/// | `unknown` | one session | that session, likely |
/// | `unknown` | several sessions | `ambiguous` |
#[must_use]
pub fn join_attestations(mut judgement: Judgement, attestations: &[Attestation]) -> Judgement {
    let sessions: BTreeSet<SessionId> = attestations.iter().map(|a| a.session).collect();
    let Some(first) = sessions.first().copied() else {
        return judgement;
    };
    let is_open =
        judgement.verdict == Verdict::Unknown && !OF_STRANGERS.contains(&judgement.rule.as_str());
    let mut evidence: Vec<Evidence> = attestations
        .iter()
        .map(|attestation| Evidence {
            session: Some(attestation.session),
            basis: Basis::Attested,
            counted: is_open,
            text: match contrary(&judgement, attestation.session) {
                Some(contrary) => format!("{attestation}; {contrary}"),
                None => attestation.to_string(),
            },
        })
        .collect();
    evidence.sort_by(|a, b| (a.session, &a.text).cmp(&(b.session, &b.text)));
    judgement.evidence.append(&mut evidence);
    match (is_open, sessions.len()) {
        (true, 1) => {
            judgement.committer = Committer::Session { session: first };
            judgement.verdict = Verdict::Likely;
            judgement.rule = ONE_SESSION.to_owned();
            judgement.candidates.retain(|session| *session != first);
        }
        (true, _) => {
            judgement.verdict = Verdict::Ambiguous;
            judgement.rule = SEVERAL_SESSIONS.to_owned();
            judgement.candidates = sessions.into_iter().collect();
        }
        (false, _) => {
            let named = judgement.committer;
            let known = judgement.candidates.clone();
            let others = sessions.into_iter().filter(|session| {
                named != Committer::Session { session: *session } && !known.contains(session)
            });
            judgement.candidates.extend(others);
        }
    }
    judgement
}

/// What was observed that speaks against an attestation of this session.
fn contrary(judgement: &Judgement, session: SessionId) -> Option<&'static str> {
    match judgement.committer {
        Committer::Session { session: observed } if observed != session => {
            Some("another session was observed making the commit")
        }
        Committer::Human => Some("a person was observed making the commit"),
        Committer::Unknown if OF_STRANGERS.contains(&judgement.rule.as_str()) => {
            Some("an agent was observed that nobody records")
        }
        Committer::Unknown
            if judgement.verdict == Verdict::Ambiguous
                && !judgement.candidates.contains(&session) =>
        {
            Some("what was observed fits other sessions")
        }
        _ => None,
    }
}

impl Judgement {
    /// Whether only attestations name its session: nobody was observed making the commit.
    #[must_use]
    pub fn is_attested(&self) -> bool {
        self.rule == ONE_SESSION && matches!(self.committer, Committer::Session { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::RULES;

    fn ses(n: u128) -> SessionId {
        SessionId::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn by_session(n: u128) -> Committer {
        Committer::Session { session: ses(n) }
    }

    fn observed(committer: Committer, verdict: Verdict, rule: &str) -> Judgement {
        Judgement {
            rules: RULES,
            committer,
            verdict,
            rule: rule.to_owned(),
            evidence: Vec::new(),
            candidates: Vec::new(),
            outer: Vec::new(),
        }
    }

    fn attested(n: u128) -> Attestation {
        Attestation {
            session: ses(n),
            token: TokenId::from_uuid(uuid::Uuid::from_u128(9)),
            name: "acme bot".to_owned(),
            platform: Some(PlatformName::new("github.com").unwrap()),
            at: Timestamp::from_seconds(0),
            revoked_at: None,
        }
    }

    /// The answer, and the sessions that it could also have been.
    #[track_caller]
    fn check(before: &Judgement, by: &[u128], after: (Committer, Verdict), candidates: &[u128]) {
        let all: Vec<Attestation> = by.iter().map(|n| attested(*n)).collect();
        let joined = join_attestations(before.clone(), &all);
        assert_eq!((joined.committer, joined.verdict), after, "{joined:#?}");
        let candidates: Vec<SessionId> = candidates.iter().map(|n| ses(*n)).collect();
        assert_eq!(joined.candidates, candidates, "{joined:#?}");
        let reversed: Vec<Attestation> = all.iter().rev().cloned().collect();
        assert_eq!(join_attestations(before.clone(), &reversed), joined);
        for evidence in &joined.evidence {
            assert_eq!(evidence.basis, Basis::Attested);
            let counts = before.verdict == Verdict::Unknown && joined.verdict != Verdict::Unknown;
            assert_eq!(evidence.counted, counts);
        }
        assert_eq!(joined.evidence.len(), by.len());
    }

    #[test]
    fn where_nobody_was_observed_one_attested_session_is_likely_and_never_certain() {
        for rule in ["unseen", "nothing", ""] {
            let unknown = observed(Committer::Unknown, Verdict::Unknown, rule);
            check(&unknown, &[1], (by_session(1), Verdict::Likely), &[]);
            check(&unknown, &[1, 1], (by_session(1), Verdict::Likely), &[]);
            let joined = join_attestations(unknown.clone(), &[attested(1)]);
            assert!(joined.is_attested() && !unknown.is_attested());
            assert_eq!(join_attestations(unknown.clone(), &[]), unknown);
        }
        let mut unknown = observed(Committer::Unknown, Verdict::Unknown, "unseen");
        unknown.candidates = vec![ses(1), ses(2)];
        check(&unknown, &[1], (by_session(1), Verdict::Likely), &[2]);
    }

    #[test]
    fn attestations_of_several_sessions_are_ambiguous() {
        let mut unknown = observed(Committer::Unknown, Verdict::Unknown, "unseen");
        unknown.candidates = vec![ses(3)];
        let ambiguous = (Committer::Unknown, Verdict::Ambiguous);
        check(&unknown, &[2, 1], ambiguous, &[1, 2]);
        assert!(!join_attestations(unknown, &[attested(1), attested(2)]).is_attested());
    }

    #[test]
    fn what_was_observed_stands_and_the_contradiction_is_shown() {
        for verdict in [Verdict::Likely, Verdict::Certain] {
            let session = observed(by_session(1), verdict, "ancestry");
            check(&session, &[1], (by_session(1), verdict), &[]);
            check(&session, &[2], (by_session(1), verdict), &[2]);
            let human = observed(Committer::Human, verdict, "typed");
            check(&human, &[2], (Committer::Human, verdict), &[2]);
            for before in [&session, &human] {
                let joined = join_attestations(before.clone(), &[attested(2)]);
                let text = &joined.evidence[0].text;
                assert!(text.contains("was observed making the commit"), "{text}");
                assert!(!joined.is_attested());
            }
            let same = join_attestations(session, &[attested(1)]);
            assert!(!same.evidence[0].text.contains("observed"), "{same:#?}");
        }
    }

    #[test]
    fn what_was_observed_to_be_ambiguous_stays_so() {
        let mut before = observed(Committer::Unknown, Verdict::Ambiguous, "shared-process");
        before.candidates = vec![ses(2), ses(3)];
        let ambiguous = (Committer::Unknown, Verdict::Ambiguous);
        check(&before, &[2], ambiguous, &[2, 3]);
        check(&before, &[1], ambiguous, &[2, 3, 1]);
        let text = |n| {
            join_attestations(before.clone(), &[attested(n)])
                .evidence
                .remove(0)
                .text
        };
        assert!(!text(2).contains("observed") && text(1).contains("fits other sessions"));
    }

    #[test]
    fn an_agent_that_nobody_records_is_not_attested_away() {
        for rule in OF_STRANGERS {
            assert!(crate::evidence::rule(rule).is_some(), "{rule}");
            let unknown = observed(Committer::Unknown, Verdict::Unknown, rule);
            let stays = (Committer::Unknown, Verdict::Unknown);
            check(&unknown, &[1], stays, &[1]);
        }
        for rule in [ONE_SESSION, SEVERAL_SESSIONS] {
            assert!(crate::evidence::rule(rule).is_none(), "{rule}");
        }
    }

    #[test]
    fn it_says_by_whom_and_that_the_token_was_revoked_later() {
        let mut one = attested(1);
        assert_eq!(
            one.to_string(),
            "attested by token acme bot of github.com at 1970-01-01T00:00:00Z"
        );
        one.platform = None;
        one.revoked_at = Some(Timestamp::from_seconds(60));
        assert_eq!(
            one.to_string(),
            "attested by token acme bot at 1970-01-01T00:00:00Z; the token was revoked at 1970-01-01T00:01:00Z"
        );
    }
}
