//! Every door through which a session comes to be gives the same answer to the same claims and links.

use std::ffi::OsString;

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope};
use siglum_domain::audit::Action;
use siglum_domain::context::{Cause, Policy, RouteKey};
use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::link::{Link, NUMBER_MAX, Stated, from_variables};
use siglum_domain::observation::{Observation, Source, StartKind};
use siglum_domain::{AgentName, ConversationId, LedgerId, NativeId, SessionId, TokenId, TurnKey};
use siglum_ledger::{
    AuditFilter, Durability, Launch, Ledger, Mode, SessionOrigin, Statement, attempt,
};
use uuid::Uuid;

use crate::driven::context::{self, ContextError, Resolve, Want};
use crate::driven::launch;
use crate::driven::remote::{self, RemoteError};
use crate::driven::run::{self, Which};
use crate::driven::turn::{self, TurnError};
use crate::identity::access::Caller;
use crate::identity::links::{self, LINKS_MOST, LinksError};
use crate::identity::statements;
use crate::share::ingest::tests::{answer, spans};
use crate::share::replica::{self, ReplicaError};
use crate::tests::stage::*;

/// Where somebody asks for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// The first hook of an agent.
    Hook,
    /// A transcript that is imported.
    Import,
    /// Spans of a program that names its session.
    Telemetry,
    /// `siglum run`.
    Launch,
    /// The gateway, for a program that drives it.
    Api,
    /// The gateway, for a launcher elsewhere, whose agent is watched.
    ApiObserved,
    /// A program that embeds the store.
    Turns,
    /// The same, for what goes on from another session.
    Fork,
    /// A run of an agent that the gateway starts, in a conversation with a name.
    Run,
    /// The same, in one that has none yet.
    UnnamedRun,
    /// A context of a route.
    Context,
    /// A run on a schedule, which has a context of its own.
    Schedule,
    /// A batch of the ledger that the session is at home in.
    Replica,
}

const DOORS: [Door; 13] = [
    Door::Hook,
    Door::Import,
    Door::Telemetry,
    Door::Launch,
    Door::Api,
    Door::ApiObserved,
    Door::Turns,
    Door::Fork,
    Door::Run,
    Door::UnnamedRun,
    Door::Context,
    Door::Schedule,
    Door::Replica,
];

const BY: &str = "somebody";

impl Door {
    /// Whether the session is found again by what its agent or its caller calls it.
    fn names(self) -> bool {
        !matches!(self, Self::Launch | Self::UnnamedRun | Self::Schedule)
    }

    /// Whether who asks is told no. What an agent's own process does is recorded in any case.
    fn refuses(self) -> bool {
        !matches!(self, Self::Hook | Self::Import | Self::Telemetry)
    }

    /// Whether its name is a conversation id.
    fn names_conversations(self) -> bool {
        matches!(
            self,
            Self::Api | Self::ApiObserved | Self::Turns | Self::Fork | Self::Run
        )
    }

    /// Whether links come with the session.
    fn takes_links(self) -> bool {
        !matches!(self, Self::Telemetry | Self::Fork)
    }

    /// Whether the session is in the audit: somebody asked for it. Runs on a schedule would fill it, and of a replica it is
    /// in the audit of its home.
    fn is_audited(self) -> bool {
        self.refuses() && !matches!(self, Self::Schedule | Self::Replica)
    }

    /// Asks for a session that is called so; refused, it is the field and the rule.
    fn open(
        self,
        stage: &mut Stage,
        agent: &str,
        name: &str,
        links: &[Link],
    ) -> Result<SessionId, String> {
        let wanted = Wanted {
            agent: AgentName::new(agent).unwrap(),
            name,
            links,
            left_out: Vec::new(),
        };
        match self {
            Self::Hook => wanted.by_its_agent(stage, Source::Hook),
            Self::Import => wanted.by_its_agent(stage, Source::Transcript),
            Self::Telemetry => wanted.by_telemetry(stage),
            Self::Launch => wanted.by_a_launcher(stage),
            Self::Api => wanted.by_the_api(stage, Mode::Driven),
            Self::ApiObserved => wanted.by_the_api(stage, Mode::Observed),
            Self::Turns => wanted.by_a_driver(stage),
            Self::Fork => wanted.by_a_fork(stage),
            Self::Run => wanted.by_a_run(stage, Which::Named(wanted.conversation()?)),
            Self::UnnamedRun => wanted.by_a_run(stage, Which::Unnamed),
            Self::Context => wanted.by_a_route(stage, Want::Shared),
            Self::Schedule => {
                let cause = Cause::CronRun;
                wanted.by_a_route(stage, Want::Isolated { cause })
            }
            Self::Replica => wanted.by_its_home(stage),
        }
    }
}

/// A session that somebody asks for.
struct Wanted<'a> {
    agent: AgentName,
    name: &'a str,
    links: &'a [Link],
    /// Variables that were to be links and are none.
    left_out: Vec<Decline>,
}

impl Wanted<'_> {
    fn conversation(&self) -> Result<ConversationId, String> {
        ConversationId::new(self.name).map_err(|error| error.to_string())
    }

    fn by_its_agent(&self, stage: &mut Stage, source: Source) -> Result<SessionId, String> {
        NativeId::new(self.name).map_err(|error| error.to_string())?;
        let start = Observation {
            source,
            ..started(1, StartKind::Startup)
        };
        Ok(stage.hear(AgentMatter {
            agent: self.agent.clone(),
            links: stated(self.links),
            left_out: self.left_out.clone(),
            ..says(self.name, vec![start])
        }))
    }

    /// What names no session is kept with the reason.
    fn by_telemetry(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let trace = blake3::hash(format!("{} {}", self.agent, self.name).as_bytes());
        let spoken = answer(&trace.to_hex()[..32], 1, self.name);
        stage.send(&spans(self.agent.as_str(), &json!({}), &[spoken]));
        if let Some(lost) = stage.read(|tx| tx.unassigned(None, 1)).pop() {
            return Err(lost.reason);
        }
        Ok(stage.read(|tx| tx.sessions_by_native(&native(self.name)))[0].1)
    }

    /// Its home gave it an id, and states each link once.
    fn by_its_home(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let home = LedgerId::from_uuid(Uuid::from_u128(2));
        let name = blake3::hash(format!("{} {}", self.agent, self.name).as_bytes());
        let id = SessionId::from_uuid(Uuid::from_slice(&name.as_bytes()[..16]).unwrap());
        let mut links = self.links.to_vec();
        links.dedup();
        let statement = |(sequence, link): (u64, Link)| {
            let attached = Statement::LinkAttached { session: id, link };
            json!({
                "sequence": sequence, "at": at(1), "by": BY, "source": "api", "statement": attached,
            })
        };
        let first = id.uuid().as_u64_pair().0 >> 32;
        let statements: Vec<Value> = (first..).zip(links).map(statement).collect();
        let batch = json!({
            "version": replica::wire::VERSION, "ledger": home, "stamp": at(1),
            "sessions": [{
                "id": id, "agent": self.agent, "conversation_id": id, "home": home,
                "mode": Mode::Observed, "origin": SessionOrigin::Live,
                "created_at": at(1), "last_at": at(1), "natives": [self.name],
            }],
            "statements": statements,
        });
        let batch = replica::decode(batch.to_string().as_bytes(), &mut Vec::new());
        let batch = batch.map_err(|error| error.to_string())?;
        let sender = Caller {
            token: TokenId::from_uuid(Uuid::from_u128(0x70)),
            name: "laptop".to_owned(),
            scope: Scope::Launcher,
            limits: Limits::default(),
            note_due: false,
        };
        let done = stage.play(|here, ledger| replica::apply(here, ledger, &sender, &batch));
        done.map(|_| id).map_err(|error| match error {
            ReplicaError::Refused { rule, .. } => rule,
            other => panic!("{other}"),
        })
    }

    fn by_a_launcher(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let new = launch::NewLaunch {
            session: stage.play(|world, _| SessionId::mint(world.ids)),
            launch: Launch {
                digest: "d".to_owned(),
                launcher: Some(process(10)),
                agent: Some(self.agent.clone()),
                program: "x".to_owned(),
                worktree: None,
            },
            links: stated(self.links),
            left_out: self.left_out.clone(),
            by: BY.to_owned(),
            cwd: "/home/dev/main".to_owned(),
            place: None,
            outer: None,
        };
        let done = stage.play(|here, ledger| launch::register(here, ledger, &new));
        done.map(|()| new.session).map_err(|error| match error {
            LinksError::Ledger(error) => panic!("{error}"),
            refused => refused.to_string(),
        })
    }

    fn by_the_api(&self, stage: &mut Stage, mode: Mode) -> Result<SessionId, String> {
        let new = remote::NewSession {
            id: None,
            home: None,
            agent: self.agent.clone(),
            conversation: Some(self.conversation()?),
            native: None,
            name: None,
            mode,
            cwd: None,
            links: self.links.to_vec(),
            repositories: Vec::new(),
            from: None,
            by: BY.to_owned(),
        };
        let done = stage.play(|world, ledger| {
            let home = ledger.id();
            attempt(ledger, Durability::Disk, |tx| {
                let created = remote::create(world, tx, home, &new)?;
                if !created.already {
                    remote::created(world, tx, &new, &created, "::1")?;
                }
                Ok(created.record.id)
            })
        });
        done.map_err(|error| match error {
            RemoteError::Invalid { .. } => error.to_string(),
            other => panic!("{other}"),
        })
    }

    fn by_a_driver(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let new = self.driven(self.conversation()?, self.links);
        let done = stage.play(|world, ledger| turn::create(world, ledger, &new));
        done.map(|record| record.id)
            .map_err(|error| refusal(&error))
    }

    fn by_a_fork(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let conversation = self.conversation()?;
        let parent = self.driven(ConversationId::new("parent").unwrap(), &[]);
        let done = stage.play(|world, ledger| {
            let parent = turn::create(world, ledger, &parent)?.id;
            turn::fork(world, ledger, parent, None, &conversation, BY)
        });
        done.map(|record| record.id)
            .map_err(|error| refusal(&error))
    }

    fn driven(&self, conversation: ConversationId, links: &[Link]) -> turn::NewSession {
        turn::NewSession {
            agent: self.agent.clone(),
            conversation,
            cwd: None,
            links: links.to_vec(),
            by: BY.to_owned(),
        }
    }

    fn by_a_run(&self, stage: &mut Stage, which: Which) -> Result<SessionId, String> {
        let wanted = run::Wanted {
            agent: self.agent.clone(),
            which,
            cwd: "/home/dev/main".to_owned(),
            links: self.links.to_vec(),
            by: BY.to_owned(),
        };
        let done = stage.play(|world, ledger| run::find(world, ledger, &wanted));
        done.map(|run| run.session).map_err(|error| refusal(&error))
    }

    fn by_a_route(&self, stage: &mut Stage, want: Want) -> Result<SessionId, String> {
        let route = RouteKey::new(self.name).map_err(|error| error.to_string())?;
        let route = RouteKey::new(format!("{}:{route}", self.agent)).unwrap();
        let run = stage.play(|world, _| SessionId::mint(world.ids).to_string());
        let run = TurnKey::new(run).unwrap();
        let ask = Resolve {
            links: self.links.to_vec(),
            ..Resolve::new(route, want, self.agent.clone(), BY.to_owned(), run)
        };
        let policy = Policy::new(Vec::new());
        let done = stage.play(|world, ledger| context::resolve(world, ledger, &policy, &ask));
        done.map(|resolved| resolved.session)
            .map_err(|error| match error {
                ContextError::Turn(error) => refusal(&error),
                ContextError::Invalid { .. } => error.to_string(),
                other => panic!("{other}"),
            })
    }
}

fn refusal(error: &TurnError) -> String {
    match error {
        TurnError::Invalid { .. } => error.to_string(),
        other => panic!("{other}"),
    }
}

fn stated(links: &[Link]) -> Vec<Stated> {
    let stated = |link: &Link| Stated {
        link: link.clone(),
        source: "variable X".to_owned(),
    };
    links.iter().map(stated).collect()
}

fn labels(count: usize) -> Vec<Link> {
    let label = |n: usize| Link::Label {
        key: format!("k{n}"),
        value: "v".to_owned(),
    };
    (0..count).map(label).collect()
}

/// One link for each rule that a link can break.
fn bad_links() -> Vec<Link> {
    let label = |key: &str, value: &str| Link::Label {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    vec![
        Link::IssueNumber(0),
        Link::PrNumber(NUMBER_MAX + 1),
        Link::Phase(String::new()),
        Link::Phase("a\nb".to_owned()),
        Link::AgentRole(" coder".to_owned()),
        Link::AgentRole("x".repeat(65)),
        Link::PipelineId("co\u{200b}der".to_owned()),
        Link::PipelineId("x".repeat(257)),
        label("", "v"),
        label("a=b", "v"),
        label("k", "a\tb"),
        label("k", &"x".repeat(257)),
    ]
}

fn attached(stage: &mut Stage, session: SessionId) -> Vec<Link> {
    statements::links(&stage.read(|tx| tx.statements_of_session(session)))
}

/// What the audit has of the making of a session, entry by entry.
fn audited(stage: &mut Stage, session: SessionId) -> Vec<Value> {
    let filter = AuditFilter {
        session: Some(session),
        action: Some(Action::SessionCreated.as_str().to_owned()),
        ..AuditFilter::default()
    };
    let entries = stage.read(|tx| tx.audit(&filter));
    let bodies = entries.into_iter().filter_map(|entry| entry.body);
    bodies
        .map(|body| serde_json::from_str(body.text.as_str()).unwrap())
        .collect()
}

#[test]
fn the_same_name_is_the_same_session_at_every_door() {
    for door in DOORS.into_iter().filter(|door| door.names()) {
        let mut stage = Stage::new();
        let mut open = |agent, name| door.open(&mut stage, agent, name, &[]).unwrap();
        let first = open("one", "chat-1");
        assert_eq!(open("one", "chat-1"), first, "{door:?}");
        assert_ne!(open("one", "chat-2"), first, "{door:?}: another name");
        let of_other = open("other", "chat-1");
        // What is no agent may tell of any agent's session, by the id of that one.
        let is_foreign = door != Door::Telemetry;
        assert_eq!(of_other != first, is_foreign, "{door:?}: another agent");
    }
}

#[test]
fn a_session_without_a_name_is_another_one_each_time() {
    for door in DOORS.into_iter().filter(|door| !door.names()) {
        let mut stage = Stage::new();
        let mut open = || door.open(&mut stage, "one", "chat-1", &[]).unwrap();
        assert_ne!(open(), open(), "{door:?}");
    }
}

#[test]
fn links_are_attached_once_at_every_door() {
    for door in DOORS.into_iter().filter(|door| door.takes_links()) {
        let mut stage = Stage::new();
        let twice = [
            Link::IssueNumber(4),
            Link::IssueNumber(4),
            Link::PrNumber(7),
        ];
        let session = door.open(&mut stage, "one", "chat-1", &twice).unwrap();
        let statements = stage.read(|tx| tx.statements_of_session(session));
        let links = statements
            .iter()
            .filter(|record| matches!(record.statement, Statement::LinkAttached { .. }));
        assert_eq!(links.count(), 2, "{door:?}");
        assert_eq!(attached(&mut stage, session), twice[1..], "{door:?}");
    }
}

#[test]
fn a_session_begins_with_256_links_at_most_at_every_door() {
    for door in DOORS.into_iter().filter(|door| door.takes_links()) {
        let mut stage = Stage::new();
        let full = door.open(&mut stage, "one", "chat-1", &labels(LINKS_MOST));
        assert_eq!(
            attached(&mut stage, full.unwrap()).len(),
            LINKS_MOST,
            "{door:?}"
        );
        let before = stage.sessions().len();
        let more = door.open(&mut stage, "one", "chat-2", &labels(LINKS_MOST + 1));
        if door.refuses() {
            assert_eq!(more, Err(LinksError::TooMany.to_string()), "{door:?}");
            assert_eq!(stage.sessions().len(), before, "{door:?}: nothing was made");
            continue;
        }
        let session = more.unwrap();
        assert_eq!(attached(&mut stage, session).len(), LINKS_MOST, "{door:?}");
        let left_out = stage.read(|tx| links::left_out(tx, session));
        assert_eq!(left_out.len(), 1, "{door:?}: it is told");
    }
}

#[test]
fn who_requested_a_session_is_in_the_audit_once_with_its_links() {
    for door in DOORS {
        let mut stage = Stage::new();
        let mut open = || door.open(&mut stage, "one", "chat-1", &[Link::PrNumber(7)]);
        let session = open().unwrap();
        if door.names() {
            open().unwrap();
        }
        let audited = audited(&mut stage, session);
        assert_eq!(audited.len(), usize::from(door.is_audited()), "{door:?}");
        for body in audited.iter().filter(|_| door.takes_links()) {
            assert_eq!(body["links"]["pr_number"], json!([7]), "{door:?}");
        }
    }
}

#[test]
fn a_bad_link_gets_the_same_answer_at_every_door() {
    for door in DOORS.into_iter().filter(|door| door.takes_links()) {
        let mut stage = Stage::new();
        for (n, bad) in bad_links().into_iter().enumerate() {
            let broken = bad.check().unwrap_err();
            let is_named = |text: &str| text.contains(broken.field) && text.ends_with(broken.rule);
            let stated = [bad, Link::IssueNumber(4)];
            let answer = door.open(&mut stage, "one", &format!("chat-{n}"), &stated);
            if door.refuses() {
                let refusal = answer.unwrap_err();
                assert!(is_named(&refusal), "{door:?}: {broken}: {refusal}");
                assert!(stage.sessions().is_empty(), "{door:?}: {broken}");
                continue;
            }
            let session = answer.unwrap();
            let kept = attached(&mut stage, session);
            assert_eq!(kept, stated[1..], "{door:?}: {broken}");
            let left_out = stage.read(|tx| links::left_out(tx, session));
            let is_told = matches!(&left_out[..], [one] if is_named(one));
            assert!(is_told, "{door:?}: {broken}: {left_out:?}");
        }
    }
}

#[test]
fn a_bad_variable_is_dropped_with_the_same_warning_by_hooks_and_launchers() {
    let (stated, dropped) = from_variables(|name| match name {
        "SIGLUM_PHASE" => Some(OsString::from("a\nb")),
        "SIGLUM_ISSUE_NUMBER" => Some(OsString::from("4")),
        _ => None,
    });
    let links: Vec<Link> = stated.into_iter().map(|stated| stated.link).collect();
    let decline = dropped[0].decline("test", None);
    let wanted = Wanted {
        agent: AgentName::new("one").unwrap(),
        name: "chat-1",
        links: &links,
        left_out: vec![decline],
    };
    let mut stage = Stage::new();
    let hook = wanted.by_its_agent(&mut stage, Source::Hook).unwrap();
    let launch = wanted.by_a_launcher(&mut stage).unwrap();
    for session in [hook, launch] {
        assert_eq!(attached(&mut stage, session), [Link::IssueNumber(4)]);
        let left_out = stage.read(|tx| links::left_out(tx, session));
        assert_eq!(left_out, [dropped[0].to_string()]);
    }
}

#[test]
fn what_is_no_name_is_no_session_at_any_door() {
    for door in DOORS.into_iter().filter(|door| door.names()) {
        let mut stage = Stage::new();
        for bad in ["", " ", "a b", "a\nb", "a\u{7f}b", &"x".repeat(513)] {
            let answer = door.open(&mut stage, "one", bad, &[]);
            assert!(answer.is_err(), "{door:?}: {bad:?}");
            assert!(stage.sessions().is_empty(), "{door:?}: {bad:?}");
        }
    }
}

#[test]
fn a_name_too_long_for_a_conversation_is_refused_as_one_and_is_none_elsewhere() {
    let long = "x".repeat(129);
    let refused = ConversationId::new(long.as_str()).unwrap_err().to_string();
    for door in DOORS.into_iter().filter(|door| door.names()) {
        let mut stage = Stage::new();
        let answer = door.open(&mut stage, "one", &long, &[]);
        if door.names_conversations() {
            assert_eq!(answer, Err(refused.clone()), "{door:?}");
            assert!(stage.sessions().is_empty(), "{door:?}");
            continue;
        }
        let session = answer.unwrap();
        let conversation = stage.session(session).conversation;
        assert_eq!(conversation.as_str(), session.to_string(), "{door:?}");
    }
}
