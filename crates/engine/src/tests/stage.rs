//! A ledger, a clock, ids, and what agents and git say.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use siglum_domain::intake::{AgentMatter, Intake, Matter, Place, VERSION};
use siglum_domain::observation::{
    Body, DiskState, Fact, FileVersion, Observation, Outcome, Side, Source, StartKind, ToolClass,
    event,
};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, IdSource, LedgerId, NativeId, Oid, Redacted, SessionId, Timestamp};
use siglum_gitstore::ObjectStore;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{
    LedgerError, RepositoryRecord, SessionListing, SessionRecord, Spool, SqliteLedger, Transaction,
    TranscriptRecord, read,
};
use uuid::Uuid;

use crate::identity::sighting_keys::{file_key, side_key};
use crate::record::deliver::{Delivered, deliver};
use crate::{Here, World, worker};

/// Ids that count up.
#[derive(Default)]
pub(crate) struct Ids(Cell<u128>);

impl Ids {
    /// Leaves out so many.
    pub(crate) fn skip(&self, count: u128) {
        self.0.set(self.0.get() + count);
    }
}

impl IdSource for Ids {
    fn fresh(&self) -> Uuid {
        self.0.set(self.0.get() + 1);
        Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0000 + self.0.get())
    }
}

pub(crate) struct Stage {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) ledger: SqliteLedger,
    pub(crate) ids: Ids,
    pub(crate) now: Cell<i64>,
    /// The processes that are gone.
    pub(crate) dead: RefCell<Vec<u32>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::from_number(1)
    }

    /// A stage whose ledger has a number of its own.
    pub(crate) fn from_number(number: u128) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let how = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(number)),
            key: [7; 32],
        };
        let ledger = SqliteLedger::open(&dir.path().join("ledger.db"), how).unwrap();
        Self {
            dir,
            ledger,
            ids: Ids::default(),
            now: Cell::new(1000),
            dead: RefCell::default(),
        }
    }

    /// Where file versions are.
    pub(crate) fn objects(&self) -> PathBuf {
        self.dir.path().join("objects")
    }

    pub(crate) fn spool(&self) -> Spool {
        Spool::at(&self.dir.path().join("spool"))
    }

    /// Does something with the world as this stage has it.
    pub(crate) fn play<T>(&mut self, act: impl FnOnce(&World<'_>, &mut SqliteLedger) -> T) -> T {
        let (now, dead) = (&self.now, &self.dead);
        let clock = || at(now.get());
        let alive = |p: &ProcessIdentity| Some(!dead.borrow().contains(&p.pid));
        let world = World {
            here: Here {
                ids: &self.ids,
                clock: &clock,
                alive: &alive,
                redactor: Redactor::shared(),
            },
            git: PathBuf::from("git"),
            objects: ObjectStore::open(self.objects()).unwrap(),
        };
        act(&world, &mut self.ledger)
    }

    pub(crate) fn deliver(&mut self, intake: &Intake) -> Delivered {
        deliver(&mut self.ledger, &self.ids, intake).unwrap()
    }

    /// Delivers an agent's matter and gives its session.
    pub(crate) fn hear(&mut self, matter: AgentMatter) -> SessionId {
        match self.deliver(&intake(matter)) {
            Delivered::Session(session) => session,
            other => panic!("not a session: {other:?}"),
        }
    }

    /// Reads a transcript of Claude Code to its end.
    pub(crate) fn read_transcript(&mut self, session: SessionId, id: &str, text: &str) {
        let path = self.dir.path().join(format!("{id}.jsonl"));
        std::fs::write(&path, text).unwrap();
        let record = TranscriptRecord {
            stream: id.to_owned(),
            agent: agent(),
            session,
            native: native(id),
            path: path.to_string_lossy().into_owned(),
            subagent: None,
            file: String::new(),
            read_to: 0,
            tail: String::new(),
            turn: None,
            own: false,
        };
        let spec = siglum_agents::find("claude-code").unwrap();
        self.play(|world, ledger| {
            crate::record::transcript::read_on(world, ledger, spec, &record, None).unwrap();
        });
    }

    pub(crate) fn slice(&mut self) {
        let spools = [self.spool()];
        self.play(|world, ledger| {
            worker::slice(world, ledger, &spools, &mut worker::Run::default()).unwrap()
        });
    }

    pub(crate) fn read<T>(
        &mut self,
        work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
    ) -> T {
        read(&mut self.ledger, work).unwrap()
    }

    pub(crate) fn session(&mut self, id: SessionId) -> SessionRecord {
        self.read(|tx| tx.session(id)).unwrap()
    }

    pub(crate) fn named(&mut self, native: &str) -> Option<SessionId> {
        self.read(|tx| tx.session_by_alias(&agent(), &self::native(native)))
    }

    pub(crate) fn sessions(&mut self) -> Vec<SessionListing> {
        self.read(|tx| tx.sessions(&siglum_ledger::SessionFilter::default()))
    }

    /// The repository that is there, else the first one.
    pub(crate) fn repository(&mut self) -> RepositoryRecord {
        let mut all = self.read(|tx| tx.repositories());
        let there = all.iter().position(|r| Path::new(&r.common_dir).is_dir());
        all.swap_remove(there.unwrap_or(0))
    }
}

pub(crate) const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_795_000_000 + seconds)
}

pub(crate) fn agent() -> AgentName {
    AgentName::new("claude-code").unwrap()
}

pub(crate) fn native(id: &str) -> NativeId {
    NativeId::new(id).unwrap()
}

pub(crate) fn oid(n: u8) -> Oid {
    Oid::new(format!("{n:02x}").repeat(20)).unwrap()
}

pub(crate) fn place() -> Place {
    place_at("/home/dev/main")
}

pub(crate) fn place_at(worktree: &str) -> Place {
    Place {
        common_dir: "/home/dev/main/.git".to_owned(),
        worktree: worktree.to_owned(),
    }
}

pub(crate) fn process(pid: u32) -> ProcessIdentity {
    ProcessIdentity {
        host: "h".into(),
        boot: "b".into(),
        namespace: 1,
        pid,
        start: u64::from(pid),
    }
}

/// What a hook of the session says, at the time of its last observation.
pub(crate) fn says(id: &str, observations: Vec<Observation>) -> AgentMatter {
    AgentMatter {
        cwd: Some("/home/dev/main".to_owned()),
        place: Some(place()),
        observations,
        ..AgentMatter::new(agent(), native(id))
    }
}

pub(crate) fn in_process(pid: u32, matter: AgentMatter) -> AgentMatter {
    AgentMatter {
        process: Some(process(pid)),
        ..matter
    }
}

pub(crate) fn intake(matter: AgentMatter) -> Intake {
    let last = matter.observations.iter().map(|o| o.at).max();
    let key = matter.observations.iter().map(|o| o.key.as_str());
    Intake {
        version: VERSION,
        key: format!("{}:{}", matter.native, key.collect::<Vec<_>>().join(",")),
        at: last.unwrap_or(at(0)),
        matter: Matter::Agent(matter),
    }
}

pub(crate) fn text(text: &str) -> Body {
    Body::Text(Redacted::from_stored(text.to_owned()))
}

fn seen(key: String, event: String, seconds: i64, turn: Option<&str>, fact: Fact) -> Observation {
    Observation {
        source: Source::Hook,
        key,
        event,
        at: at(seconds),
        turn: turn.map(str::to_owned),
        subagent: None,
        fact,
    }
}

pub(crate) fn started(seconds: i64, how: StartKind) -> Observation {
    let key = format!("start:{seconds}");
    seen(
        key.clone(),
        key,
        seconds,
        None,
        Fact::SessionStarted { how, model: None },
    )
}

pub(crate) fn ended(seconds: i64) -> Observation {
    let key = format!("end:{seconds}");
    let reason = "other".to_owned();
    seen(
        key.clone(),
        key,
        seconds,
        None,
        Fact::SessionEnded { reason },
    )
}

pub(crate) fn prompt(turn: &str, seconds: i64) -> Observation {
    let fact = Fact::Prompt {
        text: text(&format!("Do {turn}")),
        synthetic: false,
    };
    seen(
        format!("prompt:{turn}"),
        event::prompt(turn),
        seconds,
        Some(turn),
        fact,
    )
}

pub(crate) fn stopped(turn: &str, seconds: i64) -> Observation {
    let fact = Fact::Stopped {
        last_message: Some(text("done")),
        background: Vec::new(),
        failure: None,
    };
    seen(
        format!("stop:{turn}"),
        event::stop(turn),
        seconds,
        Some(turn),
        fact,
    )
}

/// A prompt and the answer one second later, with which the turn is over, as a transcript of Claude Code has them.
pub(crate) fn transcript_of(id: &str, turn: &str, seconds: i64) -> String {
    let line = |kind: &str, seconds: i64, message: serde_json::Value| {
        let line = serde_json::json!({
            "type": kind, "uuid": format!("{kind}-{turn}"), "timestamp": at(seconds).to_string(),
            "sessionId": id, "promptId": turn, "message": message,
        });
        format!("{line}\n")
    };
    let asked = serde_json::json!({ "role": "user", "content": format!("Do {turn}") });
    let answer = serde_json::json!({
        "id": format!("msg-{turn}"), "role": "assistant", "model": "claude-opus-5-5",
        "content": [{ "type": "text", "text": "Done." }], "stop_reason": "end_turn",
    });
    line("user", seconds, asked) + &line("assistant", seconds + 1, answer)
}

pub(crate) fn call(id: &str, turn: &str, seconds: i64, class: ToolClass) -> Observation {
    let fact = Fact::ToolStarted {
        tool: "Tool".to_owned(),
        class,
        input: text("ls"),
        path: None,
    };
    seen(
        format!("pre:{id}"),
        event::tool(id),
        seconds,
        Some(turn),
        fact,
    )
}

pub(crate) fn returned(
    id: &str,
    turn: &str,
    seconds: i64,
    class: ToolClass,
    output: &str,
) -> Observation {
    let fact = Fact::ToolEnded {
        tool: "Tool".to_owned(),
        class,
        outcome: Outcome::Ok,
        output: Some(text(output)),
        duration_ms: None,
    };
    seen(
        format!("post:{id}"),
        event::tool(id),
        seconds,
        Some(turn),
        fact,
    )
}

pub(crate) fn file(
    id: &str,
    turn: &str,
    seconds: i64,
    side: Side,
    content: Option<u8>,
) -> Observation {
    file_at("a.rs", (id, turn), seconds, side, content)
}

pub(crate) fn file_at(
    path: &str,
    (id, turn): (&str, &str),
    seconds: i64,
    side: Side,
    content: Option<u8>,
) -> Observation {
    let version = content.map(|n| FileVersion {
        blob: oid(n),
        object: None,
        bytes: u64::from(n),
    });
    let fact = Fact::FileSeen {
        path: path.to_owned(),
        side,
        version,
        disk: DiskState::default(),
        write: None,
        place: None,
    };
    let event = event::tool(id);
    seen(
        file_key(&event, path, side),
        event,
        seconds,
        Some(turn),
        fact,
    )
}

pub(crate) fn head(id: &str, turn: &str, seconds: i64, side: Side, commit: u8) -> Observation {
    let fact = Fact::HeadSeen {
        side,
        commit: Some(oid(commit)),
        arrival: None,
        log: None,
        moves: Vec::new(),
    };
    let event = event::tool(id);
    seen(
        side_key("head", &event, side),
        event,
        seconds,
        Some(turn),
        fact,
    )
}
