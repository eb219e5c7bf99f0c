//! What sessions did, written down: deliveries of hooks, transcripts, and what an import finds.
//!
//! [`deliver`] is the only way in for hooks and transcripts. Whose session it is, [`identity`](crate::identity) has said
//! before; what is here appends, and resolves nothing.

pub mod deliver;
pub(crate) mod edits;
pub(crate) mod evidence;
pub mod import;
mod late_events;
mod moves;
pub mod passages;
pub mod session;
pub mod session_end;
pub(crate) mod session_log;
pub mod transcript;
pub(crate) mod unassigned;
