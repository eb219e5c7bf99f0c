//! Which repositories are clones of one. It is asked when something is to be read, and decides nothing else: above all not
//! what may leave this machine.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::RepositoryId;
use siglum_domain::access::Limits;
use siglum_gitstore::remote_name;
use siglum_ledger::{LedgerError, RepositoryIdentity, RepositoryRecord, Transaction};

use crate::damage::undamaged;

/// What can be told of two repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    Clones,
    /// They have nothing to do with each other, or one is a fork of the other.
    Apart,
    /// They go back to the same commits, and nothing tells a clone from a fork.
    Unclear,
}

/// Whether two repositories are clones of one.
pub(super) fn kinship(one: &RepositoryRecord, other: &RepositoryRecord) -> Kinship {
    let is_of =
        |one: &RepositoryRecord, other: &RepositoryRecord| one.identity.clone_of == Some(other.id);
    if is_of(one, other) || is_of(other, one) {
        return Kinship::Clones;
    }
    let (one, other) = (&one.identity, &other.identity);
    if !share_root(one, other) {
        // Of a shallow clone nobody knows what it goes back to.
        let is_hidden = one.roots.is_empty() || other.roots.is_empty();
        return match is_hidden && one.remote.is_some() && one.remote == other.remote {
            true => Kinship::Unclear,
            false => Kinship::Apart,
        };
    }
    // Where a clone on this machine is fetched from by its path is another question.
    let is_path = |name: &str| name.starts_with('/');
    match (&one.remote, &other.remote) {
        (Some(one), Some(other)) if one == other => Kinship::Clones,
        (Some(one), Some(other)) if !is_path(one) && !is_path(other) => Kinship::Apart,
        _ => Kinship::Unclear,
    }
}

/// Whether both go back to one commit.
pub(super) fn share_root(one: &RepositoryIdentity, other: &RepositoryIdentity) -> bool {
    one.roots.iter().any(|root| other.roots.contains(root))
}

/// All repositories that are known, with those of other ledgers behind the others.
///
/// # Errors
/// Those of the ledger.
pub fn known(tx: &mut dyn Transaction) -> Result<Vec<RepositoryRecord>, LedgerError> {
    let mut all = tx.repositories()?;
    let elsewhere = tx.replica_repositories()?;
    all.extend(elsewhere.into_iter().map(RepositoryRecord::from));
    Ok(all)
}

/// What repositories are called: by the name that was given, by the directory, or by that and its machine. Where a row of
/// them is damaged, only their ids are left.
///
/// # Errors
/// Those of the ledger.
pub fn names_by_id(
    tx: &mut dyn Transaction,
) -> Result<BTreeMap<RepositoryId, String>, LedgerError> {
    let all = undamaged(known(tx))?.unwrap_or_default().into_iter();
    Ok(all.map(|r| (r.id, r.common_dir)).collect())
}

/// The same of some repositories, without a look at all those of other ledgers.
///
/// # Errors
/// Those of the ledger.
pub fn names_of(
    tx: &mut dyn Transaction,
    ids: impl IntoIterator<Item = RepositoryId>,
) -> Result<BTreeMap<RepositoryId, String>, LedgerError> {
    let mut names = BTreeMap::new();
    let mut own: BTreeSet<RepositoryId> = ids.into_iter().collect();
    for id in own.clone() {
        if let Some(replica) = undamaged(tx.replica_repository(id))?.flatten() {
            names.insert(id, RepositoryRecord::from(replica).common_dir);
            own.remove(&id);
        }
    }
    if !own.is_empty() {
        let mut known = undamaged(tx.repositories())?.unwrap_or_default();
        known.retain(|r| own.contains(&r.id));
        names.extend(known.into_iter().map(|r| (r.id, r.common_dir)));
    }
    Ok(names)
}

/// The name of the remote that a text stands for: an address, or the name itself.
#[must_use]
pub fn remote_of(text: &str) -> Option<String> {
    // Without a scheme it is a name already, with `.git` at its end or without.
    remote_name(text).or_else(|| remote_name(&format!("ssh://{text}")))
}

/// The repositories of a name: the id of one, the name that answers have for it, or an address that it is fetched from,
/// which several may have. Those of forks are among them: nobody says which one is meant.
///
/// # Errors
/// Those of the ledger.
pub fn named(tx: &mut dyn Transaction, name: &str) -> Result<Vec<RepositoryId>, LedgerError> {
    let remote = remote_of(name);
    let id = name.parse::<RepositoryId>().ok();
    let is_it = |r: &RepositoryRecord| {
        let is_remote = remote.is_some() && r.identity.hosted_remote() == remote.as_deref();
        is_remote || id == Some(r.id) || r.common_dir == name
    };
    // Nothing but its name tells where one is fetched from that others named here: by any form of its address.
    let is_address = |r: &RepositoryRecord| {
        remote.is_some() && !r.is_here() && remote_of(&r.common_dir) == remote
    };
    let mut found = tx.repositories()?;
    found.retain(|r| is_it(r) || is_address(r));
    let elsewhere = tx.replica_repositories()?.into_iter();
    found.extend(elsewhere.map(RepositoryRecord::from).filter(is_it));
    Ok(found.into_iter().map(|r| r.id).collect())
}

/// The repositories that a token is limited to, with their clones: nothing where it is not, and an empty list where none
/// of them is known.
///
/// # Errors
/// Those of the ledger.
pub fn within(
    tx: &mut dyn Transaction,
    limits: &Limits,
) -> Result<Option<Vec<RepositoryId>>, LedgerError> {
    if limits.repositories().is_empty() {
        return Ok(None);
    }
    let mut ids = Vec::new();
    for name in limits.repositories() {
        ids.extend(named(tx, name)?);
    }
    ids.sort();
    ids.dedup();
    clones(tx, &ids).map(Some)
}

/// All known clones of some repositories, in this ledger and in others, with themselves before them.
///
/// # Errors
/// Those of the ledger.
pub fn clones(
    tx: &mut dyn Transaction,
    of: &[RepositoryId],
) -> Result<Vec<RepositoryId>, LedgerError> {
    let mut all = of.to_vec();
    for group in groups(tx)? {
        if group.iter().any(|r| of.contains(&r.id)) {
            let others = group.iter().map(|r| r.id).filter(|id| !of.contains(id));
            all.extend(others);
        }
    }
    Ok(all)
}

/// Puts one and the same of these repositories in the place of each of its clones among them: a directory of this machine
/// where one is.
///
/// # Errors
/// Those of the ledger.
pub(crate) fn unite_clones<'i>(
    tx: &mut dyn Transaction,
    ids: impl IntoIterator<Item = &'i mut RepositoryId>,
) -> Result<(), LedgerError> {
    let ids: Vec<&mut RepositoryId> = ids.into_iter().collect();
    // Whoever asks of one alone is told of no other place.
    let named: BTreeSet<RepositoryId> = ids.iter().map(|id| **id).collect();
    if named.len() < 2 {
        return Ok(());
    }
    let mut first_of: BTreeMap<RepositoryId, RepositoryId> = BTreeMap::new();
    for mut group in groups(tx)? {
        group.retain(|r| named.contains(&r.id));
        if let Some(first) = group.iter().min_by_key(|r| (!r.is_here(), r.id)) {
            first_of.extend(group.iter().map(|r| (r.id, first.id)));
        }
    }
    for id in ids {
        if let Some(first) = first_of.get(&*id) {
            *id = *first;
        }
    }
    Ok(())
}

/// All known repositories, each with its clones. One of another ledger has the remote of each of its clones, so it is
/// compared with no others.
fn groups(tx: &mut dyn Transaction) -> Result<Vec<Vec<RepositoryRecord>>, LedgerError> {
    let mut groups = Vec::new();
    let mut others = tx.repositories()?;
    let mut elsewhere: BTreeMap<String, Vec<RepositoryRecord>> = BTreeMap::new();
    for record in tx
        .replica_repositories()?
        .into_iter()
        .map(RepositoryRecord::from)
    {
        match record.identity.remote.clone() {
            Some(remote) => elsewhere.entry(remote).or_default().push(record),
            None => groups.push(vec![record]),
        }
    }
    loop {
        let Some(first) = others.pop() else {
            match elsewhere.pop_first() {
                Some((_, records)) => others = records,
                None => return Ok(groups),
            }
            continue;
        };
        let mut group = vec![first];
        let mut next = 0;
        while let Some(one) = group.get(next) {
            let remote = one.identity.remote.as_ref();
            others.extend(
                remote
                    .and_then(|r| elsewhere.remove(r))
                    .into_iter()
                    .flatten(),
            );
            let is_clone = |other: &RepositoryRecord| kinship(one, other) == Kinship::Clones;
            let (clones, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_clone);
            others = rest;
            group.extend(clones);
            next += 1;
        }
        groups.push(group);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use siglum_domain::Oid;
    use uuid::Uuid;

    use super::*;

    pub(in super::super) fn record(n: u128, root: &str, remote: Option<&str>) -> RepositoryRecord {
        RepositoryRecord {
            id: RepositoryId::from_uuid(Uuid::from_u128(n)),
            common_dir: format!("/r{n}/.git"),
            worktrees: Vec::new(),
            identity: RepositoryIdentity {
                roots: Oid::new(root.repeat(40)).into_iter().collect(),
                remote: remote.map(str::to_owned),
                clone_of: None,
            },
        }
    }

    #[test]
    fn roots_and_remotes_tell_clones_from_forks() {
        let one = record(1, "a", Some("host/o/r"));
        let stated = RepositoryRecord {
            identity: RepositoryIdentity {
                clone_of: Some(one.id),
                ..RepositoryIdentity::default()
            },
            ..record(2, "", None)
        };
        for (other, expected) in [
            (record(2, "a", Some("host/o/r")), Kinship::Clones),
            (record(2, "a", Some("host/me/r")), Kinship::Apart),
            (record(2, "a", Some("/r")), Kinship::Unclear),
            (record(2, "a", None), Kinship::Unclear),
            (record(2, "b", Some("host/o/r")), Kinship::Apart),
            (record(2, "", Some("host/o/r")), Kinship::Unclear),
            (record(2, "", Some("host/me/r")), Kinship::Apart),
            (record(2, "", None), Kinship::Apart),
            (stated, Kinship::Clones),
        ] {
            assert_eq!(kinship(&one, &other), expected, "{other:?}");
            assert_eq!(kinship(&other, &one), expected, "{other:?}");
        }
    }
}
