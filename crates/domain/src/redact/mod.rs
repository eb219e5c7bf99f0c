//! Removes secrets from text, and proves by type that it was done.
//!
//! [`Redacted`] is the only text that may reach the ledger, and [`Redactor`] is the only way to make one from raw
//! text. One pass over the text looks for the keywords of all rules ([`RULES`]); only where a keyword occurs are the
//! rules that own it tried, and only there. Text without a keyword is neither copied nor searched again.
//!
//! The text may be raw or JSON-escaped (a transcript line, or JSON inside JSON): a replacement never swallows the
//! quotes and backslashes around a secret, and it keeps the number of lines.
//!
//! What this deliberately does not do: decide which fields are kept at all, undo a redaction, decode base64 or
//! archives, or recognise a secret that has no known form and no telling name next to it.

mod assignment;
mod boundary;
mod cookies;
mod entropy;
mod examples;
mod inserted;
mod keywords;
mod kubernetes;
mod letters;
mod name;
mod pem;
mod redacted;
mod redacted_json;
mod redactor;
mod rules;
mod value;
mod wire;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod properties;

pub use redacted::Redacted;
pub use redacted_json::RedactedJson;
pub use redactor::Redactor;
pub use rules::{RULES, Rule, Shape};
