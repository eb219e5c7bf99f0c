//! What seven agents leave on a disk: transcripts in the forms that they write, in any size, the same for the same seed.
//!
//! With forks, resumes, compactions, sub-agents and images, one very large file, files that end in the middle of a line or
//! of a character, and needles for a search to find.

mod forms;
mod json;
mod needle;
mod scene;
mod sheet;
mod story;
mod text;
mod writer;

pub(crate) use scene::{IMPORT, Scene};
pub(crate) use writer::{FULL, Planted, QUICK, Size, write};
