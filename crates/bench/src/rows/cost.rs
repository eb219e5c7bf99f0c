//! What sessions cost, asked of ledgers with many of them: in the last days, which is the default, and of all time.

use std::cell::Cell;

use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::{Source, Tokens};
use siglum_domain::{AgentName, ConversationId, LedgerId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    Durability, Ledger, Mode, SessionOrigin, SessionRecord, Summary, Transaction, write,
};

use crate::Fallible;
use crate::clock::{Chance, Ids, now};
use crate::contest::Contest;
use crate::home::Home;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// What the default question may take, in milliseconds.
const MOST: f64 = 100.0;
const DEFAULT: &str = "cost";

/// The commands: name and arguments.
const COMMANDS: &[(&str, &[&str])] = &[
    (DEFAULT, &["cost"]),
    ("cost --by day", &["cost", "--by", "day"]),
    ("cost --since all", &["cost", "--since", "all"]),
    (
        "cost --since all --by issue",
        &["cost", "--since", "all", "--by", "issue"],
    ),
];

/// How many sessions one batch takes.
const BATCH: usize = 1_000;
/// Sessions are spread over this many days.
const DAYS: usize = 700;
/// How many messages a session has, a few minutes apart.
const MESSAGES: usize = 12;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let mut lines = Vec::new();
    for sessions in [run.much(10_000, 500), run.much(100_000, 2_000)] {
        lines.extend(with_sessions(run, sessions)?);
    }
    Ok(lines)
}

fn with_sessions(run: &Run, sessions: usize) -> Fallible<Vec<Line>> {
    let dir = run.dir(&format!("cost/{sessions}"))?;
    let home = Home::create(&run.program, &dir)?;
    let repo = Repo::create(&home, &dir.join("repo"), 20, 1)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    fill(&home, &repo, sessions)?;
    let _lock = home.without_worker()?;
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    let (home, dir) = (&home, &repo.dir);
    for (name, args) in COMMANDS {
        contest.arm(*name, move || Ok(home.run(dir, args)?.0));
    }
    let times = contest.run(run.much(30, 8))?;
    let line = |name: &str| {
        let of = times.arm(name);
        let line = Line::new(
            format!("{name}, {sessions} sessions"),
            of.median(),
            "ms",
            of.n(),
        );
        let line = line
            .p95(of.p95())
            .against("empty", times.arm("empty").median());
        match name {
            DEFAULT => line.bound("≤ 100 ms", of.median() <= MOST),
            _ => line,
        }
    };
    Ok(COMMANDS.iter().map(|(name, _)| line(name)).collect())
}

/// Fills a ledger with sessions that cost something, as the worker would have folded them.
fn fill(home: &Home, repo: &Repo, sessions: usize) -> Fallible<()> {
    let chance = Chance::new(sessions as u64 + 2);
    let ids = Ids {
        chance: &chance,
        at: Cell::new(now()),
    };
    let mut ledger = home.ledger()?;
    let (own, place) = (ledger.id(), repo.place()?);
    let fresh = RepositoryId::mint(&ids);
    let repository = write(&mut ledger, Durability::Process, |tx| {
        tx.note_place(&place, fresh, now())
    })?;
    let mut left = sessions;
    while left > 0 {
        let size = left.min(BATCH);
        left -= size;
        let mut batch = Vec::new();
        for _ in 0..size {
            batch.push(session(&chance, own, repository)?);
        }
        write(&mut ledger, Durability::Process, |tx| {
            batch
                .iter()
                .try_for_each(|(record, usages)| put(tx, record, usages))
        })?;
        ledger.maintain()?;
    }
    Ok(())
}

fn session(
    chance: &Chance,
    home: LedgerId,
    repository: RepositoryId,
) -> Fallible<(SessionRecord, Vec<Usage>)> {
    let minutes = chance.below(DAYS * 24 * 60) as i64;
    let at = now().plus_millis(-(minutes + 120) * 60_000);
    let ids = Ids {
        chance,
        at: Cell::new(at),
    };
    let mut record = SessionRecord::new(
        SessionId::mint(&ids),
        AgentName::new("claude-code")?,
        ConversationId::new(format!("bench-{}", chance.hex(24)))?,
        home,
        Mode::Observed,
        SessionOrigin::Live,
        at,
    );
    record.repository = Some(repository);
    let usages = (0..MESSAGES as i64).map(|n| message(chance, at.plus_millis(n * 5 * 60_000)));
    Ok((record, usages.collect()))
}

fn message(chance: &Chance, at: Timestamp) -> Usage {
    Usage {
        event: format!("msg:{}", chance.hex(24)),
        request: None,
        turn: None,
        at,
        model: Some("claude-sonnet-4-5".to_owned()),
        subagent: None,
        branch: Some("main".to_owned()),
        source: Source::Transcript,
        tokens: Tokens {
            input: 10,
            output: chance.below(2_000) as u64,
            cache_read: chance.below(150_000) as u64,
            cache_write: chance.below(9_000) as u64,
        },
        repeated: Records {
            count: 1,
            tokens: Tokens::default(),
        },
        retold: Records::default(),
    }
}

fn put(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    usages: &[Usage],
) -> Result<(), siglum_ledger::LedgerError> {
    tx.create_session(record)?;
    tx.set_ended(record.id, Some(record.last_at))?;
    let summary = Summary {
        state: "ended".to_owned(),
        title: Some("Do the work".to_owned()),
        ..Summary::default()
    };
    tx.put_summary(record.id, &summary, record.head)?;
    tx.put_usages(record.id, usages)
}
