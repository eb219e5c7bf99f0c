//! Small vocabularies that are stored, sent and typed: an enum whose arms have one word each.

/// Makes an enum of words, which is read as it is written: what else is read breaks the rule.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, { $($(#[$each:meta])* $arm:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $word)] $arm),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$arm),+];

            /// Its word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$arm => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::GrammarError;

            fn from_str(text: &str) -> Result<Self, $crate::GrammarError> {
                let known = Self::ALL.iter().copied().find(|known| known.as_str() == text);
                known.ok_or($crate::GrammarError { what: $what, rule: $rule })
            }
        }
    };
}
pub(crate) use words;
