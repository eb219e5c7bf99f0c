//! Which repositories are clones of one. It is asked when something is to be read, and decides nothing else: above all not
//! what may leave this machine.

use siglum_domain::RepositoryId;
use siglum_ledger::{LedgerError, RepositoryIdentity, RepositoryRecord, Transaction};

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

/// All clones of a repository that are known, with itself as the first.
///
/// # Errors
/// Those of the ledger.
pub fn clones(
    tx: &mut dyn Transaction,
    of: RepositoryId,
) -> Result<Vec<RepositoryId>, LedgerError> {
    let (mut found, mut others): (Vec<_>, Vec<_>) =
        tx.repositories()?.into_iter().partition(|r| r.id == of);
    let mut next = 0;
    while let Some(one) = found.get(next) {
        let is_clone = |other: &RepositoryRecord| kinship(one, other) == Kinship::Clones;
        let (clones, rest) = others.into_iter().partition(is_clone);
        others = rest;
        found.extend::<Vec<_>>(clones);
        next += 1;
    }
    match found.is_empty() {
        // Of another ledger.
        true => Ok(vec![of]),
        false => Ok(found.into_iter().map(|r| r.id).collect()),
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::Oid;
    use uuid::Uuid;

    use super::*;

    fn record(n: u128, root: &str, remote: Option<&str>) -> RepositoryRecord {
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
