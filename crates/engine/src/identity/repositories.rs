//! Which repository lies in a place. A repository is known by the mark that it has where Siglum is on, and by its commits;
//! a place is only where it was seen last.
//!
//! A mark that turned up elsewhere says that a repository was moved, and it stays itself, with all that was recorded in it and
//! with the scope of what may leave. A clone has no mark: it is a repository of its own, with a scope of its own, and the
//! commits and sessions of its clones are shown in it, too.

mod clones;
mod git;
mod identity;
mod recognition;
mod relocation;
mod whereabouts;

pub(crate) use clones::unite_clones;
pub use clones::{clones, known, named, names_by_id, names_of, remote_of, within};
pub(crate) use git::{is_set_aside, leads_to, set_aside, usable_git};
pub use identity::mark;
pub(crate) use identity::note_identity;
pub use recognition::{Recognised, recognise, set_clone_of};
pub(crate) use relocation::lying_at;
pub use relocation::note_place;
pub use whereabouts::{
    CloneMatch, LocatedRepository, Relocation, RelocationError, Sign, Whereabouts, locate,
    planned_relocation, relocate,
};
