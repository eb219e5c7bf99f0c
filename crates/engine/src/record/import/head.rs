//! What the head of a transcript says: where and when it was written, and what it was forked from.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use siglum_agents::{AgentSpec, open_regular};
use siglum_domain::{NativeId, Timestamp};

use super::ImportableTranscript;
use crate::World;

/// How much of a transcript says where and when it was written, in bytes. Most need little. In some lines the directory
/// stands behind the message, and a pasted image is in the first one.
const HEADS: [u64; 4] = [8 << 10, 64 << 10, 256 << 10, 8 << 20];
/// Why a transcript is refused whose head names no directory.
const NO_DIRECTORY: &str = "its first 8 MiB do not name the directory that it was written in";

/// What a head says.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// The time of the first thing that is its own and no copied history.
    pub(super) began: Option<Timestamp>,
    /// The sessions that it was forked from, or that it copied history of.
    pub(super) origins: BTreeSet<NativeId>,
}

/// An answer from the head of a file.
struct HeadAnswer<T> {
    answer: Option<T>,
    /// Whether the head is the whole file.
    is_whole: bool,
}

/// Asks the head of a file, more of it if little does not say.
fn ask_head<T>(
    path: &Path,
    mut ask: impl FnMut(&[u8]) -> Option<T>,
) -> std::io::Result<HeadAnswer<T>> {
    let mut file = open_regular(path)?;
    let bytes = file.metadata()?.len();
    let mut head = Vec::new();
    let mut answer = None;
    for most in HEADS {
        let before = head.len() as u64;
        file.by_ref().take(most - before).read_to_end(&mut head)?;
        answer = ask(&head);
        if answer.is_some() || (head.len() as u64) < most {
            break;
        }
    }
    let is_whole = head.len() as u64 >= bytes;
    Ok(HeadAnswer { answer, is_whole })
}

/// The directory that a transcript was written in; none where nothing happened in it.
///
/// # Errors
/// The file cannot be read, or too much of it does not name the directory.
pub(super) fn directory(agent: &AgentSpec, path: &Path) -> std::io::Result<Option<String>> {
    match ask_head(path, agent.first_cwd)? {
        HeadAnswer {
            answer: None,
            is_whole: false,
        } => Err(std::io::Error::other(NO_DIRECTORY)),
        HeadAnswer { answer, .. } => Ok(answer),
    }
}

pub(super) fn head(world: &World<'_>, found: &ImportableTranscript) -> Head {
    let file = &found.file;
    let mut header = Head::default();
    let first = |head: &[u8]| {
        let mut reader = (found.agent.transcript)(
            file.stream.clone(),
            file.subagent.clone(),
            file.session.clone(),
        );
        let mut offset = 0;
        for line in head.split_inclusive(|b| *b == b'\n') {
            let text = std::str::from_utf8(line)
                .ok()
                .filter(|l| l.ends_with('\n'))?;
            let seen = reader.line(offset, text.trim_end(), world.redactor);
            header.origins.extend(seen.forked_from);
            for sighting in seen.sightings {
                if sighting.owner == file.session && !sighting.copied {
                    return Some(sighting.observation.at);
                }
                header.origins.insert(sighting.owner);
            }
            offset += line.len() as u64;
        }
        None
    };
    header.began = ask_head(&file.path, first).ok().and_then(|h| h.answer);
    header.origins.remove(&file.session);
    header
}
