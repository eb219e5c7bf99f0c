//! Every door through which a session comes to be gives the same answer to the same claims and links.

use serde_json::{Value, json};
use siglum_domain::audit::Action;
use siglum_domain::context::{Cause, Policy, RouteKey};
use siglum_domain::intake::AgentMatter;
use siglum_domain::link::{Link, Stated};
use siglum_domain::observation::{Observation, Source, StartKind};
use siglum_domain::{AgentName, ConversationId, SessionId, TurnKey};
use siglum_ledger::{AuditFilter, Durability, Launch, Ledger, Mode, attempt};

use crate::driven::context::{self, ContextError, Resolve, Want};
use crate::driven::launch;
use crate::driven::remote::{self, RemoteError};
use crate::driven::run::{self, Which};
use crate::driven::turn::{self, TurnError};
use crate::identity::links::{self, LINKS_MOST, LinksError};
use crate::identity::statements;
use crate::share::ingest::tests::{answer, spans};
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
    /// A run of an agent that the gateway starts, in a conversation with a name.
    Run,
    /// The same, in one that has none yet.
    UnnamedRun,
    /// A context of a route.
    Context,
    /// A run on a schedule, which has a context of its own.
    Schedule,
}

const DOORS: [Door; 11] = [
    Door::Hook,
    Door::Import,
    Door::Telemetry,
    Door::Launch,
    Door::Api,
    Door::ApiObserved,
    Door::Turns,
    Door::Run,
    Door::UnnamedRun,
    Door::Context,
    Door::Schedule,
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

    /// Whether links come with the session.
    fn takes_links(self) -> bool {
        self != Self::Telemetry
    }

    /// Whether the session is in the audit: somebody asked for it. Runs on a schedule would fill it.
    fn is_audited(self) -> bool {
        self.refuses() && self != Self::Schedule
    }

    /// Asks for a session that is called so; refused, it is the field.
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
        };
        match self {
            Self::Hook => Ok(wanted.by_its_agent(stage, Source::Hook)),
            Self::Import => Ok(wanted.by_its_agent(stage, Source::Transcript)),
            Self::Telemetry => Ok(wanted.by_telemetry(stage)),
            Self::Launch => wanted.by_a_launcher(stage),
            Self::Api => wanted.by_the_api(stage, Mode::Driven),
            Self::ApiObserved => wanted.by_the_api(stage, Mode::Observed),
            Self::Turns => wanted.by_a_driver(stage),
            Self::Run => wanted.by_a_run(stage, Which::Named(wanted.conversation())),
            Self::UnnamedRun => wanted.by_a_run(stage, Which::Unnamed),
            Self::Context => wanted.by_a_route(stage, Want::Shared),
            Self::Schedule => {
                let cause = Cause::CronRun;
                wanted.by_a_route(stage, Want::Isolated { cause })
            }
        }
    }
}

/// A session that somebody asks for.
struct Wanted<'a> {
    agent: AgentName,
    name: &'a str,
    links: &'a [Link],
}

impl Wanted<'_> {
    fn conversation(&self) -> ConversationId {
        ConversationId::new(self.name).unwrap()
    }

    fn by_its_agent(&self, stage: &mut Stage, source: Source) -> SessionId {
        let start = Observation {
            source,
            ..started(1, StartKind::Startup)
        };
        stage.hear(AgentMatter {
            agent: self.agent.clone(),
            links: stated(self.links),
            ..says(self.name, vec![start])
        })
    }

    fn by_telemetry(&self, stage: &mut Stage) -> SessionId {
        let trace = blake3::hash(format!("{} {}", self.agent, self.name).as_bytes());
        let spoken = answer(&trace.to_hex()[..32], 1, self.name);
        stage.send(&spans(self.agent.as_str(), &json!({}), &[spoken]));
        stage.read(|tx| tx.sessions_by_native(&native(self.name)))[0].1
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
            left_out: Vec::new(),
            by: BY.to_owned(),
            cwd: "/home/dev/main".to_owned(),
            place: None,
            outer: None,
        };
        let done = stage.play(|here, ledger| launch::register(here, ledger, &new));
        done.map(|()| new.session)
            .map_err(|error| too_many(&error).to_owned())
    }

    fn by_the_api(&self, stage: &mut Stage, mode: Mode) -> Result<SessionId, String> {
        let new = remote::NewSession {
            id: None,
            home: None,
            agent: self.agent.clone(),
            conversation: Some(self.conversation()),
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
                    remote::created(world, tx, &new, created.record.id, "::1")?;
                }
                Ok(created.record.id)
            })
        });
        done.map_err(|error| match error {
            RemoteError::Invalid { field, .. } => field.to_owned(),
            other => panic!("{other}"),
        })
    }

    fn by_a_driver(&self, stage: &mut Stage) -> Result<SessionId, String> {
        let new = turn::NewSession {
            agent: self.agent.clone(),
            conversation: self.conversation(),
            cwd: None,
            links: self.links.to_vec(),
            by: BY.to_owned(),
        };
        let done = stage.play(|world, ledger| turn::create(world, ledger, &new));
        done.map(|record| record.id).map_err(|error| field(&error))
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
        done.map(|run| run.session).map_err(|error| field(&error))
    }

    fn by_a_route(&self, stage: &mut Stage, want: Want) -> Result<SessionId, String> {
        let route = RouteKey::new(format!("{}:{}", self.agent, self.name)).unwrap();
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
                ContextError::Turn(error) => field(&error),
                ContextError::Invalid { field, .. } => field.to_owned(),
                other => panic!("{other}"),
            })
    }
}

fn too_many(error: &LinksError) -> &'static str {
    match error {
        LinksError::TooMany => "links",
        LinksError::Ledger(error) => panic!("{error}"),
    }
}

fn field(error: &TurnError) -> String {
    match error {
        TurnError::Invalid { field, .. } => (*field).to_owned(),
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
        let links = statements.iter().filter(|record| {
            matches!(
                record.statement,
                siglum_ledger::Statement::LinkAttached { .. }
            )
        });
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
            assert_eq!(more, Err("links".to_owned()), "{door:?}");
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
        for body in audited {
            assert_eq!(body["links"]["pr_number"], json!([7]), "{door:?}");
        }
    }
}
