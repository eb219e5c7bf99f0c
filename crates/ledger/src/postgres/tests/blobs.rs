//! Large payloads in a blob store, which fails at each step on the way there and back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use siglum_domain::observation::Body;
use siglum_domain::redact::Redacted;

use super::*;
use crate::postgres::{BlobError, BlobSettings, BlobStore};
use crate::{BlobWork, read};

/// A blob store in memory, which does as it is told.
#[derive(Default)]
struct Played {
    blobs: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Those that nobody may delete.
    locked: Mutex<BTreeSet<String>>,
    fate: Mutex<Fate>,
}

/// What becomes of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Done,
    /// It is done, and whoever asked is not told.
    DoneUntold,
    /// It is away.
    Away,
    /// It does not accept the credentials.
    Refused,
}

impl Played {
    fn answer(&self, what: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<(), BlobError> {
        let fate = *self.fate.lock().unwrap();
        let away = || BlobError::Unreachable("away".to_owned());
        match fate {
            Fate::Away => return Err(away()),
            Fate::Refused => return Err(BlobError::Refused("AccessDenied".to_owned())),
            Fate::Done | Fate::DoneUntold => what(&mut self.blobs.lock().unwrap()),
        }
        match fate {
            Fate::DoneUntold => Err(away()),
            _ => Ok(()),
        }
    }

    fn count(&self) -> usize {
        self.blobs.lock().unwrap().len()
    }

    fn set(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }
}

impl BlobStore for Played {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.answer(|blobs| drop(blobs.insert(name.to_owned(), bytes.to_vec())))
    }

    fn get(&self, names: &[String]) -> Vec<Result<Vec<u8>, BlobError>> {
        let one = |name: &String| {
            self.answer(|_| ())?;
            let found = self.blobs.lock().unwrap().get(name).cloned();
            found.ok_or(BlobError::Missing)
        };
        names.iter().map(one).collect()
    }

    fn delete(&self, name: &str) -> Result<(), BlobError> {
        if self.locked.lock().unwrap().contains(name) {
            return Err(BlobError::Refused("AccessDenied".to_owned()));
        }
        self.answer(|blobs| drop(blobs.remove(name)))
    }
}

/// The same, where something happens before a blob is put for the first time.
struct Slow {
    played: Arc<Played>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl BlobStore for Slow {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.played.put(name, bytes)
    }

    fn get(&self, names: &[String]) -> Vec<Result<Vec<u8>, BlobError>> {
        self.played.get(names)
    }

    fn delete(&self, name: &str) -> Result<(), BlobError> {
        self.played.delete(name)
    }
}

/// A ledger with a blob store.
struct Stage {
    ledger: PostgresLedger,
    played: Arc<Played>,
    home: Home,
}

/// When everything here happens, and how much later it is not new any more.
const HOUR: i64 = 3600;

impl Stage {
    fn new() -> Option<Self> {
        let mut home = Home::shared()?;
        let played = Arc::<Played>::default();
        home.settings.blobs = Some(BlobSettings {
            store: Arc::clone(&played) as Arc<dyn BlobStore>,
            after: Duration::from_secs(HOUR.unsigned_abs()),
        });
        let mut ledger = home.furnished();
        put(&mut ledger, |tx| {
            for (key, text) in [("small", "short".to_owned()), ("large", long(1))] {
                say(tx, key, &text)?;
            }
            Ok(())
        })
        .unwrap();
        Some(Self {
            ledger,
            played,
            home,
        })
    }

    /// What is done at so many hours.
    fn keep(&mut self, hours: i64) -> Result<BlobWork, LedgerError> {
        self.ledger.keep_blobs(at(hours * HOUR))
    }

    /// The texts of the session.
    fn texts(&mut self) -> Result<Vec<String>, LedgerError> {
        let entries = read(&mut self.ledger, |tx| tx.entries(session_id(1), 0, 0))?;
        let text = |entry: siglum_domain::fold::Entry| match entry.observation.fact {
            Fact::Message { text, .. } => text.text().unwrap_or_default().to_owned(),
            other => panic!("{other:?}"),
        };
        Ok(entries.into_iter().map(text).collect())
    }

    /// Rows that speak of blobs, by whether an entry names them.
    fn rows(&mut self) -> (i64, i64) {
        let sql = "SELECT count(*) FILTER (WHERE held), count(*) FILTER (WHERE NOT held) FROM blobs WHERE tenant = $1";
        let tenant = self.home.tenant().to_owned();
        let row = self.home.raw().query_one(sql, &[&tenant]).unwrap();
        (row.get(0), row.get(1))
    }

    fn forget(&mut self) {
        put(&mut self.ledger, |tx| {
            tx.forget_session(session_id(1), at(9))
        })
        .unwrap();
    }
}

/// A text that does not become small when it is compressed.
fn long(seed: u64) -> String {
    let word = |n: u64| blake3::hash(&(seed * 1000 + n).to_le_bytes()).to_hex()[..9].to_owned();
    (0..2000).map(word).collect::<Vec<_>>().join(" ")
}

/// Appends a message.
fn say(tx: &mut dyn Transaction, key: &str, text: &str) -> Result<(), LedgerError> {
    let seen = Observation {
        source: Source::Hook,
        key: key.to_owned(),
        event: key.to_owned(),
        at: at(2),
        turn: None,
        subagent: None,
        fact: Fact::Message {
            role: siglum_domain::observation::Role::Assistant,
            text: Body::Text(Redacted::from_stored(text.to_owned())),
            model: None,
            tokens: None,
            request: None,
        },
    };
    let digest = blake3::hash(key.as_bytes());
    let id = uuid::Uuid::from_slice(&digest.as_bytes()[..16]).unwrap();
    let entry = NewEntry {
        id: ObservationId::from_uuid(id),
        session: session_id(1),
        turn: None,
        recorded_at: at(3),
        salt: [1; 32],
        observation: &seen,
    };
    tx.append(&entry).map(drop)
}

const MOVED: BlobWork = BlobWork {
    moved: 1,
    deleted: 0,
};
const DELETED: BlobWork = BlobWork {
    moved: 0,
    deleted: 1,
};

#[test]
fn a_large_payload_moves_once_it_is_not_new_and_reads_as_before() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(0).unwrap(), BlobWork::default());
    assert_eq!(stage.played.count(), 0);
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    assert_eq!(stage.keep(2).unwrap(), BlobWork::default());
    assert_eq!((stage.played.count(), stage.rows()), (1, (1, 0)));
    assert_eq!(stage.texts().unwrap(), ["short".to_owned(), long(1)]);
    let sql = "SELECT max(octet_length(payload)) FROM observations WHERE tenant = $1";
    let tenant = stage.home.tenant().to_owned();
    let row = stage.home.raw().query_one(sql, &[&tenant]).unwrap();
    assert!(row.get::<_, i32>(0) < 4096);
    // Whatever reads a payload gets it.
    let ledger = &mut stage.ledger;
    let payloads = read(ledger, |tx| tx.payloads(0, 9)).unwrap();
    assert!(payloads[1].fact.contains(&long(1)));
    let rows = read(ledger, |tx| tx.log_rows(session_id(1), 0, 9)).unwrap();
    assert_eq!(rows[1].fact, Some(payloads[1].fact.clone()));
    let stored = read(ledger, |tx| tx.stored_entries(session_id(1), 0, 9)).unwrap();
    let stored = stored[1].row.as_ref().unwrap();
    assert_eq!(stored.payload, Some(Ok(payloads[1].fact.clone())));
    assert!(matches!(stored.entry, Some(Ok(_))));
    assert_eq!(ledger.check().unwrap(), [""; 0]);
}

#[test]
fn whoever_dies_between_put_and_commit_loses_nothing_and_leaves_nothing() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    stage.played.set(Fate::DoneUntold);
    assert!(matches!(stage.keep(2), Err(LedgerError::Unreachable(_))));
    assert_eq!((stage.played.count(), stage.rows()), (1, (0, 1)));
    stage.played.set(Fate::Done);
    assert_eq!(stage.texts().unwrap(), ["short".to_owned(), long(1)]);
    // Another one has time to end what it began; then it is taken up where it was.
    assert_eq!(stage.keep(2).unwrap(), BlobWork::default());
    let later = at(2 * HOUR + 120);
    assert_eq!(stage.ledger.keep_blobs(later).unwrap(), MOVED);
    assert_eq!((stage.played.count(), stage.rows()), (1, (1, 0)));
    assert_eq!(stage.texts().unwrap()[1], long(1));
}

#[test]
fn what_was_put_for_an_entry_that_is_erased_meanwhile_goes() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    stage.played.set(Fate::DoneUntold);
    assert!(stage.keep(2).is_err());
    stage.played.set(Fate::Done);
    stage.forget();
    assert_eq!(stage.keep(2).unwrap(), BlobWork::default());
    assert_eq!(stage.keep(4).unwrap(), DELETED);
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
}

#[test]
fn what_is_put_after_others_gave_it_up_leaves_nothing() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    let mut other = stage.home.open();
    let meanwhile = move || {
        put(&mut other, |tx| tx.forget_session(session_id(1), at(9))).unwrap();
        assert_eq!(other.keep_blobs(at(4 * HOUR)).unwrap(), DELETED);
    };
    let slow = Slow {
        played: Arc::clone(&stage.played),
        meanwhile: Mutex::new(Some(Box::new(meanwhile))),
    };
    stage.home.settings.blobs = Some(BlobSettings {
        store: Arc::new(slow),
        after: Duration::from_secs(HOUR.unsigned_abs()),
    });
    let mut late = stage.home.open();
    assert_eq!(late.keep_blobs(at(2 * HOUR)).unwrap(), BlobWork::default());
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
}

#[test]
fn a_blob_that_cannot_be_deleted_holds_up_no_other() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    put(&mut stage.ledger, |tx| say(tx, "more", &long(2))).unwrap();
    assert_eq!(stage.keep(2).unwrap().moved, 2);
    let names: Vec<String> = stage.played.blobs.lock().unwrap().keys().cloned().collect();
    stage.played.locked.lock().unwrap().insert(names[0].clone());
    stage.forget();
    assert!(matches!(stage.keep(2), Err(LedgerError::Unreachable(_))));
    assert_eq!((stage.played.count(), stage.rows()), (1, (0, 1)));
    stage.played.locked.lock().unwrap().clear();
    assert_eq!(stage.keep(2).unwrap(), DELETED);
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
}

#[test]
fn what_is_erased_leaves_no_blob_whoever_dies_on_the_way() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    stage.forget();
    // Nobody deletes it, then the blob store is away, then nobody is told that it is done.
    assert_eq!((stage.played.count(), stage.rows()), (1, (0, 1)));
    stage.played.set(Fate::Away);
    assert!(matches!(
        stage.ledger.scrub(),
        Err(LedgerError::Unreachable(_))
    ));
    assert_eq!((stage.played.count(), stage.rows()), (1, (0, 1)));
    stage.played.set(Fate::DoneUntold);
    assert!(stage.keep(2).is_err());
    stage.played.set(Fate::Done);
    assert_eq!(stage.rows(), (0, 1));
    stage.ledger.scrub().unwrap();
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
}

#[test]
fn an_entry_whose_payload_is_replaced_frees_its_blob() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    let found = read(&mut stage.ledger, |tx| tx.payloads(0, 9)).unwrap();
    let (position, fact) = (found[1].position, found[1].fact.replace(&long(1), &long(2)));
    put(&mut stage.ledger, |tx| {
        tx.put_payload(position, Some(&fact))
    })
    .unwrap();
    assert_eq!(stage.rows(), (0, 1));
    assert_eq!(stage.texts().unwrap()[1], long(2));
    let work = stage.keep(2).unwrap();
    assert_eq!((work.moved, work.deleted), (1, 1));
    put(&mut stage.ledger, |tx| {
        tx.replace_fact(session_id(1), 2, None)
    })
    .unwrap();
    assert_eq!(stage.keep(2).unwrap(), DELETED);
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
    assert_eq!(stage.texts().unwrap(), ["short"]);
}

#[test]
fn a_session_that_is_dropped_frees_its_blobs() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    // What no receipt seals would hold it.
    let sql = "UPDATE sessions SET sealed = head WHERE tenant = $1";
    let tenant = stage.home.tenant().to_owned();
    stage.home.raw().execute(sql, &[&tenant]).unwrap();
    let mut held = None;
    put(&mut stage.ledger, |tx| {
        held = tx.drop_session(session_id(1), "nobody")?;
        Ok(())
    })
    .unwrap();
    assert_eq!(held, None);
    assert_eq!(stage.rows(), (0, 1));
    assert_eq!(stage.keep(2).unwrap(), DELETED);
    assert_eq!((stage.played.count(), stage.rows()), (0, (0, 0)));
}

#[test]
fn a_blob_that_is_damaged_or_missing_is_told_of_its_entry_alone() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    let name = stage
        .played
        .blobs
        .lock()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    for (bytes, word) in [
        (Some(b"other".to_vec()), "damaged"),
        (None, "not in the blob store"),
    ] {
        let mut blobs = stage.played.blobs.lock().unwrap();
        blobs.remove(&name);
        blobs.extend(bytes.map(|bytes| (name.clone(), bytes)));
        drop(blobs);
        let stored = read(&mut stage.ledger, |tx| {
            tx.stored_entries(session_id(1), 0, 9)
        })
        .unwrap();
        let payload = |n: usize| stored[n].row.as_ref().unwrap().payload.clone().unwrap();
        assert!(payload(0).is_ok());
        assert!(payload(1).unwrap_err().contains(word));
        let checked = stage.ledger.check().unwrap();
        assert!(
            checked.len() == 1 && checked[0].contains(word),
            "{checked:?}"
        );
        let error = stage.texts().unwrap_err();
        assert!(
            matches!(&error, LedgerError::Damaged(what) if what.contains(word)),
            "{error:?}"
        );
    }
}

#[test]
fn a_blob_store_that_is_away_or_refuses_loses_nothing() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    for (hours, fate) in [(2, Fate::Away), (3, Fate::Refused)] {
        stage.played.set(fate);
        assert!(matches!(
            stage.keep(hours),
            Err(LedgerError::Unreachable(_))
        ));
        assert_eq!(stage.played.count(), 0);
        // What is in the database is read and written without it.
        assert_eq!(stage.texts().unwrap()[1], long(1));
    }
    stage.played.set(Fate::Done);
    let mut moved = 0;
    for minutes in 0..3 {
        moved += stage
            .ledger
            .keep_blobs(at(4 * HOUR + minutes * 120))
            .unwrap()
            .moved;
    }
    assert_eq!((moved, stage.played.count(), stage.rows()), (1, 1, (1, 0)));
    stage.played.set(Fate::Away);
    let error = stage.texts().unwrap_err();
    assert!(matches!(error, LedgerError::Unreachable(_)), "{error:?}");
    let checked = stage.ledger.check().unwrap();
    assert!(checked[0].contains("cannot be reached"), "{checked:?}");
}

#[test]
fn a_program_without_the_blob_store_says_so() {
    let Some(mut stage) = Stage::new() else {
        return;
    };
    assert_eq!(stage.keep(2).unwrap(), MOVED);
    stage.home.settings.blobs = None;
    let mut without = stage.home.open();
    assert_eq!(
        without.keep_blobs(at(2 * HOUR)).unwrap(),
        BlobWork::default()
    );
    let error = read(&mut without, |tx| tx.entries(session_id(1), 0, 0)).unwrap_err();
    assert!(error_chain(&error).contains("SIGLUM_BLOBS"), "{error:?}");
    assert!(without.check().unwrap()[0].contains("SIGLUM_BLOBS"));
    without.scrub().unwrap();
    stage.forget();
    assert!(error_chain(&without.scrub().unwrap_err()).contains("SIGLUM_BLOBS"));
}
