//! A runtime that drives sessions of a world through the engine, and dies where it is told to.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use siglum_domain::observation::{Body, Fact, Observation, Source, ToolClass};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, ConversationId, IdSource, LedgerId, SessionId, Timestamp};
use siglum_engine::driven::turn::{self, Driver, Holder, NewSession};
use siglum_gitstore::ObjectStore;
use siglum_ledger::SqliteLedger;
use siglum_ledger::sqlite::Open;

use crate::harness::World;

/// How long a lease is of a driver that lives.
pub(super) const LIVES: Duration = Duration::from_secs(600);
/// How long it is of one that is dead at once.
pub(super) const DEAD: Duration = Duration::from_nanos(1);

struct Ids;

impl IdSource for Ids {
    fn fresh(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap())
}

/// A runtime with the ledger of a world.
pub(super) struct Runtime {
    pub(super) world: siglum_engine::World<'static>,
    pub(super) ledger: SqliteLedger,
}

impl Runtime {
    pub(super) fn new(world: &World) -> Self {
        let home = world.siglum_home();
        let how = Open::Command {
            id: LedgerId::mint(&Ids),
            key: [7; 32],
        };
        Self {
            world: siglum_engine::World {
                here: siglum_engine::Here {
                    ids: &Ids,
                    clock: &now,
                    alive: &|_| None,
                    redactor: Redactor::shared(),
                },
                git: "git".into(),
                objects: ObjectStore::open(home.join("objects")).unwrap(),
            },
            ledger: SqliteLedger::open(&home.join("ledger.db"), how).unwrap(),
        }
    }

    pub(super) fn session(&mut self, conversation: &str) -> SessionId {
        let new = NewSession {
            agent: AgentName::new("claude-code").unwrap(),
            conversation: ConversationId::new(conversation).unwrap(),
            cwd: None,
            links: Vec::new(),
            by: "the runtime".to_owned(),
        };
        let record = turn::create(&self.world, &mut self.ledger, &new).unwrap();
        record.id
    }

    /// A driver of a session, whose lease runs for so long.
    pub(super) fn driver(&mut self, session: SessionId, term: Duration) -> Driver {
        let holder = Holder {
            name: "the runtime".to_owned(),
            nonce: Ids.fresh().to_string(),
            process: None,
        };
        Driver::take(&self.world, &mut self.ledger, session, &holder, term).unwrap()
    }

    /// Opens a turn and says this in it.
    pub(super) fn open(&mut self, driver: &mut Driver, key: &str, observations: &[Observation]) {
        let before = driver
            .open(&self.world, &mut self.ledger, key, observations)
            .unwrap();
        assert_eq!(before, None);
    }

    /// Commits one whole turn.
    pub(super) fn commit(&mut self, driver: &mut Driver, key: &str, observations: &[Observation]) {
        driver
            .commit(&self.world, &mut self.ledger, key, observations)
            .unwrap();
    }
}

fn api_observation(key: String, fact: Fact) -> Observation {
    Observation {
        source: Source::Api,
        event: key.clone(),
        key,
        at: now(),
        turn: None,
        subagent: None,
        fact,
    }
}

fn body(text: &str) -> Body {
    Body::Text(Redactor::shared().redact(text))
}

pub(super) fn prompt_observation(turn: &str, text: &str) -> Observation {
    let (text, synthetic) = (body(text), false);
    api_observation(format!("{turn}.asked"), Fact::Prompt { text, synthetic })
}

pub(super) fn called(turn: &str, command: &str) -> Observation {
    let fact = Fact::ToolStarted {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        input: body(command),
        path: None,
    };
    api_observation(format!("{turn}.call"), fact)
}

pub(super) fn stopped(turn: &str) -> Observation {
    let fact = Fact::Stopped {
        last_message: Some(body("Done.")),
        background: Vec::new(),
        failure: None,
    };
    api_observation(format!("{turn}.stopped"), fact)
}
