//! Sessions of programs that are elsewhere.

use std::time::Duration;

use siglum_domain::access::{Limits, Scope};
use siglum_domain::evidence::{Basis, Committer, Verdict};
use siglum_domain::link::Link;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, RepositoryId, SessionId, Timestamp, TokenId,
};
use siglum_ledger::{
    AuditFilter, CheckpointFilter, CheckpointKind, Durability, LaunchEnd, Mode, SessionFilter,
    Statement, TokenRecord, Transaction, attempt, write,
};
use uuid::Uuid;

use super::stage::*;
use crate::Here;
use crate::commits::why;
use crate::driven::remote::{self, Created, NewCheckpoint, NewSession, RemoteError};
use crate::identity::links::Change;
use crate::identity::links::LINKS_MOST;
use crate::identity::statements;

const BY: &str = "token one";

fn wanted() -> NewSession {
    NewSession {
        name: None,
        id: None,
        home: None,
        agent: agent(),
        conversation: None,
        native: None,
        mode: Mode::Driven,
        cwd: None,
        links: Vec::new(),
        repositories: Vec::new(),
        from: None,
        by: BY.to_owned(),
    }
}

fn id(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(
        0x0193_0000_0000_7000_a000_0000_0000_0000 + n,
    ))
}

fn conversation(name: &str) -> Option<ConversationId> {
    Some(ConversationId::new(name).unwrap())
}

/// Does what a route does: all of it or nothing.
fn ask<T>(
    stage: &mut Stage,
    work: impl Fn(&Here<'_>, &mut dyn Transaction, LedgerId) -> Result<T, RemoteError>,
) -> Result<T, RemoteError> {
    stage.play(|world, ledger| {
        let home = siglum_ledger::Ledger::id(ledger);
        attempt(ledger, Durability::Process, |tx| work(world, tx, home))
    })
}

fn create(stage: &mut Stage, new: &NewSession) -> Result<Created, RemoteError> {
    ask(stage, |here, tx, home| remote::create(here, tx, home, new))
}

/// The field that a request was refused for.
#[track_caller]
fn refused<T: std::fmt::Debug>(done: Result<T, RemoteError>) -> &'static str {
    match done {
        Err(RemoteError::Taken { field, .. } | RemoteError::Invalid { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

fn attached(stage: &mut Stage, session: SessionId) -> Vec<String> {
    let links = statements::links(&stage.read(|tx| tx.statements_of_session(session)));
    links.iter().map(Link::to_string).collect()
}

fn all(stage: &mut Stage) -> usize {
    stage
        .read(|tx| tx.sessions(&SessionFilter::default()))
        .len()
}

#[test]
fn the_same_session_is_found_by_id_by_conversation_and_by_the_agents_own_id() {
    for new in [
        NewSession {
            id: Some(id(1)),
            ..wanted()
        },
        NewSession {
            conversation: conversation("chat-7"),
            ..wanted()
        },
        NewSession {
            native: Some(native("thread-7")),
            ..wanted()
        },
        NewSession {
            id: Some(id(1)),
            conversation: conversation("chat-7"),
            native: Some(native("thread-7")),
            ..wanted()
        },
    ] {
        let mut stage = Stage::new();
        let first = create(&mut stage, &new).unwrap();
        assert!(!first.already);
        let record = first.record;
        assert_eq!(Some(record.id), new.id.or(Some(record.id)));
        let named = new.conversation.clone().map(|c| c.to_string());
        let named = named.or(new.native.as_ref().map(ToString::to_string));
        let named = named.unwrap_or_else(|| record.id.to_string());
        assert_eq!(record.conversation.as_str(), named);
        let again = create(&mut stage, &new).unwrap();
        assert!(again.already);
        assert_eq!(again.record.id, record.id);
        assert_eq!(all(&mut stage), 1);
    }
    let mut stage = Stage::new();
    // Nobody named them: they are two.
    create(&mut stage, &wanted()).unwrap();
    create(&mut stage, &wanted()).unwrap();
    assert_eq!(all(&mut stage), 2);
}

#[test]
fn another_session_is_not_given_in_place_of_the_one_that_was_meant() {
    let mut stage = Stage::new();
    let first = NewSession {
        id: Some(id(1)),
        conversation: conversation("chat"),
        links: vec![Link::IssueNumber(1)],
        ..wanted()
    };
    create(&mut stage, &first).unwrap();
    let other = |change: &dyn Fn(&mut NewSession)| {
        let mut new = NewSession {
            links: vec![Link::IssueNumber(2)],
            ..first.clone()
        };
        change(&mut new);
        new
    };
    for (new, field) in [
        (other(&|n| n.id = Some(id(2))), "conversation_id"),
        (
            other(&|n| n.conversation = conversation("x")),
            "conversation_id",
        ),
        (
            other(&|n| n.agent = AgentName::new("codex").unwrap()),
            "agent",
        ),
        (other(&|n| n.mode = Mode::Observed), "mode"),
        (
            other(&|n| n.home = Some(LedgerId::from_uuid(Uuid::from_u128(9)))),
            "home",
        ),
    ] {
        assert_eq!(refused(create(&mut stage, &new)), field, "{new:?}");
    }
    assert_eq!(all(&mut stage), 1);
    assert_eq!(attached(&mut stage, id(1)), ["issue 1"]);
    // Another agent may call its own conversation the same.
    let theirs = other(&|n| {
        n.id = None;
        n.agent = AgentName::new("codex").unwrap();
    });
    assert!(!create(&mut stage, &theirs).unwrap().already);
}

#[test]
fn one_that_is_at_home_elsewhere_is_recorded_by_its_home() {
    let mut stage = Stage::new();
    let home = LedgerId::from_uuid(Uuid::from_u128(9));
    let new = NewSession {
        id: Some(id(1)),
        home: Some(home),
        mode: Mode::Observed,
        native: Some(native("theirs")),
        repositories: vec!["github.com/o/r".to_owned()],
        links: vec![Link::PrNumber(7)],
        ..wanted()
    };
    let created = create(&mut stage, &new).unwrap();
    assert_eq!(created.record.home, home);
    assert_eq!(created.record.repository, None);
    // A hook does not find it, and no repository is noted.
    assert_eq!(stage.named("theirs"), None);
    assert!(stage.read(|tx| tx.repositories()).is_empty());
    assert_eq!(attached(&mut stage, id(1)), ["PR 7"]);
    assert!(create(&mut stage, &new).unwrap().already);
    assert!(ends(&mut stage, id(1), &LaunchEnd::Completed).unwrap());
    let record = stage.session(id(1));
    assert!(record.ended_at.is_some());
    assert_eq!(record.head, 0, "its log is its home's");
    assert!(
        stage
            .read(|tx| tx.checkpoints(&CheckpointFilter::default()))
            .is_empty()
    );
}

#[test]
fn links_are_attached_again_and_never_too_many() {
    let mut stage = Stage::new();
    let label = |n: usize| Link::Label {
        key: format!("k{n}"),
        value: String::new(),
    };
    let new = |links: Vec<Link>| NewSession {
        id: Some(id(1)),
        links,
        ..wanted()
    };
    let too_many: Vec<Link> = (0..=LINKS_MOST).map(label).collect();
    assert_eq!(refused(create(&mut stage, &new(too_many))), "links");
    assert_eq!(all(&mut stage), 0);
    let twice = vec![Link::IssueNumber(1), Link::IssueNumber(1)];
    create(&mut stage, &new(twice)).unwrap();
    let stated = |stage: &mut Stage| stage.read(|tx| tx.statements_of_session(id(1))).len();
    assert_eq!(stated(&mut stage), 1);
    create(
        &mut stage,
        &new(vec![Link::IssueNumber(1), Link::PrNumber(2)]),
    )
    .unwrap();
    assert_eq!(attached(&mut stage, id(1)), ["issue 1", "PR 2"]);
    assert_eq!(stated(&mut stage), 2);
    let change = |stage: &mut Stage, links: &[Link], how: Change| {
        ask(stage, |here, tx, _| {
            remote::change_links(here, tx, id(1), links, how, BY)
        })
    };
    let rest: Vec<Link> = (0..LINKS_MOST - 2).map(label).collect();
    change(&mut stage, &rest, Change::Attach).unwrap();
    assert_eq!(
        refused(change(&mut stage, &[label(9999)], Change::Attach)),
        "links"
    );
    assert_eq!(attached(&mut stage, id(1)).len(), LINKS_MOST);
    assert_eq!(
        refused(create(&mut stage, &new(vec![label(9999)]))),
        "links"
    );
    change(&mut stage, &rest, Change::Detach).unwrap();
    assert_eq!(attached(&mut stage, id(1)), ["issue 1", "PR 2"]);
    let nobody = ask(&mut stage, |here, tx, _| {
        remote::change_links(here, tx, id(5), &[], Change::Attach, BY)
    });
    assert!(matches!(nobody, Err(RemoteError::NoSession(s)) if s == id(5)));
}

#[test]
fn a_session_works_in_the_repositories_that_were_named() {
    let mut stage = Stage::new();
    let new = NewSession {
        id: Some(id(1)),
        repositories: vec!["github.com/o/r".to_owned(), "github.com/o/s".to_owned()],
        ..wanted()
    };
    let record = create(&mut stage, &new).unwrap().record;
    let known = stage.read(|tx| tx.repositories());
    let of = |name: &str| known.iter().find(|r| r.common_dir == name).unwrap().id;
    let (first, second): (RepositoryId, RepositoryId) =
        (of("github.com/o/r"), of("github.com/o/s"));
    assert_eq!(record.repository, Some(first));
    let stated = stage.read(|tx| tx.statements_of_session(id(1)));
    let works: Vec<_> = stated
        .iter()
        .filter_map(|s| match &s.statement {
            Statement::WorksIn { repositories, .. } => Some(repositories.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(works, [vec![first, second]]);
    // The next session works in the same ones.
    let other = NewSession {
        id: Some(id(2)),
        ..new
    };
    assert_eq!(
        create(&mut stage, &other).unwrap().record.repository,
        Some(first)
    );
    assert_eq!(stage.read(|tx| tx.repositories()).len(), 2);
}

fn ends(stage: &mut Stage, session: SessionId, how: &LaunchEnd) -> Result<bool, RemoteError> {
    ask(stage, |here, tx, home| {
        remote::end(here, tx, home, session, how, BY)
    })
}

#[test]
fn an_end_is_recorded_once_and_leaves_a_checkpoint() {
    for mode in [Mode::Driven, Mode::Observed] {
        let mut stage = Stage::new();
        let new = NewSession {
            id: Some(id(1)),
            mode,
            ..wanted()
        };
        create(&mut stage, &new).unwrap();
        assert!(ends(&mut stage, id(1), &LaunchEnd::Failed { code: 3 }).unwrap());
        let first = stage.session(id(1));
        assert!(first.ended_at.is_some());
        assert_eq!(first.head, u64::from(mode == Mode::Observed));
        stage.now.set(2000);
        assert!(!ends(&mut stage, id(1), &LaunchEnd::Completed).unwrap());
        assert_eq!(stage.session(id(1)).ended_at, first.ended_at);
        let statements = stage.read(|tx| tx.statements_of_session(id(1)));
        let end = statements::stated_end(&statements).map(|(end, _)| end);
        assert_eq!(end, Some(LaunchEnd::Failed { code: 3 }));
        let checkpoints = stage.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(id(1), 9)));
        assert_eq!(checkpoints.len(), 1);
        assert_eq!(checkpoints[0].kind, CheckpointKind::End);
        let filter = AuditFilter {
            action: Some("session.ended".to_owned()),
            ..AuditFilter::default()
        };
        assert_eq!(stage.read(|tx| tx.audit(&filter)).len(), 1);
    }
    let mut stage = Stage::new();
    let nobody = ends(&mut stage, id(4), &LaunchEnd::Completed);
    assert!(matches!(nobody, Err(RemoteError::NoSession(_))));
}

/// Gives a session a token that holds until then.
fn token(stage: &mut Stage, n: u128, session: SessionId, until: Option<Timestamp>, revoked: bool) {
    let record = TokenRecord {
        expires_at: until,
        revoked_at: revoked.then(|| at(0)),
        id: TokenId::from_uuid(Uuid::from_u128(n)),
        digest: format!("{n:064x}"),
        scope: Scope::Session(session),
        limits: Limits::default(),
        name: "one".to_owned(),
        by: BY.to_owned(),
        created_at: at(0),
        replaced_by: None,
        last_used_at: None,
    };
    write(&mut stage.ledger, Durability::Process, |tx| {
        tx.put_token(&record)
    })
    .unwrap();
}

#[test]
fn what_nobody_can_act_for_any_more_expires() {
    let mut stage = Stage::new();
    let cases = [
        // Silent, and all its tokens are over.
        (1, &[(Some(500), false), (None, true)][..], true),
        // One of them holds.
        (2, &[(Some(500), false), (Some(99_999), false)], false),
        (3, &[(None, false)], false),
        // It never had one.
        (4, &[], false),
        // Something was heard of it.
        (5, &[(Some(500), false)], false),
    ];
    for (n, tokens, _) in &cases {
        create(
            &mut stage,
            &NewSession {
                id: Some(id(*n)),
                ..wanted()
            },
        )
        .unwrap();
        for (at_once, (until, revoked)) in tokens.iter().enumerate() {
            let number = n * 10 + at_once as u128;
            token(&mut stage, number, id(*n), until.map(at), *revoked);
        }
    }
    stage.now.set(9_000);
    ask(&mut stage, |here, tx, _| {
        remote::keep_alive(tx, id(5), here.now())
    })
    .unwrap();
    let expire = |stage: &mut Stage| {
        ask(stage, |here, tx, home| {
            remote::expire(here, tx, home, Duration::from_secs(3_600))
        })
        .unwrap()
    };
    let expected: Vec<SessionId> = cases.iter().filter(|c| c.2).map(|c| id(c.0)).collect();
    assert_eq!(expire(&mut stage), expected);
    assert!(expire(&mut stage).is_empty());
    for (n, _, over) in &cases {
        assert_eq!(stage.session(id(*n)).ended_at.is_some(), *over, "{n}");
    }
}

fn record(
    stage: &mut Stage,
    new: &NewCheckpoint,
) -> Result<(siglum_ledger::CheckpointRecord, bool), RemoteError> {
    ask(stage, |here, tx, _| remote::checkpoint(here, tx, new, BY))
}

#[test]
fn a_checkpoint_is_recorded_once_and_another_one_is_not_it() {
    let mut stage = Stage::new();
    for n in [1, 2] {
        let new = NewSession {
            id: Some(id(n)),
            ..wanted()
        };
        create(&mut stage, &new).unwrap();
    }
    let chosen = CheckpointId::from_uuid(Uuid::from_u128(0x77));
    let commit = |n: u8| Some(("github.com/o/r".to_owned(), oid(n)));
    let new = NewCheckpoint {
        id: Some(chosen),
        session: id(1),
        sequence: None,
        commit: commit(1),
    };
    let (first, already) = record(&mut stage, &new).unwrap();
    assert!(!already);
    assert_eq!((first.id, first.kind), (chosen, CheckpointKind::Commit));
    assert_eq!(record(&mut stage, &new).unwrap(), (first.clone(), true));
    // The same claim without an id, or with another one, is the same checkpoint.
    for other in [None, Some(CheckpointId::from_uuid(Uuid::from_u128(0x78)))] {
        let again = NewCheckpoint {
            id: other,
            ..new.clone()
        };
        assert_eq!(record(&mut stage, &again).unwrap(), (first.clone(), true));
    }
    for other in [
        NewCheckpoint {
            commit: commit(2),
            ..new.clone()
        },
        NewCheckpoint {
            session: id(2),
            ..new.clone()
        },
        NewCheckpoint {
            commit: None,
            ..new.clone()
        },
    ] {
        assert_eq!(refused(record(&mut stage, &other)), "id", "{other:?}");
    }
    let behind = NewCheckpoint {
        sequence: Some(1),
        id: None,
        ..new
    };
    let ahead = record(&mut stage, &behind);
    assert!(
        matches!(ahead, Err(RemoteError::Ahead { head: 0 })),
        "{ahead:?}"
    );
    assert_eq!(
        stage
            .read(|tx| tx.checkpoints(&CheckpointFilter::default()))
            .len(),
        1
    );
}

#[test]
fn a_commit_that_two_sessions_claim_is_claimed_by_both_and_by_no_committer() {
    let mut stage = Stage::new();
    for n in [1, 2] {
        let new = NewSession {
            id: Some(id(n)),
            links: vec![Link::IssueNumber(u64::try_from(n).unwrap())],
            ..wanted()
        };
        create(&mut stage, &new).unwrap();
        let claims = NewCheckpoint {
            id: None,
            session: id(n),
            sequence: None,
            commit: Some(("github.com/o/r".to_owned(), oid(1))),
        };
        assert!(!record(&mut stage, &claims).unwrap().1);
    }
    let repository = stage.repository().id;
    let found = stage.read(|tx| why::recorded(tx, repository, &oid(1), None));
    let why = found.expect("because it is claimed");
    assert_eq!(why.judgement.committer, Committer::Unknown);
    assert!(why.judgement.verdict <= Verdict::Ambiguous, "{why:?}");
    let signs = why.judgement.evidence.iter();
    let mut claimed: Vec<SessionId> = signs
        .filter(|e| e.basis == Basis::Claimed)
        .filter_map(|e| e.session)
        .collect();
    claimed.sort();
    assert_eq!(claimed, [id(1), id(2)]);
    let named: Vec<SessionId> = why.sessions.keys().copied().collect();
    assert_eq!(named, [id(1), id(2)]);
    // Neither works in this repository: whoever is limited to it is not told of them.
    let limited = stage.read(|tx| why::recorded(tx, repository, &oid(1), Some(&[repository])));
    let limited = limited.expect("because it is claimed");
    assert!(limited.sessions.is_empty(), "{limited:?}");
    let judgement = &limited.judgement;
    assert!(judgement.candidates.is_empty(), "{limited:?}");
    let mut evidence = judgement.evidence.iter();
    assert!(evidence.all(|e| e.session.is_none()), "{limited:?}");
}
