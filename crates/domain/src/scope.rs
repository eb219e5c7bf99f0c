//! What of a ledger may leave it for one destination. Nothing leaves for a destination that has no scope.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::RepositoryId;
use crate::observation::{Body, Fact};
use crate::time::Timestamp;

/// How much of a session leaves. Each level has all of the one before.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kinds {
    /// Who made which commit and wrote which lines, when, for which issue, at which cost: no texts of conversations.
    Verdicts,
    /// The prompts of the user, too.
    Prompts,
    /// Everything: messages, tool calls and their results.
    #[default]
    Conversations,
}

/// The text is no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` must be verdicts, prompts or conversations")]
pub struct KindsError(String);

impl Kinds {
    /// All levels, the least first.
    pub const ALL: [Self; 3] = [Self::Verdicts, Self::Prompts, Self::Conversations];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdicts => "verdicts",
            Self::Prompts => "prompts",
            Self::Conversations => "conversations",
        }
    }
}

impl Kinds {
    /// Takes out of a fact the texts that do not leave, and tells whether there were any. What is left is a fact of the
    /// same kind, with the names of files and tools, with times, tokens and commits.
    pub fn narrow(self, fact: &mut Fact) -> bool {
        if self == Self::Conversations {
            return false;
        }
        match fact {
            Fact::Prompt { synthetic, .. } if self == Self::Prompts && !*synthetic => false,
            Fact::Prompt { text, .. }
            | Fact::ToolStarted { input: text, .. }
            | Fact::Message { text, .. } => withhold(text),
            Fact::Stopped { last_message, .. } | Fact::SubagentStopped { last_message } => {
                last_message.take().is_some()
            }
            Fact::ToolEnded { output, .. } => output.take().is_some(),
            Fact::Compacted { summary, .. } => summary.take().is_some(),
            Fact::SessionStarted { .. }
            | Fact::SessionEnded { .. }
            | Fact::FileSeen { .. }
            | Fact::HeadSeen { .. }
            | Fact::BranchSeen { .. }
            | Fact::SubagentStarted { .. }
            | Fact::Recovered { .. }
            | Fact::Traced { .. }
            | Fact::Other { .. } => false,
        }
    }
}

/// Nothing is left of a text, neither its size nor a digest, by which it could be guessed.
fn withhold(text: &mut Body) -> bool {
    let nothing = Body::Withheld {
        bytes: 0,
        digest: String::new(),
    };
    std::mem::replace(text, nothing.clone()) != nothing
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kinds {
    type Err = KindsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = Self::ALL.into_iter().find(|level| level.as_str() == text);
        level.ok_or_else(|| KindsError(text.chars().take(40).collect()))
    }
}

/// What of a ledger may leave it for one destination.
///
/// Repositories are named by their id: one that is switched on later is outside until it is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The repositories. A session is in scope if all repositories that it works in are.
    pub repositories: BTreeSet<RepositoryId>,
    /// Whether sessions that work in no repository are in scope.
    #[serde(default)]
    pub no_repository: bool,
    /// Sessions that began before are outside.
    #[serde(default, with = "nanoseconds", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How much of a session leaves.
    #[serde(default)]
    pub kinds: Kinds,
    /// The whole ledger, whatever it comes to hold: for a consumer inside the program that owns the ledger, and never
    /// for one that a command adds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
}

impl Scope {
    /// The whole ledger, for a consumer inside the program that owns it.
    #[must_use]
    pub fn in_process() -> Self {
        Self {
            everything: true,
            ..Self::default()
        }
    }

    /// All sessions that work in these repositories and in no others.
    pub fn new(repositories: impl IntoIterator<Item = RepositoryId>) -> Self {
        Self {
            repositories: repositories.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Whether what belongs to a repository as such may leave.
    #[must_use]
    pub fn has_repository(&self, repository: RepositoryId) -> bool {
        self.everything || self.repositories.contains(&repository)
    }

    /// Whether a session may leave that works in these repositories and began then. Stores decide in the same way.
    #[must_use]
    pub fn has_session(&self, repositories: &[RepositoryId], began: Timestamp) -> bool {
        if self.everything {
            return true;
        }
        let is_in = match repositories {
            [] => self.no_repository,
            all => all.iter().all(|r| self.repositories.contains(r)),
        };
        is_in && self.since.is_none_or(|since| began >= since)
    }
}

/// A time as a number, so that a store can compare it.
mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::time::Timestamp;

    #[expect(
        clippy::ref_option,
        reason = "serde hands over a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::nanos).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let nanos = Option::<i64>::deserialize(deserializer)?;
        Ok(nanos.map(Timestamp::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn repository(n: u128) -> RepositoryId {
        RepositoryId::from_uuid(Uuid::from_u128(n))
    }

    #[test]
    fn a_session_is_in_scope_if_all_its_repositories_are() {
        let at = Timestamp::from_nanos;
        let scope = Scope {
            since: Some(at(10)),
            ..Scope::new([repository(1), repository(2)])
        };
        let with_none = Scope {
            no_repository: true,
            ..scope.clone()
        };
        for (works_in, began, wanted, or_none) in [
            (vec![1], 10, true, true),
            (vec![2, 1], 11, true, true),
            (vec![1, 3], 11, false, false),
            (vec![3], 11, false, false),
            (vec![1], 9, false, false),
            (vec![], 11, false, true),
            (vec![], 9, false, false),
        ] {
            let all: Vec<_> = works_in.iter().copied().map(repository).collect();
            assert_eq!(scope.has_session(&all, at(began)), wanted, "{works_in:?}");
            assert_eq!(with_none.has_session(&all, at(began)), or_none);
        }
        assert!(!Scope::default().has_session(&[], at(0)));
        assert!(Scope::in_process().has_session(&[repository(3)], at(0)));
    }

    #[test]
    fn a_scope_is_stored_and_read_again() {
        let scope = Scope {
            no_repository: true,
            since: Some(Timestamp::from_nanos(1_234_567_890_123)),
            kinds: Kinds::Prompts,
            ..Scope::new([repository(7)])
        };
        let text = serde_json::to_string(&scope).unwrap();
        assert_eq!(
            text,
            "{\"repositories\":[\"rep_00000000000000000000000000000007\"],\"no_repository\":true,\
             \"since\":1234567890123,\"kinds\":\"prompts\"}"
        );
        assert_eq!(serde_json::from_str::<Scope>(&text).unwrap(), scope);
        assert!(serde_json::from_str::<Scope>("{\"repositories\":[],\"more\":1}").is_err());
    }

    #[test]
    fn texts_stay_where_a_scope_is_narrow() {
        use crate::observation::{Outcome, Role, ToolClass};
        use crate::redact::Redacted;
        let secret = || Body::Text(Redacted::from_stored("secret".to_owned()));
        let prompt = |synthetic| Fact::Prompt {
            text: secret(),
            synthetic,
        };
        let facts = [
            prompt(true),
            Fact::Stopped {
                last_message: Some(secret()),
                background: Vec::new(),
                failure: None,
            },
            Fact::ToolStarted {
                tool: "Edit".to_owned(),
                class: ToolClass::Edit,
                input: secret(),
                path: Some("a.rs".to_owned()),
            },
            Fact::ToolEnded {
                tool: "Edit".to_owned(),
                class: ToolClass::Edit,
                outcome: Outcome::Ok,
                output: Some(secret()),
                duration_ms: None,
            },
            Fact::SubagentStopped {
                last_message: Some(secret()),
            },
            Fact::Message {
                role: Role::User,
                text: secret(),
                model: None,
                tokens: None,
                request: None,
            },
            Fact::Compacted {
                trigger: "auto".to_owned(),
                summary: Some(secret()),
            },
        ];
        for fact in facts {
            for level in [Kinds::Verdicts, Kinds::Prompts] {
                let mut narrow = fact.clone();
                assert!(level.narrow(&mut narrow), "{fact:?}");
                assert_eq!(narrow.kind(), fact.kind());
                assert!(!format!("{narrow:?}").contains("secret"), "{narrow:?}");
                assert!(!level.narrow(&mut narrow), "a second time: {narrow:?}");
            }
            let mut whole = fact.clone();
            assert!(!Kinds::Conversations.narrow(&mut whole));
            assert_eq!(whole, fact);
        }
        assert!(!Kinds::Prompts.narrow(&mut prompt(false)));
        assert!(Kinds::Verdicts.narrow(&mut prompt(false)));
    }

    #[test]
    fn levels_have_words() {
        for level in Kinds::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!("all".parse::<Kinds>().is_err());
        assert!(Kinds::Verdicts < Kinds::Prompts && Kinds::Prompts < Kinds::Conversations);
    }
}
