//! Lists, cost, search and single answers on ledgers with very many sessions, and the bytes that these take. By hand only.
//!
//! What is asked is what requests and commands ask of the library, each in a transaction of its own: neither a process nor a
//! connection is begun, and nothing is printed.

use std::cell::RefCell;
use std::ops::Range;

use siglum_domain::audit::Action;
use siglum_domain::link::Link;
use siglum_domain::price::Prices;
use siglum_domain::search::SearchQuery;
use siglum_domain::{AgentName, Oid, RepositoryId, SessionId, Timestamp};
use siglum_engine::commits::why;
use siglum_engine::identity::audit;
use siglum_engine::views::cost::{By, CostQuery, cost};
use siglum_engine::views::search::{Query, search};
use siglum_engine::views::{doctor, find, pipeline};
use siglum_ledger::{
    AuditFilter, CheckpointFilter, CommitFilter, Durability, Ledger, Order, SessionFilter,
    Statement, read, write,
};

use crate::Fallible;
use crate::clock::{Chance, now};
use crate::contest::{Contest, timed};
use crate::driven;
use crate::fill::{Care, fill_ledger};
use crate::gateway::served::Place;
use crate::home::Home;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// What an answer may take, in milliseconds, with as many sessions as [`BOUNDED`].
const MOST: f64 = 100.0;
const BOUNDED: usize = 100_000;
/// How many sessions are made one by one in PostgreSQL; the others are copies of these.
const MADE: usize = 500;
/// How many of them work in a repository of their own.
const FEW: usize = 10;
/// How many rows a list has.
const PAGE: usize = 50;
/// How many sessions a search goes through.
const SEARCHED: usize = 200;
/// The number of the first copy of sessions that are copies themselves.
const COPIES_OF_COPIES: usize = 1_000_001;
const MULTIPLY: &str = include_str!("million/multiply.sql");
const DAY_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
/// The ages of sessions that are all made one by one, in days.
const YEAR: Range<usize> = 0..365;
/// The ages of sessions that are copied, in days: their copies are spread over the year before.
const TO_COPY: Range<usize> = 2..3;
/// How many entries the audit has, of so many actors in turn.
const AUDITED: usize = 20_000;
const ACTORS: usize = 10;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let most = run.sessions.unwrap_or(run.much(1_000_000, 5_000)).max(MADE);
    let few = most.min(run.much(BOUNDED, 1_000));
    let file = Place::file(run, "million")?;
    fill(run, &file, few, YEAR)?;
    let mut lines = answers(run, &file, "SQLite", few)?;
    let ledger = file.home().join("ledger.db");
    let db = rusqlite::Connection::open(&ledger)?;
    let events = db.query_row("SELECT count(*) FROM observations", [], |row| row.get(0))?;
    #[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
    let bytes = std::fs::metadata(&ledger)?.len() as f64;
    lines.extend(sizes("SQLite", bytes, few, events));
    let Some(place) = Place::database(run, "million")? else {
        return Ok(lines);
    };
    fill(run, &place, MADE, TO_COPY)?;
    let copies = (few / MADE).max(1) - 1;
    multiply(&place, 1, copies)?;
    let made = MADE * (copies + 1);
    lines.extend(answers(run, &place, "PostgreSQL", made)?);
    let copies = (most / made).max(1) - 1;
    if copies > 0 {
        multiply(&place, COPIES_OF_COPIES, copies)?;
        lines.extend(answers(run, &place, "PostgreSQL", made * (copies + 1))?);
    }
    let bytes = place.psql(&["SELECT pg_database_size(current_database())"])?;
    let events = place.psql(&["SELECT count(*) FROM observations"])?;
    let (bytes, events) = (bytes.parse::<f64>()?, events.parse::<i64>()?);
    lines.extend(sizes("PostgreSQL", bytes, made * (copies + 1), events));
    Ok(lines)
}

/// Makes sessions of several agents in two repositories, each session with links.
fn fill(run: &Run, place: &Place, sessions: usize, days: Range<usize>) -> Fallible<()> {
    let dir = run.dir("million-repos")?;
    let name = format!("{sessions}-{}", place.home().display()).replace('/', "-");
    let home = Home::create(&run.program, &dir.join(name))?;
    let mut ledger = place.ledger()?;
    for (name, sessions) in [("large", sessions - FEW), ("small", FEW)] {
        let repo = Repo::create(&home, &home.user.join(name), 20, sessions)?;
        fill_ledger(ledger.as_mut(), &repo, sessions, Care::Sealed, days.clone())?;
    }
    let all = read(ledger.as_mut(), |tx| tx.sessions(&SessionFilter::default()))?;
    let ids: Vec<SessionId> = all.iter().map(|listed| listed.record.id).collect();
    let (codex, gemini) = (AgentName::new("codex")?, AgentName::new("gemini")?);
    for (batch, ids) in ids.chunks(1_000).enumerate() {
        write(ledger.as_mut(), Durability::Process, |tx| {
            for (n, id) in (batch * 1_000..).zip(ids) {
                match n % 50 {
                    0 => tx.set_agent(*id, &gemini)?,
                    n if n % 5 == 0 => tx.set_agent(*id, &codex)?,
                    _ => {}
                }
                for link in [
                    Link::IssueNumber(n as u64 / 4 + 1),
                    Link::PipelineId(format!("pipeline-{}", n / 8)),
                ] {
                    let attached = Statement::LinkAttached { session: *id, link };
                    tx.state(now(), "bench", "bench", &attached)?;
                }
            }
            Ok(())
        })?;
        ledger.maintain()?;
    }
    fill_audit(ledger.as_mut())
}

/// Makes an audit of several actors.
fn fill_audit(ledger: &mut dyn Ledger) -> Fallible<()> {
    let here = driven::here();
    for first in (0..AUDITED).step_by(1_000) {
        write(ledger, Durability::Process, |tx| {
            for n in first..first + 1_000 {
                let actor = format!("actor-{}", n % ACTORS);
                let entry = audit::Entry::done(&actor, Action::RetentionApplied);
                audit::record(tx, &here, &entry)?;
            }
            Ok(())
        })?;
    }
    ledger.maintain()?;
    Ok(())
}

/// Puts so many copies of all that is there beside it.
fn multiply(place: &Place, first: usize, copies: usize) -> Fallible<()> {
    if copies > 0 {
        let last = first + copies - 1;
        place.psql(&[
            &format!("SET bench.first = {first}"),
            &format!("SET bench.last = {last}"),
            MULTIPLY,
        ])?;
    }
    place.psql(&["VACUUM ANALYZE"]).map(drop)
}

/// What is asked about.
struct Sample {
    sessions: Vec<SessionId>,
    commits: Vec<(RepositoryId, Oid)>,
    /// The repository of most sessions, and of few.
    repositories: [RepositoryId; 2],
}

impl Sample {
    fn take(ledger: &mut dyn Ledger) -> Fallible<Self> {
        let listed = read(ledger, |tx| tx.sessions(&page_of(1_000)))?;
        let known = CommitFilter {
            limit: 1_000,
            ..CommitFilter::default()
        };
        let commits = read(ledger, |tx| tx.commits(&known))?;
        let repositories = read(ledger, |tx| tx.repositories())?;
        let of = |name: &str| {
            let found = repositories.iter().find(|r| r.common_dir.contains(name));
            found.map(|r| r.id).ok_or("a repository is missing")
        };
        Ok(Self {
            sessions: listed.iter().map(|listed| listed.record.id).collect(),
            commits: commits
                .into_iter()
                .map(|c| (c.repository, c.commit))
                .collect(),
            repositories: [of("large")?, of("small")?],
        })
    }

    fn session(&self, n: usize) -> SessionId {
        self.sessions[n % self.sessions.len()]
    }
}

fn page_of(limit: usize) -> SessionFilter {
    SessionFilter {
        limit,
        ..SessionFilter::default()
    }
}

/// The questions of one contest, all to one ledger.
struct Questions<'a> {
    ledger: &'a RefCell<Box<dyn Ledger>>,
    contest: Contest<'a>,
    names: Vec<&'static str>,
}

impl<'a> Questions<'a> {
    /// Adds a question, which gets a number of chance.
    fn add(
        &mut self,
        name: &'static str,
        ask: impl Fn(&mut dyn Ledger, usize) -> Fallible<()> + 'a,
    ) {
        let (ledger, chance) = (self.ledger, Chance::new(self.names.len() as u64 + 1));
        self.names.push(name);
        self.contest.arm(name, move || {
            let number = chance.below(usize::MAX);
            let mut ledger = ledger.borrow_mut();
            Ok(timed(|| ask(ledger.as_mut(), number))?.0)
        });
    }

    fn sessions(&mut self, name: &'static str, filter: SessionFilter) {
        self.add(name, move |ledger, _| {
            read(ledger, |tx| tx.sessions(&filter))?;
            Ok(())
        });
    }

    fn audit(&mut self, name: &'static str, filter: AuditFilter) {
        self.add(name, move |ledger, _| {
            read(ledger, |tx| tx.audit(&filter))?;
            Ok(())
        });
    }

    fn cost(&mut self, name: &'static str, query: CostQuery) {
        self.add(name, move |ledger, _| {
            let day = |at: Timestamp| (at.nanos() / DAY_NS).to_string();
            cost(ledger, &query, Prices::built_in(), &day)?;
            Ok(())
        });
    }
}

/// How long answers take.
fn answers(run: &Run, place: &Place, store: &str, sessions: usize) -> Fallible<Vec<Line>> {
    let mut ledger = place.ledger()?;
    let sample = &Sample::take(ledger.as_mut())?;
    let ledger = RefCell::new(ledger);
    let mut questions = Questions {
        ledger: &ledger,
        contest: Contest::new(),
        names: Vec::new(),
    };
    lists(&mut questions, sample)?;
    singles(&mut questions, sample)?;
    let names = std::mem::take(&mut questions.names);
    let times = questions.contest.run(run.much(30, 8))?;
    let line = |name: &&str| {
        let of = times.arm(name);
        let what = format!("{name}, {store}, {sessions} sessions");
        let line = Line::new(what, of.median(), "ms", of.n()).p95(of.p95());
        match sessions <= BOUNDED {
            true => line.bound("≤ 100 ms on 100,000", of.median() <= MOST),
            false => line,
        }
    };
    let mut lines: Vec<Line> = names.iter().map(line).collect();
    lines.push(changes(ledger.borrow_mut().as_mut(), store, sessions)?);
    Ok(lines)
}

/// What it takes to find which sessions changed since they were verified: a look at each, and at none of its log.
fn changes(ledger: &mut dyn Ledger, store: &str, sessions: usize) -> Fallible<Line> {
    const PAGE: usize = 256;
    let walk = || -> Fallible<()> {
        let mut after = None;
        loop {
            let page = read(ledger, |tx| tx.session_states(after, PAGE))?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.session);
        }
    };
    let what = format!("what changed since it was verified, of all, {store}, {sessions} sessions");
    Ok(Line::new(what, timed(walk)?.0, "ms", 1))
}

fn lists<'a>(questions: &mut Questions<'a>, sample: &'a Sample) -> Fallible<()> {
    let [large, small] = sample.repositories;
    questions.sessions("sessions", page_of(PAGE));
    for (name, repository) in [
        ("sessions of a large repository", large),
        ("sessions of a small repository", small),
    ] {
        let filter = SessionFilter {
            repositories: vec![repository],
            ..page_of(PAGE)
        };
        questions.sessions(name, filter);
    }
    let silent = SessionFilter {
        repositories: vec![large],
        until: Some(now().plus_millis(-180 * DAY_NS / 1_000_000)),
        ..page_of(PAGE)
    };
    questions.sessions("sessions of a repository, half a year ago", silent);
    let created = SessionFilter {
        repositories: vec![large],
        order: Order::Created { after: None },
        ..page_of(PAGE)
    };
    questions.sessions("sessions of a repository by their creation", created);
    let of_agent = SessionFilter {
        agent: Some(AgentName::new("nobody")?),
        ..page_of(PAGE)
    };
    questions.sessions("sessions of an agent without any", of_agent);
    let of_link = SessionFilter {
        links: vec![Link::IssueNumber(1)],
        ..page_of(PAGE)
    };
    questions.sessions("sessions of an issue", of_link);
    let open = SessionFilter {
        open: true,
        seen: true,
        ..page_of(PAGE)
    };
    questions.sessions("sessions that are open", open);
    questions.add("commits", |ledger, _| {
        let filter = CommitFilter {
            limit: PAGE,
            ..CommitFilter::default()
        };
        read(ledger, |tx| tx.commits(&filter))?;
        Ok(())
    });
    questions.add("checkpoints of a small repository", move |ledger, _| {
        let filter = CheckpointFilter {
            repositories: vec![small],
            limit: PAGE,
            ..CheckpointFilter::default()
        };
        read(ledger, |tx| tx.checkpoints(&filter))?;
        Ok(())
    });
    questions.add("pipelines", |ledger, _| {
        pipeline::list(&driven::here(), ledger, None, PAGE)?;
        Ok(())
    });
    audits(questions);
    costs(questions);
    Ok(())
}

fn costs(questions: &mut Questions<'_>) {
    let month = || CostQuery {
        since: Some(now().plus_millis(-30 * DAY_NS / 1_000_000)),
        limit: PAGE,
        ..CostQuery::by(By::Session)
    };
    questions.cost("cost of 30 days", month());
    let by_day = CostQuery {
        by: By::Day,
        ..month()
    };
    questions.cost("cost of 30 days by day", by_day);
    for (name, by) in [
        ("cost of 30 days by issue", By::Issue),
        ("cost of 30 days by pipeline", By::Pipeline),
        ("cost of 30 days by commit", By::Commit),
    ] {
        questions.cost(name, CostQuery { by, ..month() });
    }
    let of_issue = CostQuery {
        links: vec![Link::IssueNumber(1)],
        limit: PAGE,
        ..CostQuery::by(By::Session)
    };
    questions.cost("cost of an issue, of all time", of_issue);
}

fn audits(questions: &mut Questions<'_>) {
    let of_actor = AuditFilter {
        actor: Some("actor-1".to_owned()),
        limit: PAGE,
        ..AuditFilter::default()
    };
    questions.audit("audit of an actor", of_actor);
    let since = AuditFilter {
        since: Some(now().plus_millis(-DAY_NS / 1_000_000)),
        limit: PAGE,
        ..AuditFilter::default()
    };
    questions.audit("audit of a day", since);
    let of_nobody = AuditFilter {
        actor: Some("nobody".to_owned()),
        limit: PAGE,
        ..AuditFilter::default()
    };
    questions.audit("audit of an actor without any", of_nobody);
}

fn singles<'a>(questions: &mut Questions<'a>, sample: &'a Sample) -> Fallible<()> {
    questions.add("why of a commit", move |ledger, n| {
        let (repository, commit) = &sample.commits[n % sample.commits.len()];
        let found = read(ledger, |tx| why::recorded(tx, *repository, commit, None))?;
        found.map(drop).ok_or_else(|| "a commit is missing".into())
    });
    questions.add("a session with its events", move |ledger, n| {
        let id = sample.session(n);
        read(ledger, |tx| {
            tx.session(id)?;
            tx.statements_of_session(id)?;
            tx.commits_of_session(id, PAGE)?;
            tx.entries(id, 0, 100)
        })?;
        Ok(())
    });
    questions.add("a session by its last digits", move |ledger, n| {
        find::session(ledger, &sample.session(n).short())?;
        Ok(())
    });
    questions.add("what is damaged", |ledger, _| {
        doctor::damaged(ledger)?;
        Ok(())
    });
    let query = Query {
        query: SearchQuery::parse("fn return", now())?,
        sessions: page_of(SEARCHED),
        commits_in: Vec::new(),
        most: 20,
        after: None,
    };
    questions.add("search in the newest 200 sessions", move |ledger, _| {
        search(&driven::here(), ledger, &query)?;
        Ok(())
    });
    Ok(())
}

/// What events and sessions take, with everything that belongs to them.
#[expect(clippy::cast_precision_loss, reason = "some millions")]
fn sizes(store: &str, bytes: f64, sessions: usize, events: i64) -> [Line; 2] {
    let line = |what: &str, number: f64| {
        let what = format!("{what}, {store}, {sessions} sessions");
        Line::new(what, bytes / number / 1e3, "kB", 1)
    };
    [
        line("an event", events as f64),
        line("a session", sessions as f64),
    ]
}
