//! A machine of the team, and every row that it can say in a body.

use std::iter::successors;

use serde_json::{Value, json};
use siglum_domain::evidence::Committer;
use siglum_domain::link::Link;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{NativeId, SessionId, Timestamp, TokenId, TurnId};
use siglum_engine::share::replica::{self, Batch};
use siglum_ledger::{AttestedFacts, Claim, Launch, LaunchEnd, Statement};
use uuid::Uuid;

use crate::gateway::client::{Client, Reply};
use crate::gateway::server::{Gateway, Store, stored};
use crate::harness::{self, Agent, Repo, World, until};

/// A machine on which two sessions made a commit each, and what it sends.
pub(super) struct Laptop {
    pub(super) world: World,
    pub(super) batch: Batch,
    pub(super) one: SessionId,
    pub(super) two: SessionId,
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
    pub(super) fn new() -> Self {
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

    pub(super) fn repo(&self) -> Repo<'_> {
        self.world.at(&self.world.root.join("repo"))
    }

    /// An empty batch that is newer than what was sent.
    pub(super) fn newer(&self) -> Batch {
        Batch::new(self.batch.ledger, self.batch.stamp.plus_millis(1_000))
    }

    pub(super) fn commit_of(&self, session: SessionId) -> replica::wire::CommitDocument {
        let by = Committer::Session { session };
        let mut commits = self.batch.commits.iter();
        commits
            .find(|c| c.judgement.committer == by)
            .unwrap()
            .clone()
    }

    pub(super) fn checkpoint_of(&self, session: SessionId) -> replica::wire::CheckpointDocument {
        let pins = |c: &&replica::wire::CheckpointDocument| {
            let pinned = c.pinned.as_ref().unwrap();
            pinned.commit.is_some() && pinned.pins.iter().all(|p| p.session == session)
        };
        self.batch.checkpoints.iter().find(pins).unwrap().clone()
    }

    pub(super) fn session(&self, session: SessionId) -> replica::wire::SessionDocument {
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
    pub(super) fn statements(&self, session: SessionId) -> Vec<(String, bool, Batch)> {
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
    pub(super) fn shared_rows(&self, session: SessionId) -> Vec<(String, Batch)> {
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
    pub(super) fn rows(&self, session: SessionId) -> Vec<(String, Batch)> {
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

pub(super) fn send(client: &Client, batch: &Batch) -> Reply {
    client.post("/v1/replicas", &serde_json::to_value(batch).unwrap())
}

/// What is here of the laptop, as far as others must not change it.
pub(super) fn replica_state(store: &Store, gateway: &Gateway, laptop: &Laptop) -> Vec<Value> {
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
