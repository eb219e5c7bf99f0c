//! Every door through which a session comes to be gives the same answer to the same claims and links.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::context::{Policy, RouteKey};
use siglum_domain::intake::AgentMatter;
use siglum_domain::link::{Link, Stated};
use siglum_domain::observation::StartKind;
use siglum_domain::{AgentName, ConversationId, SessionId, TurnKey};
use siglum_ledger::{AuditFilter, Durability, Launch, Ledger, Mode, attempt};

use crate::context::{self, ContextError, Resolve, Want};
use crate::ingest::tests::{answer, spans};
use crate::links::{self, Change, LINKS_MOST, LinksError};
use crate::remote::{self, RemoteError};
use crate::run::{self, Which};
use crate::tests::stage::*;
use crate::turn::{self, TurnError};
use crate::{launch, statements};

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

    /// Asks for a session that is called so.
    fn open(
        self,
        stage: &mut Stage,
        agent: &str,
        name: &str,
        links: &[Link],
    ) -> Result<SessionId, String> {
        let agent = AgentName::new(agent).unwrap();
        let conversation = ConversationId::new(name).unwrap();
        match self {
            Self::Hook | Self::Import => {
                let mut start = started(1, StartKind::Startup);
                if self == Self::Import {
                    start.source = siglum_domain::observation::Source::Transcript;
                }
                Ok(stage.hear(AgentMatter {
                    agent,
                    links: stated(links),
                    ..says(name, vec![start])
                }))
            }
            Self::Telemetry => {
                let trace = blake3::hash(format!("{agent} {name}").as_bytes());
                let spoken = answer(&trace.to_hex()[..32], 1, name);
                stage.send(&spans(agent.as_str(), &json!({}), &[spoken]));
                let known = stage.read(|tx| tx.sessions_by_native(&native(name)));
                Ok(known[0].1)
            }
            Self::Launch => {
                let new = launch::NewLaunch {
                    session: stage.play(|world, _| SessionId::mint(world.ids)),
                    launch: Launch {
                        digest: "d".to_owned(),
                        launcher: Some(process(10)),
                        agent: Some(agent),
                        program: "x".to_owned(),
                        worktree: None,
                    },
                    links: stated(links),
                    left_out: Vec::new(),
                    by: BY.to_owned(),
                    cwd: "/home/dev/main".to_owned(),
                    place: None,
                    outer: None,
                };
                let done = stage.play(|here, ledger| launch::register(here, ledger, &new));
                done.map(|()| new.session).map_err(|error| match error {
                    LinksError::TooMany => "links".to_owned(),
                    LinksError::Ledger(error) => panic!("{error}"),
                })
            }
            Self::Api | Self::ApiObserved => {
                let new = remote::NewSession {
                    id: None,
                    home: None,
                    agent,
                    conversation: Some(conversation),
                    native: None,
                    name: None,
                    mode: match self {
                        Self::Api => Mode::Driven,
                        _ => Mode::Observed,
                    },
                    cwd: None,
                    links: links.to_vec(),
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
            Self::Turns => {
                let new = turn::NewSession {
                    agent,
                    conversation,
                    cwd: None,
                    links: links.to_vec(),
                    by: BY.to_owned(),
                };
                let done = stage.play(|world, ledger| turn::create(world, ledger, &new));
                let opened = done.map_err(|error| field(&error))?;
                let by = (BY, "api");
                let more = stage.play(|world, ledger| {
                    links::change(world, ledger, opened.id, links, Change::Attach, by)
                });
                more.map(|_| opened.id).map_err(|_| "links".to_owned())
            }
            Self::Run | Self::UnnamedRun => {
                let wanted = run::Wanted {
                    agent,
                    which: match self {
                        Self::Run => Which::Named(conversation),
                        _ => Which::Unnamed,
                    },
                    cwd: "/home/dev/main".to_owned(),
                    links: links.to_vec(),
                    by: BY.to_owned(),
                };
                let done = stage.play(|world, ledger| run::find(world, ledger, &wanted));
                done.map(|run| run.session).map_err(|error| field(&error))
            }
            Self::Context | Self::Schedule => {
                let route = RouteKey::new(format!("{agent}:{name}")).unwrap();
                let want = match self {
                    Self::Context => Want::Shared,
                    _ => Want::Isolated {
                        cause: siglum_domain::context::Cause::CronRun,
                    },
                };
                let run =
                    TurnKey::new(stage.play(|world, _| SessionId::mint(world.ids).to_string()));
                let ask = Resolve {
                    links: links.to_vec(),
                    ..Resolve::new(route, want, agent, BY.to_owned(), run.unwrap())
                };
                let policy = Policy::new(Vec::new());
                let done =
                    stage.play(|world, ledger| context::resolve(world, ledger, &policy, &ask));
                let resolved = done.map_err(|error| match error {
                    ContextError::Turn(error) => field(&error),
                    ContextError::Invalid { field, .. } => field.to_owned(),
                    other => panic!("{other}"),
                })?;
                Ok(resolved.session)
            }
        }
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

fn audited(stage: &mut Stage, session: SessionId) -> usize {
    let filter = AuditFilter {
        session: Some(session),
        action: Some(Action::SessionCreated.as_str().to_owned()),
        ..AuditFilter::default()
    };
    stage.read(|tx| tx.audit(&filter)).len()
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
fn who_asked_for_a_session_is_in_the_audit_once() {
    for door in DOORS {
        let mut stage = Stage::new();
        let session = door.open(&mut stage, "one", "chat-1", &[]).unwrap();
        if door.names() {
            door.open(&mut stage, "one", "chat-1", &[]).unwrap();
        }
        let expected = usize::from(door.is_audited());
        assert_eq!(audited(&mut stage, session), expected, "{door:?}");
    }
}
