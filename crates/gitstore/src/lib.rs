//! The only place that touches git, and the object store of file versions.
//!
//! Two ways lead to a repository. [`place`] reads a few files by hand and starts no process, for
//! hooks that have a millisecond. [`git`] runs the git program with plumbing commands and `-z`
//! output, for everything else. [`hooks`] puts Siglum's block into a repository's git hooks and
//! takes it out again. [`objects`] keeps the exact bytes of file versions.
//!
//! Paths, the git program and facts of the environment are parameters: nothing here asks for a
//! variable, a clock or a random number. Nothing here decides who made a commit; that is `domain`.

mod address;
mod blame;
mod blobs;
mod bounded;
mod config;
mod error;
mod facts;
pub mod git;
mod harmless;
mod history;
pub mod hooks;
mod identity;
mod index;
mod list;
mod mark;
pub mod objects;
mod owner;
pub mod place;
mod range;
mod refs;
mod remote;
mod snapshot;
mod worktree;

pub use address::ObjectAddress;
pub use blame::BlameLine;
pub use blobs::BlobContent;
pub use bounded::open_regular;
pub use error::GitError;
pub use facts::Facts;
pub use git::{Git, MINIMUM_GIT, Version};
pub use history::{MessageSettings, ReflogEntry};
pub use identity::file_identity;
pub use list::{ListedCommit, Listing};
pub use mark::{is_mark, marks, may_be_at, set_marks};
pub use objects::{ObjectStore, blob_id};
pub use owner::{create_directories, give_to_owner, is_another_users};
pub use place::{
    ObjectFormat, Repo, create_siglum_subdirectory, discover, is_bare, is_on, lies_in, remotes,
    siglum_dir, siglum_subdirectory, without_checkout,
};
pub use range::{BEGUN, RangeCommit, is_shallow};
pub use refs::{HeadRead, MoveKind, ReflogMove};
pub use remote::{is_remote_name, remote, remote_name};
pub use snapshot::Snapshot;
