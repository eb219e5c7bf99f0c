//! What trusted platforms state of commits, beside what was observed of them.

use siglum_domain::access::{Limits, Scope};
use siglum_domain::evidence::{Basis, Case, Committer, Judgement, Verdict, judge};
use siglum_domain::link::Link;
use siglum_domain::{Oid, PlatformName, RepositoryId, SessionId, TokenId, TokenName};
use siglum_gitstore::RangeCommit;
use siglum_ledger::{
    AttestedFacts, AuditFilter, CommitRecord, Durability, Mode, SeenBy, Statement, Transaction,
    attempt, write,
};
use uuid::Uuid;

use super::stage::*;
use crate::Here;
use crate::commits::attestations::standing_attestations;
use crate::commits::check::{self, Finding, Standing};
use crate::commits::shown::Shown;
use crate::commits::why::{self, Why};
use crate::driven::attestation::{ATTESTATIONS_MOST, NewAttestation, attest, withdraw};
use crate::driven::remote::{self, NewSession, RemoteError};
use crate::identity::access::{self, Caller, NewToken};

const REPOSITORY: &str = "github.com/o/r";

fn id(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(
        0x0193_0000_0000_7000_a000_0000_0000_0000 + n,
    ))
}

fn caller() -> Caller {
    Caller {
        token: TokenId::from_uuid(Uuid::from_u128(7)),
        name: "acme bot".to_owned(),
        scope: Scope::Attester,
        limits: Limits::default(),
        note_due: false,
    }
}

/// A ledger with the token of a platform and two sessions.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let token = NewToken {
        id: caller().token,
        digest: "digest".to_owned(),
        scope: Scope::Attester,
        limits: Limits::default(),
        name: TokenName::new("acme bot").unwrap(),
        by: "Ann".to_owned(),
        expires_at: None,
    };
    stage.play(|here, ledger| access::issue(here, ledger, &token).unwrap());
    for n in [1, 2] {
        let new = NewSession {
            name: None,
            id: Some(id(n)),
            home: None,
            agent: agent(),
            conversation: None,
            native: None,
            mode: Mode::Driven,
            cwd: None,
            links: Vec::new(),
            repositories: vec![REPOSITORY.to_owned()],
            from: None,
            by: "tests".to_owned(),
        };
        stage.play(|here, ledger| {
            let home = siglum_ledger::Ledger::id(ledger);
            let created = attempt(ledger, Durability::Process, |tx| {
                remote::create(here, tx, home, &new)
            });
            assert!(!created.unwrap().already);
        });
    }
    stage
}

/// Does what a route does: all of it or nothing.
fn ask<T>(
    stage: &mut Stage,
    work: impl Fn(&Here<'_>, &mut dyn Transaction) -> Result<T, RemoteError>,
) -> Result<T, RemoteError> {
    stage.play(|world, ledger| attempt(ledger, Durability::Process, |tx| work(world, tx)))
}

fn new(n: u128, commit: u8) -> NewAttestation {
    NewAttestation {
        session: id(n),
        commit: oid(commit),
        repository: REPOSITORY.to_owned(),
        attested: AttestedFacts {
            platform: PlatformName::new("github.com").ok(),
            ..AttestedFacts::default()
        },
    }
}

/// Attests; tells whether it was attested before.
fn attested(stage: &mut Stage, new: &NewAttestation) -> Result<bool, RemoteError> {
    let done = ask(stage, |here, tx| attest(here, tx, &caller(), new));
    done.map(|(_, already)| already)
}

fn withdrawn(stage: &mut Stage, n: u128, commit: u8) -> bool {
    let done = ask(stage, |here, tx| {
        withdraw(here, tx, &caller(), id(n), &oid(commit))
    });
    done.unwrap()
}

/// The answer about a commit in any repository.
fn answer(stage: &mut Stage, commit: u8) -> Option<Why> {
    stage.read(|tx| why::recorded_anywhere(tx, &oid(commit), &mut Shown::new(None)))
}

#[track_caller]
fn check_answer(stage: &mut Stage, commit: u8, committer: Option<u128>, verdict: Verdict) -> Why {
    let why = answer(stage, commit).expect("because it is attested or recorded");
    let expected = committer.map_or(Committer::Unknown, |n| Committer::Session {
        session: id(n),
    });
    let judgement = &why.judgement;
    assert_eq!(
        (judgement.committer, judgement.verdict),
        (expected, verdict),
        "{judgement:#?}"
    );
    why
}

/// Records what was observed of a commit.
fn observed(stage: &mut Stage, commit: u8, committer: Committer, verdict: Verdict) -> RepositoryId {
    let repository = RepositoryId::from_uuid(Uuid::from_u128(77));
    let record = CommitRecord {
        repository,
        commit: oid(commit),
        checkpoint: None,
        intent: None,
        judgement: Judgement {
            committer,
            verdict,
            ..judge(&Case::default())
        },
        facts: None,
        patch: None,
        at: at(5),
        seen_by: SeenBy::Hook,
    };
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            tx.note_place(&place(), repository, at(1))?;
            tx.put_commit(&record)
        })
        .unwrap();
    });
    repository
}

/// What `siglum check` says of a commit whose message names nothing.
fn checked(
    stage: &mut Stage,
    repository: Option<RepositoryId>,
    commit: u8,
) -> (Standing, Vec<Finding>) {
    let listed = RangeCommit {
        commit: oid(commit),
        parents: 1,
        author: String::new(),
        subject: String::new(),
        named: Vec::new(),
        malformed: Vec::new(),
    };
    let found = stage.play(|_, ledger| {
        check::against(
            ledger,
            repository,
            &[listed],
            &std::collections::BTreeSet::new(),
        )
        .unwrap()
    });
    let one = found.expect("because the repository is known").remove(0);
    (one.standing, one.findings)
}

/// All that is stated of a session is read with it: for each of its commits anew, that would be all of it so many times.
#[test]
fn a_session_is_read_once_for_all_answers_of_a_request() {
    let mut stage = stage();
    for commit in [1, 2] {
        attested(&mut stage, &new(1, commit)).unwrap();
    }
    let named = ask(&mut stage, |here, tx| {
        let mut shown = Shown::new(None);
        let first = why::recorded_anywhere(tx, &oid(1), &mut shown)?;
        let linked = Statement::LinkAttached {
            session: id(1),
            link: Link::IssueNumber(5),
        };
        tx.state((here.clock)(), "tests", "tests", &linked)?;
        let second = why::recorded_anywhere(tx, &oid(2), &mut shown)?;
        let both = [first, second].map(Option::unwrap);
        Ok(both.map(|why| why.sessions[&id(1)].links.clone()))
    });
    let [first, second] = named.unwrap();
    assert_eq!(first, second);
}

#[test]
fn a_commit_that_nobody_saw_is_likely_the_attested_sessions() {
    let mut stage = stage();
    assert!(answer(&mut stage, 1).is_none());
    assert!(!attested(&mut stage, &new(1, 1)).unwrap());
    let why = check_answer(&mut stage, 1, Some(1), Verdict::Likely);
    assert!(why.judgement.is_attested() && why.seen_by.is_none() && why.claim.is_none());
    assert_eq!(why.attestations.len(), 1);
    let [evidence] = why.judgement.evidence.as_slice() else {
        panic!("{:#?}", why.judgement);
    };
    assert_eq!(
        (evidence.basis, evidence.counted, evidence.session),
        (Basis::Attested, true, Some(id(1)))
    );
    let text = "attested by token acme bot of github.com at ";
    assert!(evidence.text.starts_with(text), "{}", evidence.text);
    assert!(why.sessions.contains_key(&id(1)));
    let repository = why.repository;
    let here = stage.read(|tx| why::recorded(tx, repository, &oid(1), None));
    assert!(here.is_some_and(|why| why.judgement.is_attested()));
    let elsewhere = RepositoryId::from_uuid(Uuid::from_u128(99));
    assert!(
        stage
            .read(|tx| why::recorded(tx, elsewhere, &oid(1), None))
            .is_none()
    );
    // Nothing of it is stored as a judgement, and it is audited once.
    assert!(stage.read(|tx| tx.commits_named(&oid(1))).is_empty());
    let filter = AuditFilter {
        action: Some("commit.attested".to_owned()),
        ..AuditFilter::default()
    };
    assert!(attested(&mut stage, &new(1, 1)).unwrap());
    assert_eq!(stage.read(|tx| tx.audit(&filter)).len(), 1);
}

#[test]
fn what_a_platform_says_of_the_commit_is_in_the_answer_where_git_was_not_asked() {
    let mut stage = stage();
    let mut whole = new(1, 1);
    whole.attested.tree = Some(oid(2));
    whole.attested.parents = Some(vec![oid(3), oid(4)]);
    whole.attested.committed_at = Some(at(60));
    attested(&mut stage, &whole).unwrap();
    let facts = answer(&mut stage, 1).unwrap().facts;
    assert_eq!((facts.tree, facts.committed), (oid(2), at(60)));
    assert_eq!(facts.parents, [oid(3), oid(4)]);
    // The same again is the same; anything else is another statement, which has to be withdrawn first.
    assert!(attested(&mut stage, &whole).unwrap());
    let mut other = whole.clone();
    other.attested.tree = Some(oid(9));
    for other in [
        other,
        NewAttestation {
            repository: "github.com/o/fork".to_owned(),
            ..whole
        },
        new(1, 1),
    ] {
        let refused = attested(&mut stage, &other);
        assert!(
            matches!(
                &refused,
                Err(RemoteError::Taken {
                    field: "commit",
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    assert!(withdrawn(&mut stage, 1, 1));
    assert!(!attested(&mut stage, &new(1, 1)).unwrap());
}

#[test]
fn what_was_observed_stands_and_the_answer_shows_the_contradiction() {
    let mut stage = stage();
    let session = Committer::Session { session: id(1) };
    observed(&mut stage, 1, session, Verdict::Certain);
    attested(&mut stage, &new(2, 1)).unwrap();
    let why = check_answer(&mut stage, 1, Some(1), Verdict::Certain);
    assert!(!why.judgement.is_attested());
    assert!(why.judgement.candidates.contains(&id(2)), "{why:#?}");
    let contrary = why.judgement.evidence.last().unwrap();
    assert!(!contrary.counted && contrary.text.contains("another session was observed"));
    observed(&mut stage, 2, Committer::Human, Verdict::Likely);
    attested(&mut stage, &new(2, 2)).unwrap();
    let why = answer(&mut stage, 2).unwrap();
    assert_eq!(why.judgement.committer, Committer::Human);
    // What is stored of a commit has nothing of it.
    let stored = stage.read(|tx| tx.commits_named(&oid(1))).remove(0);
    assert!(stored.judgement.evidence.is_empty() && stored.judgement.candidates.is_empty());
}

#[test]
fn an_attestation_names_who_a_recorded_commit_of_nobody_is_of() {
    let mut stage = stage();
    observed(&mut stage, 1, Committer::Unknown, Verdict::Unknown);
    attested(&mut stage, &new(2, 1)).unwrap();
    check_answer(&mut stage, 1, Some(2), Verdict::Likely);
    // Two sessions: nobody can tell, until one is withdrawn.
    attested(&mut stage, &new(1, 1)).unwrap();
    let why = check_answer(&mut stage, 1, None, Verdict::Ambiguous);
    assert_eq!(why.judgement.candidates, [id(1), id(2)]);
    assert!(withdrawn(&mut stage, 2, 1));
    check_answer(&mut stage, 1, Some(1), Verdict::Likely);
    assert!(!withdrawn(&mut stage, 2, 1), "it was withdrawn before");
    assert!(withdrawn(&mut stage, 1, 1));
    check_answer(&mut stage, 1, None, Verdict::Unknown);
    let stated = stage.read(|tx| tx.statements_of_commit_anywhere(&oid(1)));
    assert_eq!(stated.len(), 4, "what was stated stays on record");
}

#[test]
fn a_clock_that_runs_behind_withdraws_all_the_same() {
    let mut stage = stage();
    attested(&mut stage, &new(1, 1)).unwrap();
    stage.now.set(stage.now.get() - 60);
    assert!(withdrawn(&mut stage, 1, 1));
    assert!(
        stage
            .read(|tx| standing_attestations(tx, &oid(1)))
            .is_empty()
    );
}

#[test]
fn an_attestation_outlives_its_token_and_says_so() {
    let mut stage = stage();
    attested(&mut stage, &new(1, 1)).unwrap();
    stage.now.set(stage.now.get() + 60);
    let token = caller().token;
    stage.play(|here, ledger| access::revoke(here, ledger, token, "Ann").unwrap());
    let refused = stage.play(|here, ledger| {
        write(ledger, Durability::Process, |tx| {
            Ok(access::still_holds(here, tx, &caller()).map_err(|e| e.code()))
        })
        .unwrap()
    });
    assert_eq!(refused, Err("token-revoked"));
    let why = check_answer(&mut stage, 1, Some(1), Verdict::Likely);
    let text = &why.judgement.evidence[0].text;
    assert!(text.contains("; the token was revoked at "), "{text}");
    assert!(why.attestations[0].revoked_at > Some(why.attestations[0].at));
}

#[test]
fn check_passes_an_attested_commit_with_a_finding_that_can_be_denied() {
    let mut stage = stage();
    let repository = observed(&mut stage, 1, Committer::Unknown, Verdict::Unknown);
    let checked_here = |stage: &mut Stage| checked(stage, Some(repository), 1);
    assert_eq!(
        checked_here(&mut stage),
        (Standing::Unknown, vec![Finding::Unknown])
    );
    attested(&mut stage, &new(1, 1)).unwrap();
    let attested_one = (Standing::Attested(id(1)), vec![Finding::Attested]);
    assert_eq!(checked_here(&mut stage), attested_one);
    // One that is not recorded at all.
    attested(&mut stage, &new(1, 2)).unwrap();
    assert_eq!(checked(&mut stage, Some(repository), 2), attested_one);
    // A person's word comes first, and neither takes the other one away.
    let adopted = Statement::Adopted {
        repository,
        commit: oid(1),
        session: id(2),
    };
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            tx.state(at(1), "Ann", "cli", &adopted)
        })
        .unwrap();
    });
    assert_eq!(
        checked_here(&mut stage),
        (Standing::Claimed(id(2)), Vec::new())
    );
    let why = check_answer(&mut stage, 1, Some(1), Verdict::Likely);
    assert_eq!(why.claim.map(|claim| claim.session), Some(id(2)));
    // What was observed is neither.
    let session = Committer::Session { session: id(2) };
    observed(&mut stage, 1, session, Verdict::Likely);
    let standing = checked_here(&mut stage).0;
    assert_eq!(standing, Standing::Session(id(2), Verdict::Likely));
}

#[test]
fn what_cannot_be_attested_is_refused_and_leaves_nothing() {
    let mut stage = stage();
    let nobody = attested(&mut stage, &new(9, 1));
    assert!(matches!(nobody, Err(RemoteError::NoSession(session)) if session == id(9)));
    let unknown = NewAttestation {
        repository: RepositoryId::from_uuid(Uuid::from_u128(99)).to_string(),
        ..new(1, 1)
    };
    let refused = attested(&mut stage, &unknown);
    assert!(
        matches!(
            &refused,
            Err(RemoteError::Invalid {
                field: "repository",
                ..
            })
        ),
        "{refused:?}"
    );
    assert!(answer(&mut stage, 1).is_none());
    let known = stage.repository().id;
    let by_id = NewAttestation {
        repository: known.to_string(),
        ..new(1, 1)
    };
    assert!(!attested(&mut stage, &by_id).unwrap());
    assert!(
        attested(&mut stage, &new(1, 1)).unwrap(),
        "it is the same repository"
    );
}

#[test]
fn a_session_has_a_bounded_number_of_attestations() {
    let mut stage = stage();
    let repository = stage.repository().id;
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            for n in 1..=ATTESTATIONS_MOST {
                let commit = Oid::new(format!("{n:040x}")).unwrap();
                let statement = Statement::Attested {
                    repository,
                    commit,
                    session: id(1),
                    token: caller().token,
                    attested: AttestedFacts::default(),
                };
                tx.state(at(1), "tests", "api", &statement)?;
            }
            Ok(())
        })
        .unwrap();
    });
    let refused = attested(&mut stage, &new(1, 0xaa));
    assert!(
        matches!(
            &refused,
            Err(RemoteError::Invalid {
                field: "commit",
                ..
            })
        ),
        "{refused:?}"
    );
    assert!(!attested(&mut stage, &new(2, 0xaa)).unwrap());
}
