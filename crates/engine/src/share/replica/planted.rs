//! A batch with secrets in each of its texts: nothing of them is stored. Which texts there are says the form of the batch,
//! and which secrets the kinds that other scanners name, each of which is planted in turn.

#[path = "../../../../domain/src/redact/corpus/draw.rs"]
mod draw;
#[path = "../../../../domain/src/redact/corpus/kinds.rs"]
#[expect(
    dead_code,
    reason = "by which scanner a kind is named is told elsewhere"
)]
mod kinds;

use std::collections::BTreeMap;

use serde_json::Value;
use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::evidence::{Basis, Evidence};
use siglum_domain::provenance::{Origin, Span};
use siglum_domain::receipt::{Receipt, SealedEntry, seal};
use siglum_domain::{NativeId, SessionId, TurnId};
use siglum_ledger::{Launch, LaunchEnd, OwnWorktree, Statement, TextColumn, TextForm};

use super::apply;
use super::entries::sealed;
use super::tests::{batch, commit, launcher, oid, receiver, sender, turn};
use super::wire::{Batch, ErasedDocument, FileDocument, RewriteDocument, StatementDocument};
use crate::forget::{Needle, search};
use crate::tests::stage::{Stage, at};

/// Fields that may be absent, and are no text or have theirs in an object.
const NO_TEXTS: &[&str] = &[
    "parent_at",
    "ended_at",
    "archived_at",
    "forgotten_at",
    "launcher",
    "parent",
    "prompt",
    "before",
    "agent",
];

/// How many secrets stand in one text.
const LINES: usize = 16;
/// Signs at the end of a secret that may not survive either.
const END: usize = 12;

/// A secret of each kind: as it is planted, and what of it must not be found.
fn secrets() -> Vec<(String, String)> {
    let kinds = kinds::kinds().into_iter().map(|kind| (kind.form, kind));
    let mut draw = draw::Draw::new();
    let secret = |kind: kinds::Kind| {
        let secret = draw.fill(kind.form);
        let is_long = kind.form.ends_with('}') && secret.len() > END && secret.is_ascii();
        let sign = match is_long {
            true => secret[secret.len() - END..].to_owned(),
            false => secret.clone(),
        };
        let name = kind.name.replace('-', "_").to_uppercase();
        let planted = match kind.is_own {
            true => secret,
            false => format!("{name}_API_KEY={secret}"),
        };
        (planted, sign)
    };
    let by_form: BTreeMap<&str, kinds::Kind> = kinds.collect();
    by_form.into_values().map(secret).collect()
}

/// A batch that has a text wherever there can be one.
fn full() -> Batch {
    let mut from = sender();
    let session = turn(&mut from, "a", 1);
    commit(&mut from, session, 1);
    let mut batch = batch(&mut from);
    let repository = batch.repositories[0].id;
    batch.repositories[0].roots = vec![oid(0x11)];
    batch.repositories[0].remote = Some("host/o/r".to_owned());
    let document = &mut batch.sessions[0];
    document.natives.push(NativeId::new("another").unwrap());
    document.cwd = Some("/repos/r".to_owned());
    document.worktree = Some("/repos/r".to_owned());
    document.repository = Some(repository);
    document.erased = vec![ErasedDocument {
        sequence: 1,
        fact: batch.receipts[0].entries[0].fact.clone(),
    }];
    batch.receipts[0].entries[0].subagent = Some("reviewer".to_owned());
    let document = &mut batch.commits[0];
    document.patch = Some("c".repeat(40));
    document.facts = Some(CommitFacts {
        commit: document.commit.clone(),
        tree: oid(0xaa),
        parents: vec![oid(0xbb)],
        authored: at(3),
        committed: at(4),
        author: "Ann".to_owned(),
        subject: "Do it".to_owned(),
        named: document.checkpoint.into_iter().collect(),
        changes: vec![Change {
            path: "src/a.rs".to_owned(),
            before: None,
            after: Some(oid(0xdd)),
        }],
    });
    document.judgement.evidence.push(Evidence {
        session: Some(session),
        basis: Basis::Observed,
        counted: true,
        text: "it ran git".to_owned(),
    });
    document.authors = Some(vec![FileDocument {
        path: "src/a.rs".to_owned(),
        spans: vec![Span {
            first: 1,
            last: 2,
            origin: Origin::Session(session),
            bridged: false,
        }],
    }]);
    document.rewritten.push(RewriteDocument {
        old: oid(9),
        command: "amend".to_owned(),
        at: at(3),
    });
    let turn = batch.receipts[0].turns[0].id;
    for statement in statements(session, turn) {
        batch.statements.push(StatementDocument {
            sequence: batch.statements.len() as u64 + 1,
            at: at(8),
            by: "Ann".to_owned(),
            source: "cli".to_owned(),
            statement,
        });
    }
    batch
}

/// One statement of each kind that has a text.
fn statements(session: SessionId, turn: TurnId) -> [Statement; 4] {
    let launched = Statement::Launched {
        session,
        launch: Launch {
            digest: "d".to_owned(),
            launcher: None,
            agent: None,
            program: "claude".to_owned(),
            worktree: Some("/repos/own".to_owned()),
        },
    };
    let ended = Statement::LaunchEnded {
        session,
        end: LaunchEnd::Completed,
        worktree: Some(OwnWorktree::Kept {
            reason: "it has changes".to_owned(),
            snapshot: Some(siglum_ledger::Snapshot {
                reference: "refs/siglum/kept".to_owned(),
                commit: oid(5),
            }),
        }),
    };
    let decided = Statement::Decided {
        session,
        turn,
        decision: "done".to_owned(),
    };
    let attached = Statement::LinkAttached {
        session,
        link: siglum_domain::link::Link::parse("phase", "build").unwrap(),
    };
    [launched, ended, decided, attached]
}

/// The places of all texts in some JSON; those of what is absent end with `=`.
fn texts(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                texts(item, &format!("{place}/{n}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                texts(field, &format!("{place}/{name}"), found);
            }
        }
        Value::Null => found.push(format!("{place}=")),
        Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes out what is absent, which has to be there elsewhere.
fn present(places: Vec<String>) -> Vec<String> {
    let name = |place: &str| place.rsplit('/').next().unwrap_or_default().to_owned();
    let (absent, present): (Vec<_>, Vec<_>) = places.into_iter().partition(|p| p.ends_with('='));
    for place in absent {
        let wanted = name(place.trim_end_matches('='));
        let is_there = present.iter().any(|p| name(p) == wanted);
        assert!(
            is_there || NO_TEXTS.contains(&wanted.as_str()),
            "fill {place}"
        );
    }
    present
}

/// Seals the receipts again, as somebody does who wants them to be taken.
fn resealed(batch: &mut Batch) {
    let mut before: Option<Receipt> = None;
    for document in &mut batch.receipts {
        let last = before
            .as_ref()
            .filter(|r| r.session == document.receipt.session);
        let entries: Vec<SealedEntry> = document.entries.iter().map(sealed).collect();
        let turns = document.receipt.turns.clone();
        let (session, at) = (document.receipt.session, document.receipt.at);
        if let Some(sealed) = seal(session, last, &entries, turns, at) {
            document.receipt = sealed;
        }
        before = Some(document.receipt.clone());
    }
}

fn planted(whole: &Value, place: &str, with: &str) -> Option<Batch> {
    let mut json = whole.clone();
    let text = json.pointer_mut(place).unwrap();
    let before = text.as_str().unwrap().to_owned();
    *text = Value::from(match place.ends_with("/fact") {
        // A fact is JSON in a text: the secret stands in each text of it.
        true => {
            let mut fact: Value = serde_json::from_str(&before).unwrap();
            let mut inner = Vec::new();
            texts(&fact, "", &mut inner);
            for place in inner
                .iter()
                .filter(|p| !p.ends_with("/fact") && !p.ends_with('='))
            {
                let text = fact.pointer_mut(place).unwrap();
                let is_kind = place.ends_with("/form");
                if !is_kind {
                    *text = Value::from(with.replace("{}", text.as_str().unwrap()));
                }
            }
            fact.to_string()
        }
        false => with.replace("{}", &before),
    });
    let mut batch: Batch = serde_json::from_value(json).ok()?;
    for entry in batch.receipts.iter_mut().flat_map(|r| &mut r.entries) {
        if place.contains("/receipts") && place.ends_with("/fact") {
            entry.salt = None;
        }
    }
    if !place.contains("/receipt/") {
        resealed(&mut batch);
    }
    Some(batch)
}

/// All that is stored: what is looked through for secrets, and the bytes of the file.
fn holds(to: &mut Stage, signs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for sign in signs {
        let needle = Needle::literal(sign).unwrap();
        let report = to.play(|world, ledger| search(world, ledger, &[], &needle).unwrap());
        let places = report.found.iter();
        found.extend(places.map(|f| format!("{sign} in {:?}", f.place)));
    }
    for name in ["ledger.db", "ledger.db-wal"] {
        let bytes = std::fs::read(to.dir.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let stays = signs.iter().filter(|sign| text.contains(**sign));
        found.extend(stays.map(|sign| format!("{sign} in {name}")));
    }
    found
}

#[test]
fn a_secret_in_any_text_of_a_batch_is_stored_nowhere() {
    let full = full();
    let mut to = receiver();
    to.play(|world, ledger| apply(world, ledger, &launcher(), &full).unwrap());
    let whole = serde_json::to_value(&full).unwrap();
    let mut places = Vec::new();
    texts(&whole, "", &mut places);
    let places = present(places);
    let secrets = secrets();
    let mut all = secrets.iter().cycle();
    let (mut taken, mut planted_in_texts) = (0, 0);
    let mut kept = Vec::new();
    for place in &places {
        for count in [1, LINES] {
            let some: Vec<&(String, String)> = all.by_ref().take(count).collect();
            let words: Vec<&str> = some.iter().map(|(word, _)| word.as_str()).collect();
            let signs: Vec<&str> = some.iter().map(|(_, sign)| sign.as_str()).collect();
            let with = match count {
                1 => words[0].to_owned(),
                _ => format!("{{}} {} {{}}", words.join(", ")),
            };
            let Some(batch) = planted(&whole, place, &with) else {
                continue;
            };
            planted_in_texts += count;
            let mut to = receiver();
            let done = to.play(|world, ledger| apply(world, ledger, &launcher(), &batch));
            taken += usize::from(done.is_ok());
            let told = done
                .err()
                .map_or_else(String::new, |error| error.to_string());
            let held = holds(&mut to, &signs);
            if !held.is_empty() || signs.iter().any(|sign| told.contains(sign)) {
                kept.push(format!("{place}: {held:?} {told}"));
            }
        }
    }
    assert!(kept.is_empty(), "{kept:#?}");
    println!(
        "{} kinds in {} texts: {planted_in_texts} planted, {taken} batches taken",
        secrets.len(),
        places.len()
    );
    assert!(planted_in_texts > secrets.len(), "each kind was planted");
    assert!(taken > 20, "{taken} of {} texts", places.len());
}

/// What a replica can fill is looked through, should a later rule find a secret there.
#[test]
fn what_others_choose_is_looked_through() {
    for (table, column) in [
        ("rewrites", "command"),
        ("statements", "source"),
        ("commits", "patch"),
    ] {
        let all = TextColumn::all();
        let found = all
            .iter()
            .find(|(c, _)| (c.table, c.column) == (table, column));
        assert_eq!(found.unwrap().1, TextForm::Text, "{table}.{column}");
    }
}
