//! Connections that are lost, at any moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::*;

/// Ends every connection of a tenant's ledger from the server's side.
pub(super) fn end_connections(home: &Home, backend: i32) {
    let sql = "SELECT pg_terminate_backend($1, 5000)";
    let ended: bool = home.raw().query_one(sql, &[&backend]).unwrap().get(0);
    assert!(ended, "the connection did not end");
}

/// The server's process of a ledger's connection.
pub(super) fn backend(ledger: &mut PostgresLedger) -> i32 {
    let link = ledger.link().expect("because a transaction has succeeded");
    let row = link.client.query_one("SELECT pg_backend_pid()", &[]);
    row.unwrap().get(0)
}

#[test]
fn a_connection_that_ended_between_transactions_is_made_anew() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.open();
    for n in ["a", "b"] {
        let pid = backend(&mut ledger);
        end_connections(&home, pid);
        decline(&mut ledger, n).unwrap();
        assert_ne!(backend(&mut ledger), pid);
    }
    let pid = backend(&mut ledger);
    end_connections(&home, pid);
    assert_eq!(details(&mut ledger), ["b", "a"]);
}

#[test]
fn a_connection_that_is_lost_in_the_middle_stores_nothing() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.open();
    let pid = backend(&mut ledger);
    let mut runs = 0;
    let lost = put(&mut ledger, |tx| {
        runs += 1;
        declined(tx, "x")?;
        end_connections(&home, pid);
        declined(tx, "y")
    });
    assert!(matches!(lost, Err(LedgerError::Unreachable(_))), "{lost:?}");
    assert!(lost.unwrap_err().is_out_of_reach());
    assert_eq!(runs, 1, "it is the caller who tries again");
    assert_eq!(details(&mut ledger), [""; 0]);
    decline(&mut ledger, "next").unwrap();
    assert_eq!(details(&mut ledger), ["next"]);
}

/// What a broken line does with the next word to commit.
#[derive(Clone, Copy)]
enum Line {
    Whole,
    LosesTheWord,
    LosesTheAnswer,
}

/// A line to the server that breaks when it is told to.
struct Broken {
    port: u16,
    line: Arc<AtomicU8>,
}

impl Broken {
    fn to(host: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = Arc::new(AtomicU8::new(Line::Whole as u8));
        let state = Arc::clone(&line);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&host).unwrap();
                let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let state = Arc::clone(&state);
                std::thread::spawn(move || pass_words(up, server, &state));
                std::thread::spawn(move || pass_answers(down, client));
            }
        });
        Self { port, line }
    }

    fn set(&self, line: Line) {
        self.line.store(line as u8, Ordering::SeqCst);
    }
}

fn pass_words(mut client: TcpStream, mut server: TcpStream, line: &AtomicU8) {
    let mut buffer = [0; 65536];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let words = &buffer[..read];
        let commits = words.windows(7).any(|w| w == b"COMMIT\0");
        let line = line.load(Ordering::SeqCst);
        if commits && line != Line::Whole as u8 {
            if line == Line::LosesTheAnswer as u8 {
                // The client hears nothing of what follows.
                client.shutdown(Shutdown::Both).unwrap();
                server.write_all(words).unwrap();
                // The server ends the connection when it has done all that it was told.
                server.shutdown(Shutdown::Write).unwrap();
            } else {
                server.shutdown(Shutdown::Both).unwrap();
                client.shutdown(Shutdown::Both).unwrap();
            }
            return;
        }
        if server.write_all(words).is_err() {
            return;
        }
    }
}

fn pass_answers(mut server: TcpStream, mut client: TcpStream) {
    let mut buffer = [0; 65536];
    while let Ok(read @ 1..) = server.read(&mut buffer) {
        if client.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

#[test]
fn a_connection_that_is_lost_in_a_commit_leaves_it_unknown() {
    let Some(home) = Home::shared() else { return };
    let mut straight = home.open();
    let url = home.server.url();
    let (user, place) = url.rsplit_once('@').unwrap();
    let (host, rest) = place.split_once('/').unwrap();
    let broken = Broken::to(host.to_owned());
    let url = format!("{user}@127.0.0.1:{}/{rest}", broken.port);
    let settings = PostgresSettings::new(url, home.settings.tenant.clone());
    let mut ledger = PostgresLedger::open(&settings, Open::Hook).unwrap();
    let mut lose = |line: Line, detail: &str| {
        let pid = backend(&mut ledger);
        broken.set(line);
        let lost = decline(&mut ledger, detail);
        broken.set(Line::Whole);
        assert!(matches!(lost, Err(LedgerError::Unknown(_))), "{lost:?}");
        wait_for_end(&home, pid);
        decline(&mut ledger, "next").unwrap();
        details(&mut straight)
    };
    assert_eq!(lose(Line::LosesTheWord, "x"), ["next"]);
    assert_eq!(lose(Line::LosesTheAnswer, "y"), ["y", "next"]);
}

/// Waits until the server has done all that a connection told it.
pub(super) fn wait_for_end(home: &Home, pid: i32) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
    let mut raw = home.raw();
    for _ in 0..500 {
        let running: i64 = raw.query_one(sql, &[&pid]).unwrap().get(0);
        if running == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the connection did not end");
}

#[test]
fn a_session_whose_record_is_damaged_is_quarantined_and_the_others_are_served() {
    let Some(home) = Home::own() else { return };
    let mut ledger = home.furnished();
    let wrong = "UPDATE sessions SET agent = 'No Agent' WHERE id = $1";
    let changed = home.raw().execute(wrong, &[&session_id(1).uuid()]);
    assert_eq!(changed.unwrap(), 1);
    let all = SessionFilter::default();
    let listed = crate::read(&mut ledger, |tx| tx.sessions(&all)).unwrap();
    let mut listed: Vec<_> = listed.into_iter().map(|s| s.record).collect();
    listed.sort_by_key(|record| record.id);
    assert_eq!(listed[1], session(2, ledger.id()));
    let damaged = crate::read(&mut ledger, |tx| tx.session(session_id(1))).unwrap();
    assert_eq!(damaged.as_ref(), Some(&listed[0]));
    let damaged = damaged.unwrap();
    assert!(damaged.quarantined.is_some_and(|why| why.contains("agent")));
    assert_eq!(
        (damaged.conversation.as_str(), damaged.created_at),
        ("c1", at(1))
    );
}
