//! Repositories that lie on several machines: their identity is sent, and answers have them as one.

use siglum_domain::access::{Limits, Scope};
use siglum_domain::evidence::Committer;
use siglum_domain::{LedgerId, RepositoryId, SessionId, TokenId};
use siglum_ledger::{CheckpointFilter, DESTINATION, RepositoryIdentity, SessionFilter};
use uuid::Uuid;

use super::tests::{Played, TO, batch, commit, feed, launcher, oid, receiver, turn, wrote};
use super::wire::Batch;
use super::{Positions, ReplicaError, apply, decode};
use crate::identity::access::Caller;
use crate::identity::repositories::{clones, named, unite_clones};
use crate::share::project;
use crate::tests::stage::Stage;

/// A ledger of its own with a session in one repository, which goes back to a commit of this number.
struct Laptop {
    stage: Stage,
    session: SessionId,
    repository: RepositoryId,
}

impl Laptop {
    fn new(number: u8) -> Self {
        let mut stage = Stage::from_number(u128::from(number));
        stage.ids.skip(u128::from(number) * 10_000);
        stage.play(|world, ledger| {
            let scope = siglum_domain::scope::Scope::in_process();
            project::add(world, ledger, TO.name, DESTINATION, "http://t", &scope).unwrap();
        });
        let session = turn(&mut stage, &format!("laptop-{number}"), 1);
        let repository = commit(&mut stage, session, number);
        Self {
            stage,
            session,
            repository,
        }
    }

    fn known_by(mut self, root: u8, remote: Option<&str>) -> Self {
        self.identify(root, remote);
        self
    }

    fn identify(&mut self, root: u8, remote: Option<&str>) {
        let repository = self.repository;
        let identity = identity(root, remote);
        wrote(&mut self.stage, |tx| tx.set_identity(repository, &identity));
    }

    /// All that there is, as a new destination gets it.
    fn batch(&mut self) -> Batch {
        wrote(&mut self.stage, |tx| tx.restart_documents(TO.name));
        batch(&mut self.stage)
    }
}

fn identity(root: u8, remote: Option<&str>) -> RepositoryIdentity {
    RepositoryIdentity {
        roots: vec![oid(root)],
        remote: remote.map(str::to_owned),
        clone_of: None,
    }
}

fn known(to: &mut Stage, repository: RepositoryId) -> RepositoryIdentity {
    let found = to.read(|tx| tx.replica_repository(repository));
    found.unwrap().identity
}

/// The repositories of a name with their clones, in order.
fn repositories_named(to: &mut Stage, name: &str) -> Vec<RepositoryId> {
    let mut found = to.read(|tx| {
        let named = named(tx, name)?;
        clones(tx, &named)
    });
    found.sort_unstable();
    found
}

fn sorted<const N: usize>(mut ids: [RepositoryId; N]) -> [RepositoryId; N] {
    ids.sort_unstable();
    ids
}

fn take(to: &mut Stage, caller: &Caller, batch: &Batch) -> Result<Positions, ReplicaError> {
    to.play(|world, ledger| apply(world, ledger, caller, batch))
}

#[test]
fn a_repository_on_two_laptops_is_one() {
    let mut to = receiver();
    let mut one = Laptop::new(11).known_by(1, Some("host/o/r"));
    let mut two = Laptop::new(12).known_by(1, Some("host/o/r"));
    for from in [&mut one, &mut two] {
        feed(&mut from.stage, &mut Played::to(&mut to));
    }
    let both = sorted([one.repository, two.repository]);
    for name in [
        "host/o/r",
        "host/o/r.git",
        "https://host/o/r.git",
        "git@host:o/r.git",
        &one.repository.to_string(),
        "laptop:/home/dev/main/.git",
    ] {
        assert_eq!(repositories_named(&mut to, name), both, "{name}");
    }
    for name in ["host/o/other", "o/r", "r", "/home/dev/main/.git", ""] {
        let none = repositories_named(&mut to, name);
        assert!(none.is_empty(), "{name}: {none:?}");
    }
    let filter = SessionFilter {
        repositories: both.to_vec(),
        ..SessionFilter::default()
    };
    let listed = to.read(|tx| tx.sessions(&filter));
    let mut listed: Vec<SessionId> = listed.into_iter().map(|l| l.record.id).collect();
    listed.sort_unstable();
    assert_eq!(listed, [one.session, two.session]);
    let mut filter = CheckpointFilter {
        repositories: both.to_vec(),
        ..CheckpointFilter::default()
    };
    let pinned = to.read(|tx| tx.checkpoints(&filter));
    let mut commits: Vec<_> = pinned.iter().filter_map(|c| c.commit.clone()).collect();
    commits.sort_unstable();
    assert_eq!(commits, [oid(11), oid(12)]);
    filter.limit = 1;
    let newest = to.read(|tx| tx.checkpoints(&filter));
    assert_eq!(newest, pinned[..1]);
    let united = to.read(|tx| {
        let mut ids = [two.repository, one.repository];
        unite_clones(tx, &mut ids)?;
        Ok(ids)
    });
    assert_eq!(united, [one.repository, one.repository]);
}

#[test]
fn forks_are_apart_and_a_remote_names_all_that_have_it() {
    let mut to = receiver();
    let mut one = Laptop::new(11).known_by(1, Some("host/o/r"));
    let mut fork = Laptop::new(12).known_by(1, Some("host/me/r"));
    let mut other = Laptop::new(13).known_by(2, Some("host/o/r"));
    let mut silent = Laptop::new(14).known_by(1, None);
    for from in [&mut one, &mut fork, &mut other, &mut silent] {
        feed(&mut from.stage, &mut Played::to(&mut to));
    }
    for laptop in [&one, &fork, &other, &silent] {
        let id = laptop.repository;
        assert_eq!(repositories_named(&mut to, &id.to_string()), [id]);
    }
    assert_eq!(repositories_named(&mut to, "host/me/r"), [fork.repository]);
    let both = sorted([one.repository, other.repository]);
    assert_eq!(repositories_named(&mut to, "host/o/r"), both);
}

#[test]
fn an_identity_is_sent_when_it_is_known_and_again_when_it_changes() {
    let mut to = receiver();
    let mut from = Laptop::new(11);
    let id = from.repository;
    feed(&mut from.stage, &mut Played::to(&mut to));
    assert_eq!(known(&mut to, id), RepositoryIdentity::default());
    // Where a path on that machine is fetched from says nothing elsewhere.
    from.identify(1, Some("/srv/git/r.git"));
    feed(&mut from.stage, &mut Played::to(&mut to));
    assert_eq!(known(&mut to, id), identity(1, None));
    from.identify(1, Some("host/o/r"));
    feed(&mut from.stage, &mut Played::to(&mut to));
    assert_eq!(known(&mut to, id), identity(1, Some("host/o/r")));
}

#[test]
fn a_batch_of_an_older_program_is_taken_and_changes_no_identity() {
    let mut to = receiver();
    let mut from = Laptop::new(11).known_by(1, Some("host/o/r"));
    let id = from.repository;
    let mut older = || {
        let mut json = serde_json::to_value(from.batch()).unwrap();
        let document = json["repositories"][0].as_object_mut().unwrap();
        assert!(document.remove("roots").is_some() && document.remove("remote").is_some());
        decode(&serde_json::to_vec(&json).unwrap(), &mut Vec::new()).unwrap()
    };
    take(&mut to, &launcher(), &older()).unwrap();
    assert_eq!(known(&mut to, id), RepositoryIdentity::default());
    let later = older();
    feed(&mut from.stage, &mut Played::to(&mut to));
    let wanted = identity(1, Some("host/o/r"));
    assert_eq!(known(&mut to, id), wanted);
    let mut newest = later;
    newest.stamp = from.batch().stamp.plus_millis(1);
    take(&mut to, &launcher(), &newest).unwrap();
    assert_eq!(known(&mut to, id), wanted);
    // What is no id of a commit is no batch.
    let mut spoiled = serde_json::to_value(from.batch()).unwrap();
    spoiled["repositories"][0]["roots"][0] = "HEAD".into();
    let bytes = serde_json::to_vec(&spoiled).unwrap();
    let error = decode(&bytes, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ReplicaError::Malformed(_)), "{error}");
}

#[test]
fn a_session_adds_an_identity_that_nobody_knows_and_changes_none() {
    let mut to = receiver();
    let mut from = Laptop::new(11);
    let (id, session) = (from.repository, from.session);
    feed(&mut from.stage, &mut Played::to(&mut to));
    let by_session = Caller {
        scope: Scope::Session(session),
        ..launcher()
    };
    let of_repository = |from: &mut Laptop| {
        let all = from.batch();
        Batch {
            repositories: all.repositories,
            ..Batch::new(LedgerId::from_uuid(Uuid::from_u128(11)), all.stamp)
        }
    };
    from.identify(1, Some("host/o/r"));
    let adding = of_repository(&mut from);
    let taken = take(&mut to, &by_session, &adding).unwrap();
    assert!(taken.set_aside.is_empty(), "{taken:?}");
    assert_eq!(known(&mut to, id), identity(1, Some("host/o/r")));
    from.identify(1, Some("host/o/x"));
    let changing = of_repository(&mut from);
    let taken = take(&mut to, &by_session, &changing).unwrap();
    assert_eq!(taken.set_aside.len(), 1, "{taken:?}");
    assert_eq!(known(&mut to, id), identity(1, Some("host/o/r")));
}

#[test]
fn a_token_that_is_limited_to_a_repository_sends_no_other_one() {
    let limited_to = |name: &str| Caller {
        limits: Limits::new([], [name.to_owned()]).unwrap(),
        ..launcher()
    };
    let mut to = receiver();
    let mut from = Laptop::new(11).known_by(1, Some("host/o/r"));
    let all = from.batch();
    let refused = take(&mut to, &limited_to("host/o/other"), &all).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    assert!(to.read(|tx| tx.replica_repositories()).is_empty());
    let taken = take(&mut to, &limited_to("host/o/r"), &all).unwrap();
    assert!(taken.set_aside.is_empty(), "{taken:?}");
    // What is known of a repository counts, and not what a batch says of it.
    from.identify(1, Some("host/o/other"));
    let moved = from.batch();
    let refused = take(&mut to, &limited_to("host/o/other"), &moved).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    assert_eq!(
        known(&mut to, from.repository),
        identity(1, Some("host/o/r"))
    );
    let none = Batch {
        repositories: Vec::new(),
        ..moved
    };
    let refused = take(&mut to, &limited_to("host/o/other"), &none).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
}

#[test]
fn a_token_that_is_limited_to_a_repository_makes_no_session_from_elsewhere_its_committer() {
    let limited = Caller {
        limits: Limits::new([], ["host/o/r".to_owned()]).unwrap(),
        ..launcher()
    };
    let mut to = receiver();
    let mut other = Laptop::new(12).known_by(2, Some("host/o/other"));
    feed(&mut other.stage, &mut Played::to(&mut to));
    let mut from = Laptop::new(11).known_by(1, Some("host/o/r"));
    let mut stolen = from.batch();
    let commit = stolen.commits.first_mut().expect("because it made one");
    commit.judgement.committer = Committer::Session {
        session: other.session,
    };
    let refused = take(&mut to, &limited, &stolen).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    let of_r = SessionFilter {
        repositories: vec![from.repository],
        ..SessionFilter::default()
    };
    assert!(to.read(|tx| tx.sessions(&of_r)).is_empty());
    take(&mut to, &limited, &from.batch()).unwrap();
    let listed = to.read(|tx| tx.sessions(&of_r));
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].record.id, from.session);
}

#[test]
fn a_session_of_another_ledger_has_no_part_in_a_commit_unless_the_token_speaks_for_both() {
    let stranger = Caller {
        token: TokenId::from_uuid(Uuid::from_u128(0x71)),
        ..launcher()
    };
    let mut to = receiver();
    let mut other = Laptop::new(12);
    feed(&mut other.stage, &mut Played::to(&mut to));
    let by_other = Committer::Session {
        session: other.session,
    };
    let mut from = Laptop::new(11);
    let mut stolen = from.batch();
    stolen.commits[0].judgement.committer = by_other;
    let taken = take(&mut to, &stranger, &stolen).unwrap();
    assert_eq!(taken.set_aside.len(), 1, "{taken:?}");
    assert!(to.read(|tx| tx.commits_named(&oid(11))).is_empty());
    let mut honest = from.batch();
    let judgement = &mut honest.commits[0].judgement;
    judgement.candidates = vec![other.session, from.session];
    let taken = take(&mut to, &stranger, &honest).unwrap();
    assert!(taken.set_aside.is_empty(), "{taken:?}");
    let stored = to.read(|tx| tx.commits_named(&oid(11)));
    assert_eq!(stored[0].judgement.candidates, [from.session]);
    let mut third = Laptop::new(13);
    let mut both = third.batch();
    both.commits[0].judgement.committer = by_other;
    let taken = take(&mut to, &launcher(), &both).unwrap();
    assert!(taken.set_aside.is_empty(), "{taken:?}");
    assert_eq!(to.read(|tx| tx.commits_named(&oid(13))).len(), 1);
}

#[test]
fn a_token_that_is_limited_to_an_id_gets_no_clones_by_a_remote_that_it_states() {
    let mut to = receiver();
    let mut other = Laptop::new(12).known_by(2, Some("host/o/other"));
    feed(&mut other.stage, &mut Played::to(&mut to));
    let mut from = Laptop::new(11).known_by(2, Some("host/o/other"));
    let id = from.repository;
    let limited = Caller {
        limits: Limits::new([], [id.to_string()]).unwrap(),
        ..launcher()
    };
    let refused = take(&mut to, &limited, &from.batch()).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    from.identify(1, Some("host/o/r"));
    take(&mut to, &limited, &from.batch()).unwrap();
    from.identify(2, Some("host/o/other"));
    let refused = take(&mut to, &limited, &from.batch()).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    assert_eq!(known(&mut to, id), identity(1, Some("host/o/r")));
    assert_eq!(repositories_named(&mut to, &id.to_string()), [id]);
}

#[test]
fn a_token_that_is_limited_to_a_repository_tells_of_a_session_that_names_none_any_more() {
    let limited = Caller {
        limits: Limits::new([], ["host/o/r".to_owned()]).unwrap(),
        ..launcher()
    };
    let mut to = receiver();
    let mut from = Laptop::new(11).known_by(1, Some("host/o/r"));
    let mut unknown = from.batch();
    unknown.sessions[0].repository = None;
    let refused = take(&mut to, &limited, &unknown).unwrap_err();
    assert_eq!(refused.code(), "forbidden", "{refused}");
    take(&mut to, &limited, &from.batch()).unwrap();
    let mut outside = from.batch();
    outside.sessions[0].repository = None;
    let taken = take(&mut to, &limited, &outside).unwrap();
    assert!(taken.set_aside.is_empty(), "{taken:?}");
}
