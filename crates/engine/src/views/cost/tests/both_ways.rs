//! What the ledger sums up gives the answer that each message by itself gives.

use siglum_domain::ConversationId;
use siglum_domain::evidence::{Committer, Judgement, RULES, Verdict};
use siglum_domain::intake::Place;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{
    CommitRecord, Durability, Mode, SeenBy, SessionFilter, SessionOrigin, SessionRecord,
    SqliteLedger, Summary, write,
};

use super::*;
use crate::views::cost::{cost, put_titles, used};

/// A model that costs more for long prompts, at a length that no provider has, and less from the next day on.
const ODD: &str = r#"{"schema": "siglum.prices/1", "date": "2026-05-01", "currency": "USD", "prices": [
    {"provider": "us", "models": ["odd"], "from": "2026-05-01", "input": "1", "output": "2", "source": "us",
     "above": [{"prompt": 50000, "input": "3", "output": "4"}]},
    {"provider": "us", "models": ["odd"], "from": "2026-05-29", "input": "0.1", "output": "0.2", "source": "us"}]}"#;

const SESSIONS: u128 = 4;

/// What happens to a session.
#[derive(Debug, Clone)]
enum Event {
    /// It is folded: its messages are these, by their numbers.
    Folded(Vec<u128>),
    Linked(i64, bool, Link),
    Committed(i64),
    Forgotten,
    Erased,
}

fn event() -> impl Strategy<Value = (u128, Event)> {
    let messages = prop::collection::vec(0..40u128, 0..9);
    let link = prop_oneof![
        (1..3u64).prop_map(Link::IssueNumber),
        Just(Link::PrNumber(1)),
        Just(Link::AgentRole("r".into())),
        Just(Link::PipelineId("p".into())),
    ];
    let linked = (0..100_000i64, any::<bool>(), link);
    let event = prop_oneof![
        6 => messages.prop_map(Event::Folded),
        2 => linked.prop_map(|(at, attached, link)| Event::Linked(at, attached, link)),
        1 => (0..100_000i64).prop_map(Event::Committed),
        1 => Just(Event::Forgotten),
        1 => Just(Event::Erased),
    ];
    (1..=SESSIONS, event)
}

/// A message of which everything follows from its number, so that of two sessions with the same one, one has a copy.
fn numbered(n: u128) -> Usage {
    let number = u64::try_from(n).unwrap();
    let place = |of: u64| usize::try_from(number % of).unwrap();
    let models = [
        Some(KNOWN),
        Some("gemini-2.5-pro"),
        Some("odd"),
        Some("nobody"),
        None,
    ];
    // Several in one quarter of an hour, and quarters of more than a day.
    let seconds = i64::try_from(number / 4 * 9_000 + number % 4 * 250).unwrap();
    Usage {
        model: models[place(5)].map(str::to_owned),
        tokens: Tokens {
            input: [0, 7, 60_000, 250_000][place(4)],
            output: number % 3,
            cache_read: [0, 150_000][place(2)],
            cache_write: 0,
        },
        ..usage(n, Some(n % 7), seconds, 0)
    }
}

fn query() -> impl Strategy<Value = CostQuery> {
    let by = (0..By::ALL.len()).prop_map(|n| By::ALL[n]);
    let time = || prop::option::of((0..100_000i64).prop_map(at));
    let links = prop::collection::vec((1..3u64).prop_map(Link::IssueNumber), 0..2);
    let only = (
        prop::option::weighted(0.2, (1..=SESSIONS).prop_map(session)),
        prop::option::weighted(0.2, Just(KNOWN.to_owned())),
        prop::option::weighted(0.2, Just(agent(1))),
        prop::option::weighted(0.3, (1..3u128).prop_map(repository)),
        0..4usize,
    );
    (by, time(), time(), links, only).prop_map(|(by, since, until, links, only)| {
        let (session, model, agent, repository, limit) = only;
        CostQuery {
            by,
            session,
            repositories: repository.into_iter().collect(),
            agent,
            model,
            since,
            until,
            links,
            limit,
        }
    })
}

fn repository(n: u128) -> RepositoryId {
    RepositoryId::from_uuid(Uuid::from_u128(n))
}

fn open(dir: &tempfile::TempDir) -> SqliteLedger {
    let how = Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(1)),
        key: [7; 32],
    };
    let mut ledger = SqliteLedger::open(&dir.path().join("ledger.db"), how).unwrap();
    let furnished = write(&mut ledger, Durability::Process, |tx| {
        for n in [1, 2] {
            let place = Place {
                common_dir: format!("/r{n}/.git"),
                worktree: format!("/r{n}"),
            };
            tx.note_place(&place, repository(n), at(0))?;
        }
        for n in 1..=SESSIONS {
            let mut record = SessionRecord::new(
                session(n),
                agent(n),
                ConversationId::new(format!("c{n}")).unwrap(),
                LedgerId::from_uuid(Uuid::from_u128(1)),
                Mode::Observed,
                SessionOrigin::Live,
                at(0),
            );
            let places = [None, Some(repository(1)), Some(repository(2))];
            record.repository = places[usize::try_from(n % 3).unwrap()];
            tx.create_session(&record)?;
            let summary = Summary {
                title: Some(format!("title {n}")),
                ..Summary::default()
            };
            tx.put_summary(session(n), &summary, 0)?;
        }
        Ok(())
    });
    furnished.unwrap();
    ledger
}

fn play(ledger: &mut SqliteLedger, number: u8, of: u128, event: &Event) {
    let session = session(of);
    let played = write(ledger, Durability::Process, |tx| match event {
        Event::Folded(messages) => {
            let numbers: BTreeSet<u128> = messages.iter().copied().collect();
            let usages: Vec<Usage> = numbers.into_iter().map(numbered).collect();
            tx.put_usages(session, &usages)
        }
        Event::Linked(seconds, attached, link) => {
            let link = link.clone();
            let statement = match attached {
                true => Statement::LinkAttached { session, link },
                false => Statement::LinkDetached { session, link },
            };
            tx.state(at(*seconds), "me", "cli", &statement).map(drop)
        }
        Event::Committed(seconds) => tx.put_commit(&CommitRecord {
            repository: repository(1),
            commit: Oid::new(format!("{number:02x}").repeat(20)).unwrap(),
            checkpoint: None,
            intent: None,
            judgement: Judgement {
                rules: RULES,
                committer: Committer::Session { session },
                verdict: Verdict::Certain,
                rule: "ancestry".into(),
                evidence: Vec::new(),
                candidates: Vec::new(),
                outer: Vec::new(),
            },
            facts: None,
            patch: None,
            at: at(*seconds),
            seen_by: SeenBy::Hook,
        }),
        Event::Forgotten => tx.forget_session(session, at(200_000)),
        Event::Erased => tx.drop_usages(session),
    });
    played.unwrap();
}

/// The answer from all messages of all sessions, without the sums of the ledger.
fn by_message(
    ledger: &mut SqliteLedger,
    query: &CostQuery,
    prices: &Prices,
    day: &dyn Fn(Timestamp) -> String,
) -> Costs {
    let costs = read(ledger, |tx| {
        let mut table = Table::new(query, prices, day);
        for listing in tx.sessions(&SessionFilter::default())? {
            let session = UsageSession {
                id: listing.record.id,
                agent: listing.record.agent,
                repository: listing.record.repository,
            };
            let here = |id| query.repositories.contains(&id);
            let is_meant = query.session.is_none_or(|id| id == session.id)
                && query
                    .agent
                    .as_ref()
                    .is_none_or(|a| Some(a) == session.agent.as_ref())
                && (query.repositories.is_empty() || session.repository.is_some_and(here));
            if is_meant {
                table.add(&used(tx, query, session)?);
            }
        }
        let mut costs = table.done(tx.unfolded(COUNT_MOST)?.len());
        put_titles(tx, &mut costs.rows)?;
        Ok(costs)
    });
    costs.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn sums_answer_as_messages_do(
        events in prop::collection::vec(event(), 1..14),
        queries in prop::collection::vec(query(), 1..40),
        // The last one is none that is in use: a day ends within a quarter of an hour.
        minutes_east in prop::sample::select(vec![0i64, 330, 345, -210, 7]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = open(&dir);
        for (number, (of, event)) in (0u8..).zip(&events) {
            play(&mut ledger, number, *of, event);
        }
        let prices = Prices::parse(ODD).unwrap().before(Prices::built_in());
        let day = |at: Timestamp| at.plus_millis(minutes_east * 60_000).to_string()[..10].to_owned();
        for query in &queries {
            let summed = cost(&mut ledger, query, &prices, &day).unwrap();
            let wanted = by_message(&mut ledger, query, &prices, &day);
            prop_assert_eq!(summed, wanted, "{:?}", query);
        }
    }
}

#[test]
fn a_plain_question_reads_no_messages() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(&dir);
    for (number, n) in (0u8..).zip(1..=SESSIONS) {
        let messages = (0..40).map(|m| m * SESSIONS + n).collect();
        play(&mut ledger, 0, n, &Event::Folded(messages));
        let linked = Event::Linked(50_000, true, Link::IssueNumber(1));
        play(&mut ledger, 0, n, &linked);
        play(&mut ledger, number, n, &Event::Committed(50_000));
    }
    let day = |at: Timestamp| at.to_string()[..10].to_owned();
    for by in By::ALL {
        let query = CostQuery::by(by);
        let of_issue = CostQuery {
            links: vec![Link::IssueNumber(1)],
            ..query.clone()
        };
        let (costs, work) = ledger
            .cost_of(|ledger| {
                let linked = cost(ledger, &of_issue, Prices::built_in(), &day);
                let costs = cost(ledger, &query, Prices::built_in(), &day);
                assert_eq!(linked.unwrap(), *costs.as_ref().unwrap());
                costs
            })
            .unwrap();
        // Of 160 messages, 13 of the last session have no tokens.
        assert_eq!(costs.unwrap().total.messages, 147, "{by:?}");
        let mut statements = work.statements.keys();
        let reads_messages = statements.any(|sql| sql.contains("FROM usages "));
        assert_eq!(reads_messages, by == By::Turn, "{by:?}");
    }
}
