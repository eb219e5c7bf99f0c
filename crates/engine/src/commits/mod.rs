//! Which session made a commit, and who wrote its lines: from what git showed while it was made to the answer.
//!
//! Hooks of git note what they see (`scene`); the commit that comes of it is judged ([`landing`], [`sweep`], `rewrites`,
//! [`judgements`]); lines get their authors ([`authors`]); [`why`], [`lines`] and [`check`] answer, with
//! what platforms attest ([`attestations`]), and [`answers`] has the form in which they leave.

pub mod answers;
pub mod attestations;
pub mod author_prompts;
pub mod authors;
pub(crate) mod calls;
pub mod cards;
pub mod check;
mod checkout;
mod committed_file;
pub(crate) mod contents;
pub(crate) mod copies;
pub mod elsewhere;
mod file_life;
pub mod judgements;
pub mod landing;
pub mod lines;
pub mod origins;
pub mod prompts;
pub(crate) mod pull_requests;
pub(crate) mod reopened;
pub(crate) mod rewrites;
mod rivals;
pub(crate) mod scene;
pub(crate) mod shown;
pub mod sweep;
pub mod why;
