//! What a token may not do although its scope would allow it: rights, and repositories.

use std::collections::BTreeSet;

/// The most repositories that a token is limited to.
const REPOSITORIES_MOST: usize = 32;
/// The longest name of one, in bytes.
const NAME_MOST: usize = 500;
/// What stands before rights and before a repository where limits are stored.
const MAY: &str = "may=";
const IN: &str = "in=";

/// What each operation of the gateway needs one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// To send what another ledger recorded.
    Sync,
    /// To read.
    Read,
    /// To let agents run on the machine of the gateway.
    Run,
    /// To create and drive sessions, and to write what belongs to them.
    Drive,
    /// To read the audit, to decide held turns and to rotate tokens.
    Admin,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sync, Self::Read, Self::Run, Self::Drive, Self::Admin];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Read => "read",
            Self::Run => "run",
            Self::Drive => "drive",
            Self::Admin => "admin",
        }
    }

    /// The right of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == word)
    }
}

/// The limits break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitsError(&'static str);

/// The limits of a token; by default it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Empty where it may everything.
    rights: BTreeSet<Right>,
    /// By id or remote; empty where it may everywhere.
    repositories: BTreeSet<String>,
}

impl Limits {
    /// Limits to these rights, or to all where none is named, and to these repositories, each by its id or its remote
    /// (`github.com/owner/name`), or to all where none is named.
    ///
    /// # Errors
    /// The rule that a name of a repository breaks.
    pub fn new(
        rights: impl IntoIterator<Item = Right>,
        repositories: impl IntoIterator<Item = String>,
    ) -> Result<Self, LimitsError> {
        let repositories: BTreeSet<String> = repositories.into_iter().collect();
        if repositories.len() > REPOSITORIES_MOST {
            return Err(LimitsError("at most 32 repositories"));
        }
        let plain = |c: char| !c.is_whitespace() && !c.is_control();
        let fits = |name: &String| (1..=NAME_MOST).contains(&name.len()) && name.chars().all(plain);
        if !repositories.iter().all(fits) {
            return Err(LimitsError(
                "a repository has a name of 1 to 500 bytes, without blanks and control characters",
            ));
        }
        Ok(Self {
            rights: rights.into_iter().collect(),
            repositories,
        })
    }

    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.rights.is_empty() && self.repositories.is_empty()
    }

    /// Tells whether they leave a right.
    #[must_use]
    pub fn allows(&self, right: Right) -> bool {
        self.rights.is_empty() || self.rights.contains(&right)
    }

    /// The rights that they leave, if they name any.
    pub fn rights(&self) -> impl Iterator<Item = Right> + '_ {
        self.rights.iter().copied()
    }

    /// The names of the repositories that they are limited to; none where all are left.
    #[must_use]
    pub const fn repositories(&self) -> &BTreeSet<String> {
        &self.repositories
    }

    /// The words that [`Limits::from_words`] reads.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.rights.is_empty() {
            let rights: Vec<&str> = self.rights.iter().map(|right| right.as_str()).collect();
            words.push(format!("{MAY}{}", rights.join(",")));
        }
        words.extend(self.repositories.iter().map(|name| format!("{IN}{name}")));
        words
    }

    /// Reads stored limits; nothing for a word that this program does not know.
    pub(super) fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut limits = Self::default();
        for word in words {
            if let Some(rights) = word.strip_prefix(MAY) {
                for right in rights.split(',') {
                    limits.rights.insert(Right::parse(right)?);
                }
            } else {
                limits
                    .repositories
                    .insert(word.strip_prefix(IN)?.to_owned());
            }
        }
        Some(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_has_a_word_and_only_that_one() {
        for right in Right::ALL {
            assert_eq!(Right::parse(right.as_str()), Some(right));
        }
        for word in ["", "Read", "write", "read,run"] {
            assert_eq!(Right::parse(word), None, "{word}");
        }
    }

    #[test]
    fn limits_take_away_and_give_nothing() {
        let none = Limits::default();
        assert!(none.is_none() && Right::ALL.into_iter().all(|right| none.allows(right)));
        let limits = Limits::new([Right::Read], ["github.com/o/r".to_owned()]).unwrap();
        assert!(!limits.is_none() && limits.allows(Right::Read));
        assert!(!limits.allows(Right::Admin));
        assert!(limits.repositories().contains("github.com/o/r"));
    }

    #[test]
    fn a_repository_has_a_name_that_can_be_stored() {
        for name in ["", "a b", "a\n", "a\u{a0}b", &"x".repeat(NAME_MOST + 1)] {
            let limits = Limits::new([], [name.to_owned()]);
            assert!(limits.is_err(), "{name:?}");
        }
        let many = (0..=REPOSITORIES_MOST).map(|n| format!("github.com/o/{n}"));
        assert!(Limits::new([], many).is_err());
    }
}
