//! The walk through the columns of the ledger that hold text, beside what the log says.

use std::collections::HashMap;

use serde_json::Value;
use siglum_domain::Timestamp;
use siglum_ledger::{
    Durability, Ledger, LedgerError, TelemetryStore, TextColumn, TextForm, read, write,
};

use super::needle::{Needle, Replaced};
use super::report::{Place, Report};
use crate::share::ingest;

/// How many texts are in memory at once.
const TEXTS: usize = 1_000;
/// How many batches of telemetry are.
const BATCHES: usize = 16;
/// What stands in names, and in JSON where no other mark can be read: it keeps to every grammar of names.
const NAMELESS: &str = "forgotten";

/// Looks through all columns, and erases.
pub(super) fn walk(
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let mut names = Names {
        given: HashMap::new(),
        at: erase.map_or(0, Timestamp::nanos),
    };
    for (column, form) in TextColumn::all() {
        if form == TextForm::Own {
            continue;
        }
        let mut after = String::new();
        loop {
            let texts = read(ledger, |tx| tx.texts(column, &after, TEXTS))?;
            let Some(last) = texts.last() else { break };
            after.clone_from(last);
            for text in &texts {
                let Some(found) = find_in(needle, &names, column, form, text) else {
                    continue;
                };
                let change = found.change(&mut names, form);
                let stays = form == TextForm::Kept || change.is_none();
                let place = Place::Column { column, stays };
                report.add(None, place, found.rules);
                if let Some(change) = change.filter(|_| erase.is_some() && !stays) {
                    write(ledger, Durability::Disk, |tx| {
                        tx.replace_text(column, text, change.as_deref())
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// Looks through telemetry that is kept. What holds it goes as a whole: nothing was made of it yet.
pub(super) fn telemetry(
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), LedgerError> {
    for store in TelemetryStore::ALL {
        let mut after = 0;
        loop {
            let batches = read(ledger, |tx| tx.kept_telemetry(store, after, BATCHES))?;
            let Some(last) = batches.last() else { break };
            after = last.sequence;
            for kept in &batches {
                // What cannot be read is of no use to anybody, and whatever may be in it cannot be ruled out.
                let rules = match ingest::kept_json(&kept.signal, &kept.payload) {
                    Some(json) => match needle.in_json(&json) {
                        Some(replaced) => replaced.rules,
                        None => continue,
                    },
                    None => Vec::new(),
                };
                report.add(None, Place::Telemetry(store), rules);
                if erase.is_some() {
                    write(ledger, Durability::Disk, |tx| {
                        tx.drop_telemetry(store, kept.sequence)
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// Names that were given instead of others, in this walk.
struct Names {
    given: HashMap<String, String>,
    at: i64,
}

impl Names {
    /// Whether this is one of them.
    fn has_given(&self, name: &str) -> bool {
        let mine = format!("{NAMELESS}-{:x}-", self.at);
        !self.given.is_empty() && name.starts_with(&mine)
    }

    /// The name instead of this one, the same each time.
    fn instead_of(&mut self, name: &str) -> String {
        let number = self.given.len();
        let new = || format!("{NAMELESS}-{:x}-{number}", self.at);
        self.given
            .entry(name.to_owned())
            .or_insert_with(new)
            .clone()
    }
}

/// A text in which something was found.
struct Find {
    text: String,
    /// What would stand there; nothing where nothing can.
    replaced: Option<String>,
    rules: Vec<&'static str>,
}

impl Find {
    /// What to put there: a text, or nothing at all; none of both where it has to stay.
    fn change(&self, names: &mut Names, form: TextForm) -> Option<Option<String>> {
        match form {
            TextForm::Whole => Some(None),
            TextForm::Name => Some(Some(names.instead_of(&self.text))),
            TextForm::Text | TextForm::Json => self.replaced.clone().map(Some),
            TextForm::Kept | TextForm::Own => None,
        }
    }
}

fn find_in(
    needle: &Needle,
    names: &Names,
    column: TextColumn,
    form: TextForm,
    text: &str,
) -> Option<Find> {
    let find = |replaced: Option<String>, rules| {
        Some(Find {
            text: text.to_owned(),
            replaced,
            rules,
        })
    };
    if form == TextForm::Json {
        let rules = needle.in_json(text)?.rules;
        let marks = [None, Some(NAMELESS)];
        let candidates = marks
            .into_iter()
            .filter_map(|mark| cleared(needle, names, text, mark));
        let readable = candidates.into_iter().find(|text| column.can_hold(text));
        return find(readable, rules);
    }
    // A number is no name that somebody chose.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if form == TextForm::Name && (is_number || names.has_given(text)) {
        return None;
    }
    let Replaced { text, rules } = needle.in_text(text)?;
    find(Some(text), rules)
}

/// The JSON without it: in the place of names what stands for them elsewhere, of other texts the mark. Nothing where
/// it is not only in texts.
fn cleared(needle: &Needle, names: &Names, json: &str, mark: Option<&str>) -> Option<String> {
    fn clear(needle: &Needle, names: &Names, value: &mut Value, mark: Option<&str>) {
        match value {
            Value::String(text) => {
                if let Some(name) = names.given.get(text.as_str()) {
                    text.clone_from(name);
                } else if let Some(replaced) = needle.in_text(text) {
                    *text = match mark {
                        Some(mark) => mark.to_owned(),
                        None => replaced.text,
                    };
                }
            }
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| clear(needle, names, item, mark)),
            Value::Object(fields) => fields
                .values_mut()
                .for_each(|field| clear(needle, names, field, mark)),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(json).ok()?;
    clear(needle, names, &mut value, mark);
    let text = value.to_string();
    needle.in_json(&text).is_none().then_some(text)
}
