//! The index of the texts of sessions: what is put into it, what is asked of it, and the file that holds it beside a
//! ledger in SQLite.
//!
//! It is a projection: it is filled after what it shows is stored, it may lag, and it can be deleted. It names turns that
//! may fit; the texts that it holds of them say whether they do. It decides nothing about who may see them.

mod file;
mod index;

pub(crate) use file::IndexFile;
pub(crate) use index::WAITING_MOST;
pub use index::{
    IndexCheck, IndexMatch, IndexQuery, IndexStanding, IndexUpdate, IndexedPart, PartKey, PartMark,
    SearchIndex, WaitingSession,
};
#[cfg(feature = "postgres")]
pub(crate) use index::{PartChanges, index_word, mark_of, text_of, text_stored};
