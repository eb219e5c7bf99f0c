//! What a runtime may count on.

mod at_once;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;

const TERM: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(60);

fn store(dir: &tempfile::TempDir) -> Store {
    Store::open(dir.path().join("ledger.db")).unwrap()
}

fn session(store: &Store) -> SessionId {
    let new = NewSession {
        agent: AgentName::new("test-runtime").unwrap(),
        conversation: ConversationId::new("one").unwrap(),
        cwd: None,
        links: vec![Link::IssueNumber(4)],
        by: "test".to_owned(),
    };
    store.create(&new).unwrap().id
}

fn turn_events(n: u64) -> [Event; 2] {
    let key = n.to_string();
    [Event::prompt(&key, "go on"), Event::stop(&key)]
}

/// A sink that tells what it takes, and takes nothing before it may.
struct RecordingSink {
    took: Sender<(u64, Vec<String>)>,
    may: Option<Receiver<()>>,
    fails: bool,
}

impl Sink for RecordingSink {
    fn position(&mut self, _: SessionId) -> Result<Position, SinkError> {
        Ok(Position::Unknown)
    }

    fn take(&mut self, _: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        let [sealed] = sealed else {
            panic!("{} receipts at once", sealed.len());
        };
        if let Some(may) = &self.may {
            let _ = may.recv();
        }
        if self.fails {
            return Err(SinkError::Unavailable("away".to_owned()));
        }
        let keys = sealed.entries.iter().map(|e| e.observation.key.clone());
        let _ = self.took.send((sealed.receipt.number, keys.collect()));
        Ok(())
    }

    fn reset(&mut self, _: SessionId) -> Result<(), SinkError> {
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

fn numbers(received: &Receiver<(u64, Vec<String>)>) -> Vec<u64> {
    received.try_iter().map(|(number, _)| number).collect()
}

#[test]
fn a_sink_that_hangs_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let (took, received) = channel();
    let (go, may) = channel();
    let (may, fails) = (Some(may), false);
    store
        .follow("mine", Box::new(RecordingSink { took, may, fails }))
        .unwrap();
    let mut drive = store.drive(session(&store), TERM).unwrap();
    for n in 1..=20 {
        drive.commit(&format!("turn-{n}"), turn_events(n)).unwrap();
    }
    assert!(numbers(&received).is_empty());
    drop(go);
    let lag = store.pump(LONG).unwrap();
    assert_eq!(lag["mine"].receipts, 0);
    assert_eq!(numbers(&received), (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_sink_that_fails_fails_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let (took, received) = channel();
    let (may, fails) = (None, true);
    store
        .follow("mine", Box::new(RecordingSink { took, may, fails }))
        .unwrap();
    let mut drive = store.drive(session(&store), TERM).unwrap();
    drive.commit("turn-1", turn_events(1)).unwrap();
    let lag = store.pump(LONG).unwrap();
    assert_eq!((lag["mine"].receipts, lag["mine"].failing), (1, 1));
    assert!(numbers(&received).is_empty());
}

#[test]
fn a_name_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (took, received) = channel();
    for n in 1..=3 {
        let store = store(&dir);
        let (took, may, fails) = (took.clone(), None, false);
        let mut drive = store.drive(session(&store), TERM).unwrap();
        drive.commit(&format!("turn-{n}"), turn_events(n)).unwrap();
        store
            .follow("mine", Box::new(RecordingSink { took, may, fails }))
            .unwrap();
        store.pump(LONG).unwrap();
        assert_eq!(numbers(&received), [n]);
    }
}

#[test]
fn nothing_is_shown_before_it_is_committed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let (took, received) = channel();
    let (may, fails) = (None, false);
    store
        .follow("mine", Box::new(RecordingSink { took, may, fails }))
        .unwrap();
    let id = session(&store);
    let mut drive = store.drive(id, TERM).unwrap();
    let Opening::Turn(mut turn) = drive.open("turn-1").unwrap() else {
        panic!("it is new");
    };
    turn.say_all(turn_events(1)).unwrap();
    assert_eq!(turn.pending().unwrap().len(), 2);
    store.pump(LONG).unwrap();
    assert!(store.read(id, 0, 0).unwrap().entries.is_empty() && numbers(&received).is_empty());
    turn.abort().unwrap();
    assert!(drive.open_turn().is_none());

    let Opening::Turn(mut turn) = drive.open("turn-2").unwrap() else {
        panic!("it is new");
    };
    turn.say(Event::prompt("2", "go on")).unwrap();
    turn.say(Event::message("2", "well")).unwrap();
    drop(drive);
    let drive = store.drive(id, TERM).unwrap();
    assert!(matches!(drive.recovered(), Recovered::Interrupted(r) if r.number == 1));
    store.pump(LONG).unwrap();
    let (_, keys) = received.try_recv().unwrap();
    assert_eq!(keys[..2], ["prompt:2", "msg:2"]);
}

#[test]
fn secrets_are_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let id = session(&store);
    let secret = concat!("ghp_", "R7kQ2mZp9VtX4bLw8NsYc3HdJf6GaUe1TqKo");
    let raw = format!("use {secret} to log in");
    let events = [
        Event::prompt("1", &raw),
        Event::tool_call("1", "sh", &raw),
        Event::tool_result("1", "sh", &raw),
        Event::message("1", &raw),
        Event::compaction("1", &raw),
        Event::other("1", &raw),
        Event::stop("1").last_words(&raw),
    ];
    let mut drive = store.drive(id, TERM).unwrap();
    drive.commit("turn-1", events).unwrap();
    let stored = format!("{:?}", store.read(id, 0, 0).unwrap().entries);
    assert!(
        stored.contains("to log in") && !stored.contains(secret),
        "{stored}"
    );
}

#[test]
fn a_context_begins_with_what_is_left_and_forks_keep_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let id = session(&store);
    let mut drive = store.drive(id, TERM).unwrap();
    drive.commit("turn-1", turn_events(1)).unwrap();
    drive.compact("compaction-1", "they said go on").unwrap();
    drive.commit("turn-2", turn_events(2)).unwrap();
    let fork = store
        .fork(id, None, &ConversationId::new("two").unwrap(), "test")
        .unwrap();
    for of in [id, fork.id] {
        assert_eq!(store.context(of, None).unwrap().len(), 3);
    }
    assert_eq!(store.context(id, Some(2)).unwrap().len(), 2);
    assert_eq!(store.history(fork.id, None).unwrap().len(), 2);
}

#[test]
fn a_projection_of_the_worker_is_not_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    store
        .with(|ledger| {
            siglum_engine::share::project::add(
                &place::here(),
                ledger,
                "docs",
                "directory",
                "/d",
                &siglum_domain::scope::Scope::in_process(),
            )
        })
        .unwrap();
    let (took, may, fails) = (channel().0, None, false);
    let refused = store.follow("docs", Box::new(RecordingSink { took, may, fails }));
    assert!(matches!(refused, Err(TurnError::Invalid { .. })));
}

#[cfg(feature = "postgres")]
#[test]
fn what_another_process_commits_is_noticed_and_not_waited_for() {
    use siglum_conformance::Server;

    let Some(address) = Server::address() else {
        return;
    };
    let server = Server::shared(&address).unwrap();
    let settings = server.settings(server.tenant());
    // Nobody looks by themselves within a day.
    let open = || {
        let place = crate::place::Place::Server(Box::new(settings.clone()));
        Store::at(place, Duration::from_secs(86_400)).unwrap()
    };
    let (ours, other) = (open(), open());
    let (took, received) = channel();
    let (may, fails) = (None, false);
    ours.follow("mine", Box::new(RecordingSink { took, may, fails }))
        .unwrap();
    let mut drive = other.drive(session(&other), TERM).unwrap();
    for n in 1..=3 {
        drive.commit(&format!("turn-{n}"), turn_events(n)).unwrap();
        assert_eq!(received.recv_timeout(LONG).unwrap().0, n);
    }
}

#[test]
fn a_driver_that_was_replaced_and_asks_again_learns_what_became_of_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let id = session(&store);
    let short = Duration::from_millis(50);
    let mut drive = store.drive(id, short).unwrap();
    let receipt = drive.commit("turn-1", turn_events(1)).unwrap().receipt;
    let began = std::time::Instant::now();
    let mut next = loop {
        match store.drive(id, TERM) {
            Ok(next) => break next,
            Err(error) => assert_eq!(error.code(), "leased"),
        }
        assert!(began.elapsed() < LONG, "the lease does not run out");
    };
    next.commit("turn-2", turn_events(2)).unwrap();
    let again = drive.commit("turn-1", turn_events(1)).unwrap();
    assert_eq!((again.already, again.receipt), (true, receipt));
    let late = drive.commit("turn-3", turn_events(3)).unwrap_err();
    assert_eq!(late.code(), "fenced");
}
