//! The content of a file before and after a call that edits it, and what the call itself wrote.

use std::fs;
use std::path::Path;

use siglum_agents::{EditHint, Reduced, WriteHint};
use siglum_domain::AgentName;
use siglum_domain::observation::{CallWrite, DiskState, Fact, FileVersion, Side, Source};
use siglum_domain::provenance::start_among_others;
use siglum_engine::identity::sighting_keys::{file_key, keyed_path};
use siglum_gitstore::{ObjectAddress, ObjectStore, Repo, blob_id, discover, file_identity};
use siglum_ledger::{read, stored_name};

use super::delivery::{Delivery, is_recorded, note};
use crate::home::Home;

/// A file that is larger than this is not kept, in bytes.
const FILE_MOST: u64 = 8 << 20;

/// Keeps the content of a file that a tool call changes, and notes it.
pub(super) fn see_file(
    delivery: &mut Delivery,
    agent: &AgentName,
    reduced: &mut Reduced,
    session_repo: Option<&Repo>,
    edit: &EditHint,
) {
    let Some(Located {
        other,
        path,
        holder,
    }) = locate(&delivery.home, session_repo, edit)
    else {
        return;
    };
    let Some(repo) = other.as_ref().or(session_repo) else {
        return;
    };
    let absolute = repo.worktree().join(&holder);
    let metadata = fs::symlink_metadata(&absolute).ok();
    let content = match metadata
        .as_ref()
        .map(|m| m.is_file() && m.len() <= FILE_MOST)
    {
        Some(true) => fs::read(&absolute).ok(),
        Some(false) => {
            return delivery.decline(
                "file_not_kept",
                &format!("{path} is too large or not a regular file"),
                Some(repo),
            );
        }
        None => None,
    };
    let place = other.as_ref().map(|repo| repo.place.clone());
    let keyed = keyed_path(&path, place.as_ref());
    let before = version_before(delivery, agent, reduced, edit, &keyed);
    let mut shelf = Shelf::new(delivery, repo);
    shelf.base = match before.clone().flatten().and_then(|v| address(&v)) {
        Some(base) => Some(base),
        None => last_version(delivery, repo, &path),
    };
    let version = content.as_deref().map(|content| shelf.keep(content));
    let write = edit.write.as_ref().map(|hint| {
        let before = before.as_ref().map(Option::as_ref);
        shelf.call_write(hint, before, (version.as_ref(), content.as_deref()))
    });
    let fact = Fact::FileSeen {
        path,
        side: edit.side,
        version,
        disk: DiskState {
            file: metadata.as_ref().and_then(file_identity),
            head_log: repo.log_length(),
        },
        write: write.map(Box::new),
        place,
    };
    let key = file_key(&edit.event, &keyed, edit.side);
    note(delivery, reduced, &edit.event, key, fact);
}

/// Where a file is that is edited.
struct Located {
    /// The checkout, if that is another one than the session's.
    other: Option<Repo>,
    /// Its path there, as it is stored.
    path: String,
    /// The path there of the file that has the content.
    holder: String,
}

/// Finds the checkout of a file, which decides alone whether its content is kept; nothing if it is not.
fn locate(home: &Home, session_repo: Option<&Repo>, edit: &EditHint) -> Option<Located> {
    let absolute = |path: &Path| match session_repo {
        Some(repo) => repo.worktree().join(path),
        None => path.to_owned(),
    };
    let named = absolute(&edit.path);
    let is_own =
        |found: &Repo| session_repo.is_some_and(|own| own.place.worktree == found.place.worktree);
    let other = checkout_of(&named).filter(|found| !is_own(found));
    if other.is_some() && !is_recorded(home, other.as_ref()) {
        return None;
    }
    let repo = other.as_ref().or(session_repo)?;
    let path = repo.relative(&named)?;
    let holder = match &edit.held_by {
        Some(holder) => repo.relative(&absolute(holder))?,
        None => path.clone(),
    };
    let path = stored_name(&path).into_owned();
    Some(Located {
        other,
        path,
        holder,
    })
}

/// The checkout that a file is in, whether or not there is a file: a submodule below the session's, a linked worktree
/// beside it, another repository.
pub(super) fn checkout_of(file: &Path) -> Option<Repo> {
    let dir = file.ancestors().skip(1).find(|dir| dir.is_dir())?;
    discover(dir, None, None)
}

/// The version that was seen before the call; nothing if none was seen.
fn version_before(
    delivery: &mut Delivery,
    agent: &AgentName,
    reduced: &Reduced,
    edit: &EditHint,
    path: &str,
) -> Option<Option<FileVersion>> {
    if edit.side == Side::Before {
        return None;
    }
    let key = file_key(&edit.event, path, Side::Before);
    let known = read(delivery.ledger().ok()?, |tx| {
        match tx.session_by_alias(agent, &reduced.native)? {
            Some(session) => tx.entry(session, Source::Hook, &key),
            None => Ok(None),
        }
    });
    match known.ok().flatten()?.observation.fact {
        Fact::FileSeen { version, .. } => Some(version),
        _ => None,
    }
}

/// The last version of a file that is known, which a new one is likely close to.
fn last_version(delivery: &mut Delivery, repo: &Repo, path: &str) -> Option<ObjectAddress> {
    let known = read(delivery.ledger().ok()?, |tx| {
        let Some(repository) = tx.repository(&repo.place.common_dir)? else {
            return Ok(None);
        };
        tx.last_edit(repository.id, path)
    });
    address(&known.ok().flatten()?.after?)
}

fn address(version: &FileVersion) -> Option<ObjectAddress> {
    version.object.as_ref()?.parse().ok()
}

/// Where versions of a file are kept.
struct Shelf<'r> {
    store: Option<ObjectStore>,
    repo: &'r Repo,
    /// A version that others are likely close to.
    base: Option<ObjectAddress>,
}

impl<'r> Shelf<'r> {
    fn new(delivery: &Delivery, repo: &'r Repo) -> Self {
        Self {
            store: ObjectStore::open(delivery.home.objects()).ok(),
            repo,
            base: None,
        }
    }

    fn keep(&self, content: &[u8]) -> FileVersion {
        let put = |store: &ObjectStore| store.put(content, self.base.as_ref()).ok();
        FileVersion {
            blob: blob_id(self.repo.object_format(), content),
            object: self.store.as_ref().and_then(put).map(|a| a.to_string()),
            bytes: content.len() as u64,
        }
    }

    /// What the call itself did, with the versions that were seen around it where they are the same; the one before may not
    /// have been to be had.
    fn call_write(
        &self,
        hint: &WriteHint,
        before: Option<Option<&FileVersion>>,
        (after, content): (Option<&FileVersion>, Option<&[u8]>),
    ) -> CallWrite {
        match hint {
            WriteHint::Whole { base, written } => CallWrite {
                base: base
                    .as_deref()
                    .map(|base| self.same_or_new(base, before.flatten())),
                written: match content {
                    Some(content) if is_same(content, written) => after.cloned(),
                    _ => Some(self.keep(written)),
                },
                added: None,
            },
            WriteHint::Added(added) => {
                let old = before.and_then(|before| match before {
                    None => Some(Vec::new()),
                    Some(version) => self.stored(version),
                });
                let Some(old) = old else {
                    return CallWrite {
                        base: after.cloned(),
                        written: after.cloned(),
                        added: Some(self.keep(added)),
                    };
                };
                let start = start_among_others(&old, content.unwrap_or_default(), added);
                CallWrite {
                    base: match start {
                        Some(start) => Some(self.keep(&start)),
                        None => before.flatten().cloned(),
                    },
                    written: after.cloned(),
                    added: None,
                }
            }
        }
    }

    fn stored(&self, version: &FileVersion) -> Option<Vec<u8>> {
        self.store.as_ref()?.get(&address(version)?).ok()
    }

    /// The version that was seen, if it has this content, but for line ends that the tool does not tell.
    fn same_or_new(&self, content: &[u8], seen: Option<&FileVersion>) -> FileVersion {
        let Some(seen) = seen else {
            return self.keep(content);
        };
        if seen.bytes == content.len() as u64
            && seen.blob == blob_id(self.repo.object_format(), content)
        {
            return seen.clone();
        }
        let stored = self.stored(seen);
        match stored.is_some_and(|stored| is_same(&stored, content)) {
            true => seen.clone(),
            false => self.keep(content),
        }
    }
}

/// Whether two contents are the same, but for carriage returns before line feeds.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other || {
        let lines = |text: &[u8]| -> Vec<Vec<u8>> {
            let line = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
            text.split(|b| *b == b'\n').map(line).collect()
        };
        one.contains(&b'\r') && lines(one) == lines(other)
    }
}
