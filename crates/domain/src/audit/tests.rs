//! A chain, and whatever may be done to it behind its back.

use uuid::Uuid;

use super::wire::Line;
use super::*;

fn ledger(n: u128) -> LedgerId {
    LedgerId::from_uuid(Uuid::from_u128(n))
}

fn header(n: u64) -> Header {
    Header {
        at: Timestamp::from_nanos(1_795_000_000_000_000_007),
        actor: format!("token {n}"),
        action: Action::SessionCreated,
        outcome: match n % 2 {
            0 => Outcome::Done,
            _ => Outcome::Refused {
                reason: "no".to_owned(),
                field: Some("issue_number".to_owned()),
            },
        },
        session: Some(SessionId::from_uuid(Uuid::from_u128(u128::from(n)))),
        pipeline: Some("p-1".to_owned()),
    }
}

fn body(n: u64) -> Body {
    Body {
        salt: [7; 32],
        text: Redacted::from_stored(format!(r#"{{"n":{n}}}"#)),
    }
}

fn chain(length: u64) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for n in 1..=length {
        let before = entries
            .last()
            .map_or(GENESIS.to_owned(), |e| e.digest.clone());
        entries.push(Entry::seal(ledger(1), (n, &before), header(n), body(n)));
    }
    entries
}

fn flaw_messages(entries: &[Entry], last: &Entry) -> Vec<String> {
    let mut verifying = Verifying::new(ledger(1));
    let mut flaws: Vec<Flaw> = entries
        .iter()
        .flat_map(|e| verifying.entry(e.number, Ok(e)))
        .collect();
    flaws.extend(verifying.end(last.number, &last.digest));
    flaws.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(change: impl FnOnce(&mut Vec<Entry>), wanted: &[&str]) {
    let mut entries = chain(5);
    let last = entries[4].clone();
    change(&mut entries);
    assert_eq!(flaw_messages(&entries, &last), wanted);
}

#[test]
fn a_chain_as_it_was_recorded_verifies() {
    check(|_| {}, &[]);
    let mut erased = chain(5);
    erased[2].body = None;
    assert_eq!(
        flaw_messages(&erased, &chain(5)[4]),
        [""; 0],
        "an erased body"
    );
    let entries = chain(5);
    let mut verifying = Verifying::from(ledger(1), 3);
    let flaws: Vec<_> = entries[2..]
        .iter()
        .flat_map(|e| verifying.entry(e.number, Ok(e)))
        .collect();
    assert_eq!(flaws, []);
}

#[test]
fn a_change_of_any_field_is_found_with_its_number() {
    let changes: [fn(&mut Entry); 10] = [
        |e| e.header.actor.push('x'),
        |e| e.header.at = Timestamp::from_nanos(1),
        |e| e.header.action = Action::SessionEnded,
        |e| e.header.outcome = Outcome::Done,
        |e| {
            e.header.outcome = Outcome::Refused {
                reason: "noi".to_owned(),
                field: Some("ssue_number".to_owned()),
            }
        },
        |e| e.header.session = None,
        |e| e.header.pipeline = None,
        |e| e.body_digest = GENESIS.to_owned(),
        |e| e.previous = GENESIS.to_owned(),
        |e| e.header.pipeline = Some(String::new()),
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let mut entries = chain(5);
        let last = entries[4].clone();
        change(&mut entries[2]);
        let flaws = flaw_messages(&entries, &last);
        assert!(
            flaws.contains(&"entry 3 is not what was recorded".to_owned()),
            "{nth}: {flaws:?}"
        );
    }
    check(
        |entries| {
            entries[2].body = Some(body(9));
        },
        &["the body of entry 3 is not what was recorded"],
    );
}

#[test]
fn an_entry_that_was_digested_anew_is_not_chained() {
    check(
        |entries| {
            let before = entries[1].digest.clone();
            entries[2] = Entry::seal(ledger(1), (3, &before), header(8), body(8));
        },
        &["entry 4 is not chained to the one before"],
    );
    check(
        |entries| {
            let before = entries[3].digest.clone();
            entries[4] = Entry::seal(ledger(1), (5, &before), header(8), body(8));
        },
        &["entry 5 is not the one recorded last"],
    );
    let other = Entry::seal(ledger(2), (1, GENESIS), header(1), body(1));
    check(
        |entries| entries[0] = other,
        &[
            "entry 1 is not what was recorded",
            "entry 2 is not chained to the one before",
        ],
    );
}

#[test]
fn what_was_removed_or_put_in_or_exchanged_is_found() {
    check(|e| drop(e.remove(2)), &["entry 3 is missing"]);
    check(|e| drop(e.drain(..2)), &["entries 1 to 2 are missing"]);
    check(|e| e.truncate(3), &["entries 4 to 5 are missing"]);
    check(Vec::clear, &["entries 1 to 5 are missing"]);
    check(
        |e| {
            let last = &e[4];
            let more = Entry::seal(ledger(1), (6, &last.digest.clone()), header(6), body(6));
            e.push(more);
        },
        &["entry 6 stands behind the one recorded last"],
    );
    check(
        |e| {
            let twice = e[2].clone();
            e.insert(3, twice);
        },
        &["entry 3 is out of order"],
    );
    check(
        |e| {
            e.swap(1, 2);
            (e[1].number, e[2].number) = (2, 3);
        },
        &[
            "entry 2 is not what was recorded",
            "entry 3 is not what was recorded",
            "entry 4 is not chained to the one before",
        ],
    );
}

#[test]
fn what_cannot_be_read_hides_nothing_behind_it() {
    let mut entries = chain(5);
    entries[3].header.actor.clear();
    let mut verifying = Verifying::new(ledger(1));
    let mut flaws = Vec::new();
    for entry in &entries {
        let row = if entry.number == 2 {
            Err("no")
        } else {
            Ok(entry)
        };
        flaws.extend(verifying.entry(entry.number, row));
    }
    let messages: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "entry 2 cannot be read: no",
            "entry 4 is not what was recorded"
        ]
    );
}

#[test]
fn lines_have_all_that_verifying_takes() {
    for mut entry in chain(3) {
        if entry.number == 2 {
            entry.body = None;
        }
        let json = serde_json::to_string(&Line::from_entry(ledger(1), &entry)).unwrap();
        let line: Line = serde_json::from_str(&json).unwrap();
        assert_eq!(line.ledger, ledger(1));
        assert_eq!(line.entry(), Ok(entry));
    }
}

/// The rule of `docs/audit.md`; to change it is to break every chain.
#[test]
fn the_digest_is_the_documented_one() {
    let first = &chain(1)[0];
    assert_eq!(
        (first.body_digest.as_str(), first.digest.as_str()),
        (
            "a2cad2016bda43870955f21289b3869595f3902b7bfe71bae14fecf2224981f3",
            "8f2d00f5a436f8ffb171bb28248bfe038903cf9577df05feb68b9f37e606f47b"
        )
    );
}

#[test]
fn texts_have_no_control_characters_and_empty_ones_are_none() {
    let odd = Header {
        actor: "a\0b\nc".to_owned(),
        action: Action::from("x\ty"),
        outcome: Outcome::Refused {
            reason: "r\u{7f}".to_owned(),
            field: Some(String::new()),
        },
        pipeline: Some(String::new()),
        ..header(1)
    };
    let entry = Entry::seal(ledger(1), (1, GENESIS), odd, body(1));
    assert_eq!(entry.header.actor, "a b c");
    assert_eq!(entry.header.action.as_str(), "x y");
    assert_eq!(entry.header.outcome.refusal(), (Some("r "), None));
    assert_eq!(entry.header.pipeline, None);
    assert_eq!(flaw_messages(std::slice::from_ref(&entry), &entry), [""; 0]);
}

#[test]
fn every_word_is_known_again() {
    for word in Action::WORDS {
        let action = Action::from(*word);
        assert_eq!(action.as_str(), *word);
        assert!(!matches!(action, Action::Other(_)), "{word}");
    }
    assert_eq!(Action::from("x.y"), Action::Other("x.y".to_owned()));
}
