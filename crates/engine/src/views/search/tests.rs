use std::path::Path;

use siglum_domain::observation::{Fact, Observation, Outcome, ToolClass};
use siglum_domain::search::{PieceKind, SearchQuery, TurnText};
use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{IndexMatch, IndexQuery, Ledger as _, SessionFilter, SqliteLedger};

use super::*;
use crate::forget;
use crate::tests::stage::{Stage, agent, at, call, prompt, returned, says, stopped, text};

fn prompted(turn: &str, words: &str, seconds: i64) -> Observation {
    let fact = Fact::Prompt {
        text: text(words),
        synthetic: false,
    };
    Observation {
        fact,
        ..prompt(turn, seconds)
    }
}

fn ran(id: &str, turn: &str, input: &str, output: &str, seconds: i64) -> [Observation; 2] {
    let start = Observation {
        fact: Fact::ToolStarted {
            tool: "Bash".to_owned(),
            class: ToolClass::Shell,
            input: text(input),
            path: Some("src/cart/rounding.rs".to_owned()),
        },
        ..call(id, turn, seconds, ToolClass::Shell)
    };
    let end = Observation {
        fact: Fact::ToolEnded {
            tool: "Bash".to_owned(),
            class: ToolClass::Shell,
            outcome: match output.contains("boom") {
                true => Outcome::Failed,
                false => Outcome::Ok,
            },
            output: Some(text(output)),
            duration_ms: None,
        },
        ..returned(id, turn, seconds + 1, ToolClass::Shell, output)
    };
    [start, end]
}

/// Three sessions: two of them about carts, the last one of the three with two turns.
fn stage() -> (Stage, [SessionId; 3]) {
    let mut stage = Stage::new();
    stage.now.set(1_000);
    let mut one = vec![prompted("t1", "Mend the rounding of carts", 1)];
    one.extend(ran(
        "c1",
        "t1",
        "cargo test round_zebra_even",
        "all is fine",
        2,
    ));
    one.push(stopped("t1", 5));
    let mut two = vec![prompted("t2", "Look at 全文検索の索引 please", 11)];
    two.extend(ran("c2", "t2", "ls", "boom: no such parseQuery", 12));
    two.push(stopped("t2", 15));
    let three = [
        prompted("t3", "Write \"quoted\\nneedle\" down", 21),
        stopped("t3", 22),
        prompted("t4", "What of the cart?", 23),
        stopped("t4", 24),
    ];
    let first = stage.hear(says("s1", one));
    let second = stage.hear(says("s2", two));
    let third = stage.hear(says("s3", three.to_vec()));
    stage.slice();
    (stage, [first, second, third])
}

fn query(text: &str) -> Query {
    Query {
        query: SearchQuery::parse(text, at(1_000)).unwrap(),
        sessions: SessionFilter {
            limit: 100,
            ..SessionFilter::default()
        },
        commits_in: Vec::new(),
        most: 20,
        after: None,
    }
}

fn findings(stage: &mut Stage, query: &Query) -> Findings {
    stage.play(|world, ledger| search(world, ledger, query).unwrap())
}

fn sessions_of(stage: &mut Stage, text: &str) -> Vec<SessionId> {
    let findings = findings(stage, &query(text));
    assert!(findings.index.is_used, "{text}");
    let found = findings.found.iter();
    found.map(|f| f.session.listing.record.id).collect()
}

/// All that the index has, in an order that does not depend on how it came there.
fn content(ledger: &mut SqliteLedger) -> Vec<String> {
    let all = IndexQuery {
        limit: 10_000,
        ..IndexQuery::default()
    };
    let index = ledger.index().unwrap();
    let parts: Vec<IndexMatch> = index.search_index(&all).unwrap();
    let ids: Vec<i64> = parts.iter().map(|part| part.id).collect();
    let texts: Vec<(i64, TurnText)> = index.indexed_texts(&ids).unwrap();
    let mut content: Vec<String> = parts
        .iter()
        .zip(texts)
        .map(|(part, (id, text))| {
            assert_eq!(part.id, id);
            format!(
                "{} {:?} {} {} {text:?}",
                part.session, part.turn, part.number, part.began
            )
        })
        .collect();
    content.sort();
    content
}

#[track_caller]
fn is_as_if_made_anew(stage: &mut Stage) {
    let before = content(&mut stage.ledger);
    stage.ledger.index().unwrap().restart_index().unwrap();
    assert_eq!(content(&mut stage.ledger), [""; 0]);
    stage.slice();
    assert_eq!(content(&mut stage.ledger), before);
    let check = stage.ledger.index().unwrap().check_index().unwrap();
    assert_eq!(check.wrong, [""; 0]);
}

/// Whether some bytes stand in any file below a directory.
fn is_in_files(dir: &Path, needle: &str) -> bool {
    std::fs::read_dir(dir).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_in_files(&path, needle);
        }
        let bytes = std::fs::read(&path).unwrap();
        bytes.windows(needle.len()).any(|w| w == needle.as_bytes())
    })
}

#[test]
fn turns_are_found_by_all_that_was_said_and_done_in_them() {
    let (mut stage, [first, second, third]) = stage();
    assert_eq!(sessions_of(&mut stage, "rounding carts"), [first]);
    assert_eq!(
        sessions_of(&mut stage, "zebra"),
        [first],
        "a part of an identifier"
    );
    assert_eq!(sessions_of(&mut stage, "ROUND_ZEBRA_EVEN"), [first]);
    assert_eq!(sessions_of(&mut stage, "round_ze*"), [first]);
    assert_eq!(sessions_of(&mut stage, "parseQuery"), [second]);
    assert_eq!(sessions_of(&mut stage, "query"), [second]);
    assert_eq!(sessions_of(&mut stage, "検索"), [second]);
    assert_eq!(
        sessions_of(&mut stage, "path:cart/rounding.rs carts"),
        [first]
    );
    assert_eq!(sessions_of(&mut stage, "is:error tool:bash"), [second]);
    assert_eq!(sessions_of(&mut stage, "\"quoted\\nneedle\""), [third]);
    assert_eq!(sessions_of(&mut stage, "carts parseQuery"), []);
    assert_eq!(sessions_of(&mut stage, "agent:codex rounding"), []);
    assert_eq!(sessions_of(&mut stage, "s2"), [second], "by its name");
    assert_eq!(sessions_of(&mut stage, &second.short()), [second]);
    let hits = &findings(&mut stage, &query("cart")).found;
    let hits: Vec<_> = hits
        .iter()
        .map(|f| (f.hits[0].place, f.hits[0].turn))
        .collect();
    assert_eq!(hits[0], (PieceKind::Prompt, Some(2)), "prompts come first");
    assert!(hits.contains(&(PieceKind::Path, Some(1))), "{hits:?}");
}

#[test]
fn prompts_and_what_is_new_come_first_and_pages_follow_each_other() {
    let (mut stage, [_, _, third]) = stage();
    let all = sessions_of(&mut stage, "cart");
    assert_eq!((all[0], all.len()), (third, 3));
    let mut page = query("cart");
    page.most = 1;
    for (nth, session) in all.iter().enumerate() {
        let one = findings(&mut stage, &page);
        let is_last = nth == 2;
        assert_eq!(one.found[0].session.listing.record.id, *session);
        assert_eq!(
            (one.last, one.more),
            ((!is_last).then_some(*session), !is_last)
        );
        page.after = Some(*session);
    }
    assert!(findings(&mut stage, &page).found.is_empty());
}

#[test]
fn a_session_that_says_a_word_without_end_hides_no_other_one() {
    let (mut stage, [first, second, _]) = stage();
    for begun in (0..700).step_by(100) {
        let talk =
            (begun..begun + 100).map(|n| prompted(&format!("v{n}"), "Rounding, again", 100 + n));
        stage.hear(says("long", talk.collect()));
    }
    stage.slice();
    let long = stage.named("long").unwrap();
    let mut all = sessions_of(&mut stage, "rounding");
    all.sort();
    assert_eq!(all, [first, second, long]);
}

#[test]
fn what_the_ledger_refuses_is_not_found_whatever_the_index_has() {
    let (mut stage, _) = stage();
    let mut elsewhere = query("cart");
    elsewhere.sessions.repositories = vec![RepositoryId::from_uuid(uuid::Uuid::from_u128(99))];
    assert!(findings(&mut stage, &elsewhere).found.is_empty());
    let here = stage.repository().id;
    elsewhere.sessions.repositories = vec![here];
    assert_eq!(findings(&mut stage, &elsewhere).found.len(), 3);
}

#[test]
fn an_index_that_was_filled_bit_by_bit_is_as_if_made_anew() {
    let (mut stage, [_, second, _]) = stage();
    is_as_if_made_anew(&mut stage);
    stage.now.set(2_000);
    stage.hear(says(
        "s2",
        vec![prompted("t9", "Once more, with carts", 1_100)],
    ));
    stage.slice();
    stage.hear(says("s2", vec![stopped("t9", 1_200)]));
    // An earlier turn comes late, and the numbers of the others change.
    stage.hear(says("s2", vec![prompted("t0", "Before all of that", 6)]));
    stage.slice();
    let hits = &findings(&mut stage, &query("parseQuery")).found[0].hits;
    assert_eq!(hits[0].turn, Some(2));
    assert_eq!(sessions_of(&mut stage, "before"), [second]);
    is_as_if_made_anew(&mut stage);
}

#[test]
fn nothing_of_what_was_forgotten_is_in_any_file() {
    let (mut stage, [first, second, _]) = stage();
    let dir = stage.dir.path().to_owned();
    // What the index has of a word it shares with the word before: of some only the end stands there.
    for word in ["rounding", "round_zebra_even", "zebra", "parseQuery"] {
        assert!(is_in_files(&dir, word), "{word}");
    }
    stage.now.set(5_000);
    stage.play(|world, ledger| {
        let holding = forget::holding(ledger, first).unwrap().unwrap();
        forget::forget_session(world, ledger, &holding, forget::Costs::Kept, &[], "Ann").unwrap();
        let needle = forget::Needle::pattern("no such parse\\w+").unwrap();
        forget::erase(world, ledger, &[], &needle, "Ann").unwrap();
    });
    for word in ["round_zebra_even", "zebra", "parsequery", "parseQuery"] {
        assert!(!is_in_files(&dir, word), "{word}");
    }
    // What is left is found again, and what went is not.
    stage.slice();
    assert_eq!(sessions_of(&mut stage, "検索"), [second]);
    assert_eq!(sessions_of(&mut stage, "parseQuery"), []);
    assert_eq!(sessions_of(&mut stage, "carts"), []);
    for word in ["round_zebra_even", "zebra", "parsequery", "parseQuery"] {
        assert!(!is_in_files(&dir, word), "{word}");
    }
    is_as_if_made_anew(&mut stage);
}

#[test]
fn without_an_index_prompts_are_searched_and_the_answer_tells() {
    let (mut stage, [first, ..]) = stage();
    let path = stage.dir.path().join("search.db");
    let sources = [
        None,
        Some("no index at all, and longer than a header of one has to be"),
    ];
    for source in sources {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(stage.dir.path().join(format!("search.db{ending}")));
        }
        if let Some(text) = source {
            std::fs::write(&path, text).unwrap();
        }
        let scanned = findings(&mut stage, &query("rounding carts"));
        assert!(!scanned.index.is_used);
        assert_eq!(scanned.found.len(), 1);
        assert_eq!(scanned.found[0].session.listing.record.id, first);
        assert!(findings(&mut stage, &query("is:error")).found.is_empty());
        stage.slice();
        assert_eq!(sessions_of(&mut stage, "round_zebra_even"), [first]);
    }
}

#[test]
fn two_who_fill_it_at_once_put_each_session_in_once() {
    let (mut stage, _) = stage();
    for n in 0..40 {
        let words = format!("Number {n} of the carts");
        stage.hear(says(
            &format!("m{n}"),
            vec![prompted(&format!("u{n}"), &words, 30 + n)],
        ));
    }
    stage.slice();
    stage.ledger.index().unwrap().restart_index().unwrap();
    let path = stage.dir.path().join("ledger.db");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let how = Open::Command {
                    id: siglum_domain::LedgerId::from_uuid(uuid::Uuid::from_u128(1)),
                    key: [7; 32],
                };
                let mut ledger = SqliteLedger::open(&path, how).unwrap();
                while ledger.index().unwrap().index_standing().unwrap().waiting > 0 {
                    fill(&mut ledger, 3, &|| true).unwrap();
                }
            });
        }
    });
    assert_eq!(sessions_of(&mut stage, "number").len(), 20);
    is_as_if_made_anew(&mut stage);
}

#[test]
fn whoever_fills_it_does_not_put_back_what_was_erased_meanwhile() {
    let (mut stage, [first, ..]) = stage();
    stage.ledger.index().unwrap().restart_index().unwrap();
    let index = stage.ledger.index().unwrap();
    let waiting = index.waiting_sessions(9).unwrap();
    let waiting = *waiting.iter().find(|w| w.session == first).unwrap();
    let part = siglum_ledger::IndexedPart {
        key: (None, 0),
        mark: [1; 32],
        number: 0,
        began: at(1),
        text: Some(TurnText {
            agent: agent().to_string(),
            ..TurnText::default()
        }),
    };
    stage.now.set(5_000);
    stage.play(|world, ledger| {
        let holding = forget::holding(ledger, first).unwrap().unwrap();
        forget::forget_session(world, ledger, &holding, forget::Costs::Kept, &[], "Ann").unwrap();
    });
    let update = siglum_ledger::IndexUpdate {
        waiting,
        parts: std::slice::from_ref(&part),
        is_whole: true,
        erased: None,
    };
    let index = stage.ledger.index().unwrap();
    assert_eq!(index.update_index(&[update]).unwrap(), 0);
    assert_eq!(index.indexed_parts(first).unwrap(), []);
}
