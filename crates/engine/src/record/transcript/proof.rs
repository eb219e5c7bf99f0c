//! What in a transcript proves authorship: contents before and after an edit, and commits that the
//! output of a command names.

use std::path::Path;

use siglum_agents::{CommitMention, TranscriptEdit};
use siglum_domain::claims::Claims;
use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{DiskState, Fact, FileVersion, Observation, Side, Source};
use siglum_domain::{AgentName, SessionId, Timestamp};
use siglum_gitstore::{ObjectFormat, blob_id, discover};
use siglum_ledger::{
    Durability, HeadMove, Ledger, LedgerError, OutputMention, RepositoryRecord, Transaction, read,
    write,
};

use crate::identity;
use crate::identity::sighting_keys::file_key;
use crate::{EngineError, World};

/// How far a commit may lie outside of the call that names it, in milliseconds: git counts seconds.
const SLACK_MS: i64 = 2_000;

/// The two sightings of an edit, with its contents in the object store; none if hooks saw both
/// sides of it.
pub(super) fn edit(
    world: &World<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
    edit: &TranscriptEdit,
) -> Result<Vec<Observation>, LedgerError> {
    let Some(place) = &matter.place else {
        return Ok(Vec::new());
    };
    let worktree = Path::new(&place.worktree);
    let path = edit.path.strip_prefix(worktree).unwrap_or(&edit.path);
    let inside = path.is_relative()
        && path
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
    let Some(path) = path.to_str().filter(|_| inside) else {
        return Ok(Vec::new());
    };
    let mut by_hook = |side: Side| {
        let key = file_key(&edit.event, path, side);
        tx.entry(session, Source::Hook, &key)
            .map(|seen| seen.is_some())
    };
    if by_hook(Side::Before)? && by_hook(Side::After)? {
        return Ok(Vec::new());
    }
    let format =
        discover(worktree, None, None).map_or(ObjectFormat::Sha1, |repo| repo.object_format());
    let before = edit
        .before
        .as_ref()
        .map(|content| keep(world, format, content, None));
    let base = before.as_ref().and_then(|v| v.object.as_deref());
    let after = Some(keep(world, format, &edit.after, base));
    let seen = |side: Side, version: Option<FileVersion>| Observation {
        source: Source::Transcript,
        key: file_key(&edit.event, path, side),
        event: edit.event.clone(),
        at: edit.at,
        turn: edit.turn.clone(),
        subagent: edit.subagent.clone(),
        fact: Fact::FileSeen {
            path: path.to_owned(),
            side,
            version,
            disk: DiskState::default(),
            write: None,
            place: None,
        },
    };
    Ok(vec![seen(Side::Before, before), seen(Side::After, after)])
}

fn keep(
    world: &World<'_>,
    format: ObjectFormat,
    content: &[u8],
    base: Option<&str>,
) -> FileVersion {
    let base = base.and_then(|b| b.parse().ok());
    let object = world.objects.put(content, base.as_ref());
    FileVersion {
        blob: blob_id(format, content),
        object: object.ok().map(|address| address.to_string()),
        bytes: content.len() as u64,
    }
}

/// Notes the commits that commands of imported sessions name in their output, where git made them
/// while the command ran. Returns how many.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn link_mentioned(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentName,
    repository: &RepositoryRecord,
    mentions: &[CommitMention],
) -> Result<usize, EngineError> {
    let Some(git) = crate::identity::repositories::usable_git(world, repository) else {
        return Ok(0);
    };
    let mentions: Vec<&CommitMention> = mentions.iter().filter(|m| !m.copied).collect();
    let names: Vec<&str> = mentions.iter().map(|m| m.abbreviated.as_str()).collect();
    let commits = git.resolve_ids(&names)?;
    let facts = git
        .facts(&commits.iter().flatten().cloned().collect::<Vec<_>>())?
        .known;
    let mut linked = 0;
    for (mention, commit) in mentions.into_iter().zip(commits) {
        let Some(facts) = facts.iter().find(|f| Some(&f.commit) == commit.as_ref()) else {
            continue;
        };
        if !made_meanwhile(mention, facts.committed) {
            continue;
        }
        let claims = Claims::by_name(agent, &mention.owner);
        let Some(known) = read(ledger, |tx| identity::find(tx, &claims))? else {
            continue;
        };
        let session = known.session();
        let moved = HeadMove {
            repository: repository.id,
            commit: facts.commit.clone(),
            session,
            event: mention.event.clone(),
            // All digits are printed by `rev-parse`, an abbreviation by git when it has made it.
            mention: match mention.abbreviated.len() {
                40 | 64 => OutputMention::Named,
                _ => OutputMention::Made,
            },
            at: mention.ended,
        };
        write(ledger, Durability::Process, |tx| tx.put_move(&moved))?;
        linked += 1;
    }
    Ok(linked)
}

/// Tells whether git made a commit while the command ran that names it.
fn made_meanwhile(mention: &CommitMention, made: Timestamp) -> bool {
    let begun = mention
        .started
        .is_none_or(|s| made >= s.plus_millis(-SLACK_MS));
    begun && made <= mention.ended.plus_millis(SLACK_MS)
}
