//! Answers about sessions, their checkpoints and cost, pipelines, and the state of the ledger.

/// Names the words that a field can have, for clients that are made of the schemas.
#[cfg(feature = "schemas")]
macro_rules! words {
    ($($name:ident as $text:literal: $description:literal, $($word:literal)|+;)*) => {$(
        struct $name;

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($text)
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": $description,
                    "enum": [$($word),+],
                })
            }
        }
    )*};
}

pub mod checkpoints;
pub mod commit_log;
pub mod commits;
pub mod context;
pub mod cost;
pub mod doctor;
pub mod file_history;
pub mod find;
pub mod history;
pub mod overview;
pub mod pipeline;
pub mod search;
pub mod session;
pub mod verify;
