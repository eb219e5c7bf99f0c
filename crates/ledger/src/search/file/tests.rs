use std::os::unix::fs::PermissionsExt as _;

use siglum_domain::search::{Piece, PieceKind};

use super::*;
use crate::search::WaitingSession;

fn session(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(n))
}

fn ledger() -> LedgerId {
    LedgerId::from_uuid(Uuid::from_u128(1))
}

fn part(nth: u64, words: Option<&str>) -> IndexedPart {
    let began = Timestamp::from_seconds(1_800_000_000 + i64::try_from(nth).unwrap());
    let mark = *words.unwrap_or("kept").as_bytes().first().unwrap();
    IndexedPart {
        key: (Some(TurnId::from_uuid(Uuid::from_u128(7))), nth),
        mark: [mark; 32],
        number: nth,
        began,
        text: words.map(|words| TurnText {
            agent: "codex".to_owned(),
            repositories: Vec::new(),
            pieces: vec![Piece::new(PieceKind::Prompt, words, began)],
        }),
    }
}

fn put(file: &mut IndexFile, n: u128, parts: &[IndexedPart], is_whole: bool) -> bool {
    let update = IndexUpdate {
        waiting: WaitingSession {
            session: session(n),
            change: 1,
        },
        parts,
        is_whole,
        erased: None,
    };
    file.update(&[update], &mut |_| Ok(true)).unwrap()[0]
}

fn find(file: &IndexFile, terms: &[IndexTerm]) -> Vec<(SessionId, u64)> {
    let query = IndexQuery {
        all_of: terms.iter().map(|term| vec![term.clone()]).collect(),
        limit: 9,
        ..IndexQuery::default()
    };
    let found = file.find(&query).unwrap();
    found.into_iter().map(|m| (m.session, m.number)).collect()
}

fn whole(word: &str) -> IndexTerm {
    IndexTerm::Whole(word.to_owned())
}

fn new() -> (tempfile::TempDir, PathBuf, IndexFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = IndexFile::path_beside(&dir.path().join("ledger.db"));
    let file = IndexFile::create(&path, ledger()).unwrap();
    (dir, path, file)
}

/// Everything that the directory holds.
fn bytes(dir: &Path) -> Vec<u8> {
    let files = fs::read_dir(dir).unwrap().flatten();
    files.flat_map(|f| fs::read(f.path()).unwrap()).collect()
}

fn has(dir: &Path, needle: &str) -> bool {
    let all = bytes(dir);
    all.windows(needle.len()).any(|w| w == needle.as_bytes())
}

#[test]
fn parts_are_found_by_all_of_their_words_newest_first() {
    let (_dir, _, mut file) = new();
    let parts = [
        part(1, Some("mend the parser")),
        part(2, Some("parser of dates")),
    ];
    assert!(put(&mut file, 1, &parts, true));
    assert!(put(
        &mut file,
        2,
        &[part(3, Some("größe ‚parser_x‘"))],
        true
    ));
    assert_eq!(
        find(&file, &[whole("parser")]),
        [(session(2), 3), (session(1), 2), (session(1), 1)]
    );
    assert_eq!(
        find(&file, &[whole("parser"), whole("mend")]),
        [(session(1), 1)]
    );
    assert_eq!(
        find(&file, &[IndexTerm::Prefix("parser_".to_owned())]),
        [(session(2), 3)]
    );
    assert_eq!(find(&file, &[whole("größe")]), [(session(2), 3)]);
    assert_eq!(find(&file, &[whole("pars")]), []);
    assert_eq!(find(&file, &[]).len(), 3, "without a word, all fit");
    let query = IndexQuery {
        all_of: vec![vec![whole("mend"), whole("größe")], vec![whole("parser")]],
        since: Some(part(2, None).began),
        until: Some(part(4, None).began),
        sessions: Some(vec![session(2), session(9)]),
        limit: 9,
    };
    let found = file.find(&query).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].began, part(3, None).began);
    let texts = file.texts(&[found[0].id, 999]).unwrap();
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0].1.pieces[0].text, "größe ‚parser_x‘");
    assert_eq!(file.check().unwrap(), [""; 0]);
}

#[test]
fn a_session_is_replaced_in_parts_and_nothing_of_what_went_remains() {
    let (dir, _, mut file) = new();
    let first = [part(1, Some("alphaneedle")), part(2, Some("betaneedle"))];
    assert!(put(&mut file, 1, &first, true));
    // The first stays as it is, with another number; the second is another one; the third is new.
    let kept = IndexedPart {
        mark: first[0].mark,
        number: 5,
        ..part(1, None)
    };
    let next = [
        kept.clone(),
        part(2, Some("gammaneedle")),
        part(3, Some("delta")),
    ];
    assert!(put(&mut file, 1, &next, true));
    assert_eq!(find(&file, &[whole("alphaneedle")]), [(session(1), 5)]);
    assert_eq!(find(&file, &[whole("betaneedle")]), []);
    // Without being whole, nothing goes.
    assert!(put(&mut file, 1, &[part(4, Some("epsilon"))], false));
    assert_eq!(find(&file, &[]).len(), 4);
    // What is to be kept is not there.
    let wrong = IndexedPart {
        mark: [9; 32],
        ..kept
    };
    assert!(!put(&mut file, 1, &[wrong], true));
    assert_eq!(find(&file, &[]).len(), 4);
    file.take_out(&[session(1)]).unwrap();
    let at = part(1, None).began;
    assert!(file.lacks_purge(session(1), at).unwrap());
    file.purge(&[(session(1), at)]).unwrap();
    assert!(!file.lacks_purge(session(1), at).unwrap());
    assert!(file.lacks_purge(session(2), at).unwrap());
    file.note_erasures(&[(session(2), at)]).unwrap();
    assert!(!file.lacks_purge(session(2), at).unwrap());
    assert_eq!(find(&file, &[]), []);
    for needle in [
        "alphaneedle",
        "betaneedle",
        "gammaneedle",
        "needle",
        "epsilon",
    ] {
        assert!(!has(dir.path(), needle), "{needle}");
    }
    assert_eq!(file.check().unwrap(), [""; 0]);
}

#[test]
fn parts_of_one_moment_have_places_of_their_own() {
    let (_dir, _, mut file) = new();
    let began = Timestamp::from_seconds(1_800_000_000);
    let parts: Vec<IndexedPart> = (1..=600)
        .map(|nth| IndexedPart {
            began,
            ..part(nth, Some("same"))
        })
        .collect();
    assert!(put(&mut file, 1, &parts, true));
    let query = IndexQuery {
        all_of: vec![vec![whole("same")]],
        since: Some(began),
        limit: 1_000,
        ..IndexQuery::default()
    };
    assert_eq!(file.find(&query).unwrap().len(), 600);
}

#[test]
fn the_file_is_for_its_owner_and_of_its_ledger_and_version() {
    let (_dir, path, file) = new();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!file.is_ready().unwrap());
    file.set_ready().unwrap();
    assert!(file.is_ready().unwrap());
    drop(file);
    let other = LedgerId::from_uuid(Uuid::from_u128(2));
    assert!(IndexFile::open(&path, other).unwrap().is_none());
    assert!(IndexFile::open(&path, ledger()).unwrap().is_some());
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", FORM - 1).unwrap();
    drop(raw);
    assert!(IndexFile::open(&path, ledger()).unwrap().is_none());
    fs::write(
        &path,
        "no database at all, and longer than a header of one has to be",
    )
    .unwrap();
    let opened = IndexFile::open(&path, ledger());
    assert!(matches!(opened, Err(LedgerError::Damaged(_))));
    assert!(IndexFile::create(&path, ledger()).is_ok());
}

#[test]
fn nothing_that_is_searched_for_is_syntax() {
    let terms = vec![whole("a\"b"), IndexTerm::Prefix("c".to_owned())];
    assert_eq!(
        expression(&[terms, Vec::new(), vec![whole("NEAR")]]).as_deref(),
        Some("(\"\u{e00f}\" OR \"c\"*) AND (\"NEAR\")")
    );
    assert_eq!(expression(&[Vec::new()]), None);
}

/// A worker finds no index at the moment at which `rebuild` empties it.
#[test]
fn two_that_make_one_at_once_both_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("search.db");
    let make = || {
        for _ in 0..40 {
            IndexFile::create(&path, ledger()).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(make);
        scope.spawn(make);
    });
    assert!(IndexFile::open(&path, ledger()).unwrap().is_some());
}
