//! Finding turns of sessions by what was said and done in them.
//!
//! [`search`] asks the index of the store and ranks what it names. Where there is no index that can be asked, it goes
//! through the newest sessions, and through their prompts alone. [`fill`] puts sessions into the index.

mod dispatch;
mod fill;
mod findings;
mod json;
mod parts;
mod ranked;
mod scan;
mod session_filter;
#[cfg(test)]
mod tests;

pub use dispatch::search;
pub use fill::fill;
pub use findings::{Findings, Hit, IndexUse, Query, SearchResult};
pub use json::{SearchHitJson, SearchIndexUse, SearchListJson, SearchRange, SearchResultJson};
