//! Who may say what through `POST /v1/replicas`: every kind of credential, and every row that a body can carry.

mod ledgers;

use std::iter::successors;

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::evidence::Committer;
use siglum_domain::link::Link;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::provenance::{Origin, Span};
use siglum_domain::{NativeId, Oid, SessionId, Timestamp, TokenId, TurnId};
use siglum_engine::share::replica::wire::{FileDocument, ParentDocument};
use siglum_engine::share::replica::{self, Batch};
use siglum_ledger::{AttestedFacts, Claim, Launch, LaunchEnd, Relation, Statement};
use uuid::Uuid;

use super::client::{Client, Reply, secret};
use super::issuers::{PEOPLE, serving};
use super::server::{
    Gateway, Store, audited, base, each_store, hand_over, limited_token, on_a_file, on_a_server,
    stored, tenant, token, token_for,
};
use crate::harness::{self, Agent, Issuer, Repo, SigningKey, World, until};

/// A machine on which two sessions made a commit each, and what it sends.
struct Laptop {
    world: World,
    batch: Batch,
    one: SessionId,
    two: SessionId,
}

/// A session that writes a file, commits it, and has a link.
fn work(repo: &Repo<'_>, name: &str, issue: u32) {
    let mut agent = Agent::start(repo, name);
    agent.prompt(&format!("do {name}"));
    agent.write(&format!("{name}.txt"), "one\ntwo\n");
    agent.sh(&format!("git add . && git commit -q -m {name}"));
    agent.stop();
    agent.end("exit");
    agent.quit();
    repo.siglum(&["link", "add", name, &format!("issue_number={issue}")])
        .ok();
}

impl Laptop {
    fn new() -> Self {
        let world = World::new();
        let repo = world.repo();
        work(&repo, "one", 41);
        work(&repo, "two", 42);
        until("the worker has left", || world.processes().is_empty());
        repo.siglum(&["worker", "--once"]).ok();
        let played = harness::Gateway::start(&world);
        repo.siglum(&["sync", "--to", &played.url, "--once"]).ok();
        let sent = played.requests();
        let mut sent = sent
            .iter()
            .map(|push| replica::decode(&push.body, &mut Vec::new()).unwrap());
        let mut batch = sent.next().unwrap();
        for more in sent {
            batch.receipts.extend(more.receipts);
            batch.statements.extend(more.statements);
        }
        let named = |name: &str| {
            let mut sessions = batch.sessions.iter();
            let found = sessions.find(|s| s.natives.iter().any(|n| n.as_str() == name));
            found.unwrap().id
        };
        let (one, two) = (named("one"), named("two"));
        assert_eq!((batch.commits.len(), batch.repositories.len()), (2, 1));
        Self {
            one,
            two,
            batch,
            world,
        }
    }

    fn repo(&self) -> Repo<'_> {
        self.world.at(&self.world.root.join("repo"))
    }

    /// An empty batch that is newer than what was sent.
    fn newer(&self) -> Batch {
        Batch::new(self.batch.ledger, self.batch.stamp.plus_millis(1_000))
    }

    fn commit_of(&self, session: SessionId) -> replica::wire::CommitDocument {
        let by = Committer::Session { session };
        let mut commits = self.batch.commits.iter();
        commits
            .find(|c| c.judgement.committer == by)
            .unwrap()
            .clone()
    }

    fn checkpoint_of(&self, session: SessionId) -> replica::wire::CheckpointDocument {
        let pins = |c: &&replica::wire::CheckpointDocument| {
            let pinned = c.pinned.as_ref().unwrap();
            pinned.commit.is_some() && pinned.pins.iter().all(|p| p.session == session)
        };
        self.batch.checkpoints.iter().find(pins).unwrap().clone()
    }

    fn session(&self, session: SessionId) -> replica::wire::SessionDocument {
        let mut sessions = self.batch.sessions.iter();
        sessions.find(|s| s.id == session).unwrap().clone()
    }

    /// What took up what this session launched.
    fn claim(&self, session: SessionId, to: SessionId) -> Statement {
        let process = ProcessIdentity {
            host: "host".to_owned(),
            boot: "boot".to_owned(),
            namespace: 1,
            pid: 9,
            start: 9,
        };
        let claim = Claim {
            to,
            agent: self.session(session).agent,
            native: NativeId::new("stolen").unwrap(),
            process,
        };
        Statement::Claimed { session, claim }
    }

    /// The statement behind another one, so that there is one of each kind: a new kind needs its place here.
    fn next_statement(&self, session: SessionId, before: &Statement) -> Option<Statement> {
        let (repository, commit) = (
            self.batch.repositories[0].id,
            self.commit_of(session).commit,
        );
        Some(match before {
            Statement::LinkAttached { .. } => Statement::LinkDetached {
                session,
                link: Link::IssueNumber(41),
            },
            Statement::LinkDetached { .. } => Statement::Adopted {
                repository,
                commit,
                session,
            },
            Statement::Adopted { .. } => Statement::Attested {
                repository,
                commit,
                session,
                token: TokenId::from_uuid(Uuid::from_u128(9)),
                attested: AttestedFacts::default(),
            },
            Statement::Attested { .. } => Statement::AttestationWithdrawn {
                repository,
                commit,
                session,
            },
            Statement::AttestationWithdrawn { .. } => {
                let end = Some(LaunchEnd::Lost);
                Statement::Ended { session, end }
            }
            Statement::Ended { .. } => Statement::WorksIn {
                session,
                repositories: vec![repository],
            },
            Statement::WorksIn { .. } => Statement::Archived { session },
            Statement::Archived { .. } => {
                let launch = Launch {
                    digest: String::new(),
                    launcher: None,
                    agent: None,
                    program: "claude".to_owned(),
                    worktree: None,
                };
                Statement::Launched { session, launch }
            }
            Statement::Launched { .. } => self.claim(session, session),
            Statement::Claimed { .. } => Statement::LaunchEnded {
                session,
                end: LaunchEnd::Lost,
                worktree: None,
            },
            Statement::LaunchEnded { .. } => Statement::Decided {
                session,
                turn: self.turn_of(session),
                decision: "discard".to_owned(),
            },
            Statement::Decided { .. } => Statement::Disowned { repository, commit },
            Statement::Disowned { .. } => return None,
        })
    }

    fn turn_of(&self, session: SessionId) -> TurnId {
        let mut receipts = self.batch.receipts.iter();
        let found = receipts.find(|r| r.receipt.session == session && !r.turns.is_empty());
        found.unwrap().turns[0].id
    }

    /// Batches with a statement of each kind about a session, with its kind and whether it names the session.
    fn statements(&self, session: SessionId) -> Vec<(String, bool, Batch)> {
        let first = Statement::LinkAttached {
            session,
            link: Link::Phase("stolen".to_owned()),
        };
        let all = successors(Some(first), |before| self.next_statement(session, before));
        let row = |statement: Statement| {
            let kind = serde_json::to_value(&statement).unwrap()["statement"].to_string();
            let is_named = statement.session().is_some();
            (format!("that {kind}"), is_named, self.stating(statement))
        };
        all.map(row).collect()
    }

    /// A batch with this statement.
    fn stating(&self, statement: Statement) -> Batch {
        let mut batch = self.newer();
        batch.statements.push(replica::wire::StatementDocument {
            sequence: 900,
            at: batch.stamp,
            by: "Ann".to_owned(),
            source: "cli".to_owned(),
            statement,
        });
        batch
    }

    /// What is about a session, and names none: a repository in which it works, and a statement about its commit.
    fn shared_rows(&self, session: SessionId) -> Vec<(String, Batch)> {
        let mut moved = self.newer();
        let mut place = self.batch.repositories[0].clone();
        place.common_dir = "/stolen/.git".to_owned();
        moved.repositories.push(place);
        let statements = self.statements(session).into_iter();
        let unnamed = statements.filter(|(_, is_named, _)| !is_named);
        let unnamed = unnamed.map(|(what, _, batch)| (what, batch));
        unnamed
            .chain([("where a repository is".to_owned(), moved)])
            .collect()
    }

    /// Everything of one session, each kind of row by itself.
    fn rows(&self, session: SessionId) -> Vec<(String, Batch)> {
        let other = if session == self.one {
            self.two
        } else {
            self.one
        };
        let documents = self.documents(session).into_iter();
        let mut rows: Vec<(String, Batch)> = documents
            .map(|(what, batch)| (what.to_owned(), batch))
            .collect();
        let statements = self.statements(session).into_iter();
        let named = statements.filter(|(_, is_named, _)| *is_named);
        rows.extend(named.map(|(what, _, batch)| (what, batch)));
        let taken_up = self.stating(self.claim(other, session));
        rows.push(("that it took up another launch".to_owned(), taken_up));
        rows
    }

    /// The documents of one session.
    fn documents(&self, session: SessionId) -> Vec<(&'static str, Batch)> {
        let with = |fill: &dyn Fn(&mut Batch)| {
            let mut batch = self.newer();
            fill(&mut batch);
            batch
        };
        let receipts = self.batch.receipts.iter();
        let receipts: Vec<_> = receipts.filter(|r| r.receipt.session == session).collect();
        vec![
            (
                "its record",
                with(&|b| b.sessions.push(self.session(session))),
            ),
            (
                "that it is erased",
                with(&|b| {
                    let mut erased = self.session(session);
                    erased.forgotten_at = Some(Timestamp::from_seconds(4_000_000_000));
                    b.sessions.push(erased);
                }),
            ),
            (
                "that entries of it are erased",
                with(&|b| {
                    let mut erased = self.session(session);
                    let entries = (1..=9).map(|sequence| replica::wire::ErasedDocument {
                        sequence,
                        fact: None,
                    });
                    erased.erased = entries.collect();
                    b.sessions.push(erased);
                }),
            ),
            (
                "where it works",
                with(&|b| {
                    let mut moved = self.session(session);
                    moved.cwd = Some("/stolen".to_owned());
                    b.sessions.push(moved);
                }),
            ),
            (
                "its receipts",
                with(&|b| b.receipts = receipts.iter().map(|r| (*r).clone()).collect()),
            ),
            (
                "its checkpoint",
                with(&|b| b.checkpoints.push(self.checkpoint_of(session))),
            ),
            (
                "its commit",
                with(&|b| b.commits.push(self.commit_of(session))),
            ),
        ]
    }
}

fn send(client: &Client, batch: &Batch) -> Reply {
    client.post("/v1/replicas", &serde_json::to_value(batch).unwrap())
}

/// What is here of the laptop, as far as others must not change it.
fn replica_state(store: &Store, gateway: &Gateway, laptop: &Laptop) -> Vec<Value> {
    let whose = if store.is_file() {
        "1 = 1"
    } else {
        "tenant = 'tests'"
    };
    let count = |of: &str| store.sql(&format!("SELECT count(*) FROM {of} AND {whose}"));
    let (rows, listed) = stored(store, gateway);
    let replicas = format!("SELECT common_dir FROM replica_repositories WHERE {whose}");
    // Values, not their text: the order of fields is nobody's.
    let mut state = vec![
        json!(rows),
        listed,
        json!(count("observations WHERE payload IS NOT NULL")),
        json!(count("sessions WHERE forgotten_at IS NOT NULL")),
        json!(store.sql(&replicas)),
    ];
    for session in [laptop.one, laptop.two] {
        let commit = laptop.commit_of(session).commit;
        let checkpoint = laptop.checkpoint_of(session).id;
        for path in [
            format!("/v1/sessions/{session}/events"),
            format!("/v1/commits/{commit}"),
            format!("/v1/checkpoints/{checkpoint}"),
        ] {
            state.push(json!(gateway.launcher().get(&path).text));
        }
    }
    state
}

/// Who may not speak for the laptop's ledger: every other kind of credential.
fn others(store: &Store, issuer: &Issuer) -> Vec<(&'static str, String)> {
    let ours = tenant(store);
    let of = |scope| token_for(store, ours, scope, None).0;
    let limited = |rights: &[Right], repositories: &[&str]| {
        let repositories = repositories.iter().map(|name| (*name).to_owned());
        let limits = Limits::new(rights.iter().copied(), repositories).unwrap();
        limited_token(store, ours, Scope::Launcher, limits, None).0
    };
    let admin = json!({ "sub": "8", "groups": ["admins"] });
    vec![
        ("another launcher", of(Scope::Launcher)),
        ("another that may attest", of(Scope::Attester)),
        ("a token for telemetry", of(Scope::Telemetry)),
        ("a token for reading", of(Scope::Read)),
        ("a launcher that only reads", limited(&[Right::Read], &[])),
        ("a launcher that only sends", limited(&[Right::Sync], &[])),
        (
            "a launcher of another repository",
            limited(&[], &["github.com/o/other"]),
        ),
        ("who logged in", issuer.token(&json!({}))),
        ("an administrator who logged in", issuer.token(&admin)),
    ]
}

#[test]
fn no_credential_says_a_row_that_is_not_its_own() {
    let laptop = Laptop::new();
    each_store(|store| {
        let issuer = Issuer::start(SigningKey::ed25519("a", 1));
        let gateway = serving(store, &issuer, PEOPLE);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let ours = tenant(store);
        let (one, two) = (laptop.one.to_string(), laptop.two.to_string());
        let (first, _) = token(store, ours, Some(&one), None);
        let (second, _) = token(store, ours, Some(&two), None);
        let others = others(store, &issuer);
        let before = replica_state(store, &gateway, &laptop);
        let refuse = |who: &str, token: &str, rows: Vec<(String, Batch)>| {
            for (what, batch) in rows {
                let answer = send(&gateway.client(token), &batch);
                assert_eq!(answer.status, 403, "{who} says {what}: {}", answer.text);
            }
            let after = replica_state(store, &gateway, &laptop);
            assert_eq!(after, before, "{who}");
        };
        for (who, token) in others {
            refuse(who, &token, laptop.rows(laptop.one));
            refuse(who, &token, laptop.shared_rows(laptop.one));
        }
        refuse("another session", &second, laptop.rows(laptop.one));
        // What names no session is left out by itself.
        for (what, batch) in laptop.shared_rows(laptop.one) {
            let answer = send(&gateway.client(&second), &batch).is(200);
            let aside = answer["positions"]["set_aside"].as_array();
            assert_eq!(aside.map(Vec::len), Some(1), "{what}: {answer}");
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        // By its own row a session's token is refused, and named is what it says of the other one.
        for (what, mut batch) in laptop.rows(laptop.two) {
            batch.sessions.push(laptop.session(laptop.one));
            let problem = send(&gateway.client(&first), &batch).problem(403, "forbidden");
            let field = problem["field"].as_str().unwrap();
            let is_named = [
                "sessions/",
                "receipts/",
                "statements/",
                "checkpoints/",
                "commits/",
            ];
            assert!(
                is_named.iter().any(|n| field.starts_with(n)),
                "{what}: {problem}"
            );
            assert!(
                problem["detail"].as_str().unwrap().contains("came from it"),
                "{problem}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        until("refusals are in the audit", || {
            audited(&gateway, "replica.refused").len() >= 60
        });
        let refused = audited(&gateway, "replica.refused");
        assert!(
            refused[0]["actor"].as_str().unwrap().starts_with("token "),
            "{refused:?}"
        );
        if !store.is_file() {
            // Another tenant has a ledger of its own: what is sent there is there.
            let (theirs, _) = token(store, "others", None, None);
            send(&gateway.client(&theirs), &laptop.batch).is(200);
            assert_eq!(replica_state(store, &gateway, &laptop), before);
        }
    });
}

#[test]
fn what_a_batch_changes_is_in_the_audit_by_kind_and_by_whose_token() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let taken = audited(&gateway, "replica.taken");
        assert_eq!(taken.len(), 1, "{taken:?}");
        let actor = taken[0]["actor"].as_str().unwrap();
        assert!(actor.starts_with("token "), "{actor}");
        let body = &taken[0]["body"];
        assert_eq!(body["ledger"], laptop.batch.ledger.to_string());
        for kind in [
            "repositories",
            "sessions",
            "receipts",
            "statements",
            "checkpoints",
            "commits",
        ] {
            assert!(body[kind].as_u64().is_some_and(|n| n > 0), "{kind}: {body}");
        }
    });
}

/// Another tenant has the same ids in a store of its own, where it may say all of it.
#[test]
fn no_credential_of_another_tenant_changes_a_row_of_this_one() {
    let laptop = Laptop::new();
    on_a_server(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let before = replica_state(store, &gateway, &laptop);
        let launcher = gateway.client(&token(store, "others", None, None).0);
        let session = gateway.client(&secret(&launcher.create(&base("S1"))));
        let mut rows = laptop.rows(laptop.one);
        rows.extend(laptop.shared_rows(laptop.one));
        let taken_of = |who: &Client| {
            let taken = rows.iter().filter(|row| send(who, &row.1).status == 200);
            taken.count()
        };
        let by_session = taken_of(&session);
        send(&launcher, &laptop.batch).is(200);
        let by_launcher = taken_of(&launcher);
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        assert!(by_launcher > by_session, "{by_launcher} and {by_session}");
    });
}

#[test]
fn a_token_of_another_repository_says_no_row_though_it_speaks_for_the_ledger() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let ours = tenant(store);
        let limits = Limits::new([], ["github.com/o/other".to_owned()]).unwrap();
        let (limited, id) = limited_token(store, ours, Scope::Launcher, limits, None);
        hand_over(store, ours, laptop.batch.ledger, id);
        let before = replica_state(store, &gateway, &laptop);
        let mut rows = laptop.rows(laptop.one);
        rows.extend(laptop.shared_rows(laptop.one));
        for (what, batch) in rows {
            let problem = send(&gateway.client(&limited), &batch).problem(403, "forbidden");
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("limited to other repositories"),
                "{what}: {problem}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
    });
}

#[test]
fn a_session_is_answered_about_itself_and_does_not_say_what_its_ledger_sent() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let asked = |stamp, after| Batch {
            asks: vec![laptop.one, laptop.two],
            after: Some(Timestamp::from_seconds(after)),
            ..Batch::new(laptop.batch.ledger, Timestamp::from_seconds(stamp))
        };
        let answered = |answer: &Value| -> Vec<String> {
            let receipts = answer["positions"]["receipts"].as_array().unwrap().iter();
            let mut sessions: Vec<String> = receipts
                .filter(|position| position["number"] != 0)
                .map(|position| position["session"].as_str().unwrap().to_owned())
                .collect();
            sessions.sort();
            sessions
        };
        let (second, _) = token(store, tenant(store), Some(&laptop.two.to_string()), None);
        let answer = send(&gateway.client(&second), &asked(6_000_000_000, 0)).is(200);
        assert_eq!(answered(&answer), [laptop.two.to_string()], "{answer}");
        assert_eq!(answer["positions"].get("remembers"), None, "{answer}");
        let answer = send(&gateway.launcher(), &asked(6_000_000_001, 5_000_000_000)).is(200);
        let mut both = [laptop.one, laptop.two].map(|session| session.to_string());
        both.sort();
        assert_eq!(answered(&answer), both, "{answer}");
        assert_eq!(answer["positions"]["remembers"], false, "{answer}");
    });
}

#[test]
fn a_session_says_of_no_lines_that_another_one_wrote_them() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let mut commit = laptop.commit_of(laptop.two);
        let whose = format!(
            "SELECT count(*) FROM authors WHERE \"commit\" = '{}' AND spans LIKE '%{}%'",
            commit.commit, laptop.one
        );
        assert_eq!(store.sql(&whose), "0");
        commit.authors = Some(vec![FileDocument {
            path: "two.txt".to_owned(),
            spans: vec![Span {
                first: 1,
                last: 2,
                origin: Origin::Session(laptop.one),
                bridged: false,
            }],
        }]);
        let mut forged = laptop.newer();
        forged.commits.push(commit);
        let (second, _) = token(store, tenant(store), Some(&laptop.two.to_string()), None);
        send(&gateway.client(&second), &forged).is(200);
        assert_eq!(store.sql(&whose), "0");
        // Their home says it.
        forged.stamp = forged.stamp.plus_millis(1_000);
        send(&gateway.launcher(), &forged).is(200);
        assert_eq!(store.sql(&whose), "1");
    });
}

#[test]
fn what_sessions_share_stays_as_it_is_and_is_named() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let first = gateway.client(&first);
        let before = replica_state(store, &gateway, &laptop);
        let mut batch = laptop.newer();
        let mut place = laptop.batch.repositories[0].clone();
        place.common_dir = "/stolen/.git".to_owned();
        batch.repositories.push(place);
        let mut stolen = laptop.commit_of(laptop.two);
        stolen.judgement.committer = Committer::Session {
            session: laptop.one,
        };
        batch.commits.push(stolen);
        let mut withdrawn = laptop.checkpoint_of(laptop.two);
        withdrawn.pinned = None;
        batch.checkpoints.push(withdrawn);
        batch.statements.push(replica::wire::StatementDocument {
            sequence: 901,
            at: batch.stamp,
            by: "Ann".to_owned(),
            source: "cli".to_owned(),
            statement: Statement::Adopted {
                repository: laptop.batch.repositories[0].id,
                commit: laptop.commit_of(laptop.two).commit,
                session: laptop.one,
            },
        });
        let answer = send(&first, &batch).is(200);
        let aside = answer["positions"]["set_aside"].as_array().unwrap();
        let named: Vec<&str> = aside
            .iter()
            .map(|s| s["document"].as_str().unwrap())
            .collect();
        assert_eq!(named.len(), 4, "{answer}");
        for kind in [
            "repositories/",
            "commits/",
            "checkpoints/",
            "statements/901",
        ] {
            assert!(
                named.iter().any(|n| n.starts_with(kind)),
                "{kind}: {named:?}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        let refused = audited(&gateway, "replica.refused");
        assert_eq!(refused[0]["body"]["documents"], 4, "{refused:?}");
        // What it sends of itself is taken again and again, and changes nothing of others'.
        let mut own = laptop.newer();
        for (_, batch) in laptop.rows(laptop.one).into_iter().take(1) {
            own.sessions = batch.sessions;
        }
        own.repositories.clone_from(&laptop.batch.repositories);
        own.commits.push(laptop.commit_of(laptop.one));
        own.checkpoints.push(laptop.checkpoint_of(laptop.one));
        let answer = send(&first, &own).is(200);
        assert_eq!(answer["positions"].get("set_aside"), None, "{answer}");
        assert_eq!(replica_state(store, &gateway, &laptop), before);
    });
}

#[test]
fn a_session_says_what_came_from_it_and_reads_nobody_elses_history() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let first = gateway.client(&first);
        let came_from = |session, relation| Some(ParentDocument { session, relation });
        // As a fork of the other one it would read what that one said.
        let mut fork = laptop.newer();
        let mut record = laptop.session(laptop.one);
        record.parent = came_from(laptop.two, Relation::Fork);
        record.parent_at = Some(1_000);
        fork.sessions.push(record);
        let problem = send(&first, &fork).problem(403, "forbidden");
        assert_eq!(problem["field"], format!("sessions/{}", laptop.one));
        let child = |n: u128, parent: SessionId| {
            let mut record = laptop.session(laptop.one);
            record.id = SessionId::from_uuid(Uuid::from_u128(n));
            record.parent = came_from(parent, Relation::Nested);
            record.natives.clear();
            record
        };
        let mut grandchild = laptop.newer();
        let below = child(0x11, laptop.one);
        grandchild.sessions = vec![child(0x12, below.id), below];
        grandchild
            .repositories
            .clone_from(&laptop.batch.repositories);
        send(&first, &grandchild).is(200);
        let mut strange = laptop.newer();
        strange.sessions.push(child(0x13, laptop.two));
        send(&first, &strange).problem(403, "forbidden");
        // The other one does not come from it because it says so.
        let mut taken = laptop.newer();
        let mut record = laptop.session(laptop.two);
        record.parent = came_from(laptop.one, Relation::Nested);
        taken.sessions.push(record);
        send(&first, &taken).problem(403, "forbidden");
    });
}

/// What a batch plants in a commit.
type Plant = fn(&mut replica::wire::CommitDocument, &str);

#[test]
fn no_text_of_a_commit_is_stored_with_a_secret() {
    let laptop = Laptop::new();
    let secret = format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let plants: [(&str, u16, Plant); 4] = [
        ("a changed path", 200, |commit, secret| {
            commit.facts.as_mut().unwrap().changes[0].path = format!("{secret}/a.rs");
        }),
        ("the path of lines", 200, |commit, secret| {
            commit.authors.as_mut().unwrap()[0].path = format!("{secret}/a.rs");
        }),
        ("the patch", 422, |commit, secret| {
            commit.patch = Some(secret.to_owned());
        }),
        ("what git did", 422, |commit, secret| {
            commit.rewritten.push(replica::wire::RewriteDocument {
                old: Oid::new("9".repeat(40)).unwrap(),
                command: secret.to_owned(),
                at: Timestamp::from_seconds(1_700_000_000),
            });
        }),
    ];
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let mut left = Vec::new();
        for (n, (what, status, plant)) in plants.iter().enumerate() {
            let mut batch = laptop.newer();
            batch.stamp = batch.stamp.plus_millis(1_000 * n as i64);
            let mut commit = laptop.commit_of(laptop.one);
            plant(&mut commit, &secret);
            batch.commits.push(commit);
            let answer = send(&gateway.launcher(), &batch);
            let rows = crate::forgetting::rows(&store.world.store());
            let is_there = rows.windows(secret.len()).any(|w| w == secret.as_bytes());
            if is_there || answer.status != *status {
                left.push(format!("{what}: {} {}", answer.status, answer.text));
            }
        }
        assert!(left.is_empty(), "{left:#?}");
    });
}

/// A commit that nobody judged here belongs to nobody.
#[test]
fn a_commit_is_not_made_somebody_elses() {
    let laptop = Laptop::new();
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let mut batch = laptop.batch.clone();
        batch.commits.clear();
        send(&gateway.launcher(), &batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let mut forged = laptop.newer();
        let mut commit = laptop.commit_of(laptop.one);
        commit.commit = Oid::new("a".repeat(40)).unwrap();
        commit.facts = None;
        commit.judgement.committer = Committer::Session {
            session: laptop.two,
        };
        forged.commits.push(commit);
        send(&gateway.client(&first), &forged).problem(403, "forbidden");
    });
}
