//! What was not handed over is known, and comes to its place when it is.

use super::*;

fn numbered(n: u64) -> Commit {
    at_positions(turn(&format!("t{n}")), 2 * n + 1, 2 * n + 2)
}

#[test]
fn a_turn_that_is_missing_holds_up_the_next_until_it_is_filled_in() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit(&keys, &numbered(0));
    let behind = host.commit(&keys, &numbered(2));
    assert_eq!(behind, Committed::Behind { expected: 3 });
    let refused = host.contexts(|c| c.assemble(&keys, &Assemble::default()));
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "gap");
    assert!(error.to_string().contains("3 to 4"), "{error}");
    host.contexts(|c| c.backfill(&keys, &numbered(1))).unwrap();
    assert!(matches!(
        host.commit(&keys, &numbered(2)),
        Committed::Done(_)
    ));
    assert_eq!(host.seen(&keys), strings(&["t0", "t1", "t2"]));
    let gaps = host.contexts(|c| c.gaps(&keys)).unwrap();
    assert_eq!(gaps.len(), 1);
    assert!(!gaps[0].is_open());
}

#[test]
fn what_comes_after_a_gap_was_accepted_stands_at_its_place() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit(&keys, &numbered(0));
    host.commit(&keys, &numbered(3));
    let accepted = host.contexts(|c| c.accept_gap(&keys, None)).unwrap();
    assert_eq!(accepted, 1);
    assert!(matches!(
        host.commit(&keys, &numbered(3)),
        Committed::Done(_)
    ));
    assert_eq!(host.seen(&keys), strings(&["t0", "t3"]));
    host.contexts(|c| c.backfill(&keys, &numbered(2))).unwrap();
    assert_eq!(host.seen(&keys), strings(&["t0", "t2", "t3"]));
    host.contexts(|c| c.backfill(&keys, &numbered(1))).unwrap();
    assert_eq!(host.seen(&keys), strings(&["t0", "t1", "t2", "t3"]));
    let outside = host.contexts(|c| c.backfill(&keys, &numbered(1))).unwrap();
    assert!(matches!(outside, Committed::Duplicate(_)));
    let nowhere = host.contexts(|c| c.backfill(&keys, &numbered(7)));
    assert_eq!(nowhere.unwrap_err().code(), "invalid");
}

#[test]
fn a_host_that_begins_further_on_is_given_the_gap() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit(&keys, &numbered(0));
    let begin = |last| Bootstrap { last: Some(last) };
    let stands = host.contexts(|c| c.bootstrap(&keys, &begin(2))).unwrap();
    assert_eq!((stands.next, stands.gaps.len()), (Some(3), 0));
    let stands = host.contexts(|c| c.bootstrap(&keys, &begin(4))).unwrap();
    assert_eq!((stands.gaps[0].first, stands.gaps[0].last), (3, 4));
    let ask = Assemble {
        budget: 1_000,
        gaps: Gaps::Accepted,
        ..Assemble::default()
    };
    let seen = host.contexts(|c| c.assemble(&keys, &ask)).unwrap();
    assert_eq!(texts(&seen), strings(&["t0"]));
}

#[test]
fn positions_that_are_taken_are_refused() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit(&keys, &numbered(0));
    let refused = host.refused(&keys, &at_positions(turn("x"), 2, 5));
    assert_eq!(refused.code(), "conflict");
    let backwards = host.refused(&keys, &at_positions(turn("x"), 9, 5));
    assert_eq!(backwards.code(), "invalid");
}
