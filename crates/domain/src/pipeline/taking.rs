//! The one door for what is recorded of a pipeline: each field against its rule, texts through the redactor.

use super::event::{CheckResult, Draft, NewEvent, Outcome, ReviewVerdict, What};
use crate::digest::Hasher;
use crate::grammar::{Oid, TurnKey};
use crate::link::{Link, LinkError, SECRET_RULE, has_hidden, refuse};
use crate::redact::{Redacted, Redactor};

/// The words for all kinds of events.
pub const KINDS: &[&str] = &[
    "planned",
    "phase_started",
    "phase_awaiting",
    "phase_ended",
    "contract",
    "review",
    "check",
    "ended",
];

/// How many bytes the text of a contract may have, the largest of all.
pub const TEXT_MOST: usize = 64 * 1024;
/// How many bytes the text of a review may have.
const REVIEW_MOST: usize = 16 * 1024;
/// How many bytes the summary of a check may have.
const SUMMARY_MOST: usize = 4 * 1024;
/// How many phases a plan may have.
const PLAN_MOST: usize = 64;

const KIND_RULE: &str = "expected one of planned, phase_started, phase_awaiting, phase_ended, contract, review, check, ended";
const OUTCOME_RULE: &str = "expected one of completed, failed, cancelled, skipped";
const VERDICT_RULE: &str = "expected one of approved, changes_requested, commented";
const RESULT_RULE: &str = "expected one of passed, failed, skipped, errored";
const NAME_RULE: &str = "1 to 128 characters, no control characters, no blank at an end";
const VERSION_RULE: &str = "1 to 64 characters, no control characters, no blank at an end";
const PLAN_RULE: &str = "1 to 64 phases, each once";
const URL_RULE: &str = "an address that begins with http:// or https://, up to 2048 characters, without blanks, user name or password";
const COMMIT_RULE: &str = "a whole commit id, 40 or 64 lower-case hexadecimal digits";
const KEY_RULE: &str = "1 to 200 printable characters without blanks";
const CONTRACT_RULE: &str = "1 to 65536 bytes of text without control characters";
const REVIEW_RULE: &str = "1 to 16384 bytes of text without control characters";
const SUMMARY_RULE: &str = "1 to 4096 bytes of text without control characters";
const NEEDED: &str = "needed here";
const STRANGE: &str = "no part of an event of this kind";

type Result<T> = std::result::Result<T, LinkError>;

/// Takes the id of a pipeline: the rules are those of the link.
///
/// # Errors
/// The field and the rule it broke.
pub fn pipeline_id(text: &str) -> Result<String> {
    Link::parse("pipeline_id", text).map(|link| link.value())
}

/// Takes an event that was handed over, or says which field breaks which rule. A field that the kind does not have is
/// refused, too.
///
/// # Errors
/// The field and the rule it broke.
pub fn take(new: &NewEvent, redactor: &Redactor) -> Result<Draft> {
    let mut given = Given {
        new,
        redactor,
        looked: Vec::new(),
    };
    let (what, text) = given.what()?;
    given.no_more()?;
    let key = new.key.as_deref().map(|key| given.key(key)).transpose()?;
    Ok(Draft {
        what,
        text,
        session: new.session,
        key,
    })
}

/// What was handed over, and which fields were looked at.
struct Given<'a> {
    new: &'a NewEvent,
    redactor: &'a Redactor,
    looked: Vec<&'static str>,
}

impl<'a> Given<'a> {
    fn what(&mut self) -> Result<(What, Option<Redacted>)> {
        let what = match self.new.kind.as_str() {
            "planned" => What::Planned {
                phases: self.plan()?,
            },
            "phase_started" => What::PhaseStarted {
                phase: self.needed("phase", Self::phase)?,
            },
            "phase_awaiting" => What::PhaseAwaiting {
                phase: self.needed("phase", Self::phase)?,
            },
            "phase_ended" => What::PhaseEnded {
                phase: self.needed("phase", Self::phase)?,
                outcome: self.needed("outcome", Self::outcome)?,
            },
            "contract" => return self.contract(),
            "review" => return self.review(),
            "check" => return self.check(),
            "ended" => What::Ended {
                outcome: self.maybe("outcome", Self::outcome)?,
            },
            other => return Err(refuse("kind", other, KIND_RULE)),
        };
        Ok((what, None))
    }

    fn contract(&mut self) -> Result<(What, Option<Redacted>)> {
        let (phase, name) = (
            self.maybe("phase", Self::phase)?,
            self.needed("name", Self::name)?,
        );
        let version = self.maybe("version", Self::version)?;
        let text = self.needed("text", |g, t| g.text(t, TEXT_MOST, CONTRACT_RULE))?;
        let of = What::Contract {
            phase,
            name,
            version,
            digest: digest(&text),
        };
        Ok((of, Some(text)))
    }

    fn review(&mut self) -> Result<(What, Option<Redacted>)> {
        let of = What::Review {
            phase: self.maybe("phase", Self::phase)?,
            verdict: self.needed("verdict", Self::verdict)?,
            role: self.maybe("role", Self::role)?,
            contract: self.maybe("contract", |g, t| g.word("contract", t, 128, NAME_RULE))?,
        };
        let text = self.maybe("text", |g, t| g.text(t, REVIEW_MOST, REVIEW_RULE))?;
        Ok((of, text))
    }

    fn check(&mut self) -> Result<(What, Option<Redacted>)> {
        let of = What::Check {
            phase: self.maybe("phase", Self::phase)?,
            name: self.needed("name", Self::name)?,
            result: self.needed("result", Self::result)?,
            url: self.maybe("url", Self::url)?,
            commit: self.maybe("commit", Self::commit)?,
            evidence: self.new.evidence,
        };
        let text = self.maybe("text", |g, t| g.text(t, SUMMARY_MOST, SUMMARY_RULE))?;
        Ok((of, text))
    }

    /// The fields with what was given for them.
    fn fields(&self) -> [(&'static str, Option<&'a str>); 12] {
        let new = self.new;
        [
            ("phase", new.phase.as_deref()),
            ("phases", new.phases.first().map(String::as_str)),
            ("outcome", new.outcome.as_deref()),
            ("verdict", new.verdict.as_deref()),
            ("result", new.result.as_deref()),
            ("role", new.role.as_deref()),
            ("name", new.name.as_deref()),
            ("contract", new.contract.as_deref()),
            ("version", new.version.as_deref()),
            ("url", new.url.as_deref()),
            ("commit", new.commit.as_deref()),
            ("text", new.text.as_deref()),
        ]
    }

    fn given(&mut self, field: &'static str) -> Option<&'a str> {
        self.looked.push(field);
        let fields = self.fields();
        fields
            .into_iter()
            .find(|(name, _)| *name == field)
            .and_then(|(_, value)| value)
    }

    fn maybe<T>(
        &mut self,
        field: &'static str,
        check: impl FnOnce(&Self, &str) -> Result<T>,
    ) -> Result<Option<T>> {
        let given = self.given(field);
        given.map(|value| check(self, value)).transpose()
    }

    fn needed<T>(
        &mut self,
        field: &'static str,
        check: impl FnOnce(&Self, &str) -> Result<T>,
    ) -> Result<T> {
        self.maybe(field, check)?
            .ok_or_else(|| refuse(field, "", NEEDED))
    }

    /// Refuses fields that nobody looked at.
    fn no_more(&self) -> Result<()> {
        let strange = |(name, value): (&'static str, Option<&str>)| {
            value
                .filter(|_| !self.looked.contains(&name))
                .map(|value| refuse(name, value, STRANGE))
        };
        self.fields()
            .into_iter()
            .find_map(strange)
            .map_or(Ok(()), Err)
    }

    fn plan(&mut self) -> Result<Vec<String>> {
        let first = self.given("phases").unwrap_or_default();
        let mut phases: Vec<String> = Vec::new();
        for phase in &self.new.phases {
            let phase = self.phase(phase)?;
            if phases.contains(&phase) {
                return Err(refuse("phases", &phase, PLAN_RULE));
            }
            phases.push(phase);
        }
        if phases.is_empty() || phases.len() > PLAN_MOST {
            return Err(refuse("phases", first, PLAN_RULE));
        }
        Ok(phases)
    }

    fn phase(&self, text: &str) -> Result<String> {
        Link::parse("phase", text).map(|link| link.value())
    }

    fn role(&self, text: &str) -> Result<String> {
        let of_role = |error: LinkError| LinkError {
            field: "role",
            ..error
        };
        Link::parse("agent_role", text)
            .map(|link| link.value())
            .map_err(of_role)
    }

    fn outcome(&self, text: &str) -> Result<Outcome> {
        Outcome::named(text).ok_or_else(|| refuse("outcome", text, OUTCOME_RULE))
    }

    fn verdict(&self, text: &str) -> Result<ReviewVerdict> {
        ReviewVerdict::named(text).ok_or_else(|| refuse("verdict", text, VERDICT_RULE))
    }

    fn result(&self, text: &str) -> Result<CheckResult> {
        CheckResult::named(text).ok_or_else(|| refuse("result", text, RESULT_RULE))
    }

    fn name(&self, text: &str) -> Result<String> {
        self.word("name", text, 128, NAME_RULE)
    }

    fn version(&self, text: &str) -> Result<String> {
        self.word("version", text, 64, VERSION_RULE)
    }

    fn word(
        &self,
        field: &'static str,
        text: &str,
        most: usize,
        rule: &'static str,
    ) -> Result<String> {
        let long = !(1..=most).contains(&text.chars().count());
        if long || text.trim() != text || has_hidden(text) {
            return Err(refuse(field, text, rule));
        }
        self.no_secret(field, text)
    }

    fn no_secret(&self, field: &'static str, text: &str) -> Result<String> {
        if self.redactor.redact_cow(text) == text {
            Ok(text.to_owned())
        } else {
            Err(refuse(field, text, SECRET_RULE))
        }
    }

    fn url(&self, text: &str) -> Result<String> {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#', '\\']).next());
        let named = host.is_some_and(|host| !host.is_empty() && !host.contains('@'));
        let plain = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
        if !named || !plain || text.chars().count() > 2048 {
            return Err(refuse("url", text, URL_RULE));
        }
        self.no_secret("url", text)
    }

    fn commit(&self, text: &str) -> Result<Oid> {
        Oid::new(text).map_err(|_| refuse("commit", text, COMMIT_RULE))
    }

    fn key(&self, text: &str) -> Result<TurnKey> {
        let key = TurnKey::new(text).map_err(|_| refuse("key", text, KEY_RULE))?;
        self.no_secret("key", text).map(|_| key)
    }

    fn text(&self, text: &str, most: usize, rule: &'static str) -> Result<Redacted> {
        let strange = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if text.trim().is_empty() || text.len() > most || text.chars().any(strange) {
            return Err(refuse("text", text, rule));
        }
        Ok(self.redactor.redact(text))
    }
}

/// The digest of the text of a contract.
fn digest(text: &Redacted) -> String {
    let mut hasher = Hasher::new();
    hasher.update(text.as_str().as_bytes());
    hasher.hex()
}
