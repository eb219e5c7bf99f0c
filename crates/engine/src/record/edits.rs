//! What a call changed in a file.

use siglum_domain::IdSource;
use siglum_domain::TurnId;
use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Fact, Observation, Side};
use siglum_ledger::{EditDetail, EditRecord, LedgerError, Transaction};

use crate::commits::reopened;
use crate::identity::SessionIdentity;
use crate::identity::repositories::note_place;
use crate::identity::sighting_keys::{file_key, keyed_path};

/// An edit is known when the content after it was seen.
pub(crate) fn edit(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    identity: SessionIdentity,
    matter: &AgentMatter,
    turn: Option<TurnId>,
    observation: &Observation,
) -> Result<(), LedgerError> {
    let Fact::FileSeen {
        path,
        version: after,
        disk,
        write,
        place: own,
        ..
    } = &observation.fact
    else {
        return Ok(());
    };
    let (repository, place) = match (own, identity.repository(), &matter.place) {
        (Some(own), ..) => (note_place(tx, ids, own, observation.at)?, own),
        (None, Some(repository), Some(place)) => (repository, place),
        _ => return Ok(()),
    };
    let key = file_key(
        &observation.event,
        &keyed_path(path, own.as_ref()),
        Side::Before,
    );
    let earlier = tx.entry(identity.session(), observation.source, &key)?;
    let mut detail = EditDetail {
        after: *disk,
        write: write.as_deref().cloned(),
        ..EditDetail::default()
    };
    let (began, before) = match earlier.map(|e| (e.observation.at, e.observation.fact)) {
        Some((at, Fact::FileSeen { version, disk, .. })) => {
            detail.before = disk;
            (at.min(observation.at), version)
        }
        // The content before was not seen: what changed is then nobody's, but for what the tool says.
        _ => (observation.at, after.clone()),
    };
    tx.put_edit(&EditRecord {
        session: identity.session(),
        event: observation.event.clone(),
        turn,
        repository,
        worktree: place.worktree.clone(),
        path: path.clone(),
        began,
        at: observation.at,
        before,
        after: after.clone(),
        detail,
        lines: None,
    })?;
    reopened::authors_again(tx, repository, path, began)
}
