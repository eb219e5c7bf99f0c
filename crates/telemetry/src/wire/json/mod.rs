//! OTLP in JSON, read leniently and record by record.
//!
//! Ids may be hex of any case or base64, 64-bit numbers texts or numbers, enums numbers or names, keys in either
//! spelling; `null` is absent, what is absent has its default, unknown keys are ignored. A record that still cannot be
//! read is left out alone.

mod bytes;
mod fields;
mod logs;
mod metrics;
mod parse;
mod traces;
mod value;

use serde_json::Value;

use super::batch::{Batch, Content, DecodeError, Signal};
use fields::{Fields, Read};

pub(super) fn read(signal: Signal, bytes: &[u8]) -> Result<Batch, DecodeError> {
    let json = parse::parse(bytes).map_err(DecodeError::Json)?;
    let root = Fields::new(&json, "the request").map_err(|_| DecodeError::Shape("the request"))?;
    let mut faults = Faults::default();
    let content = match signal {
        Signal::Traces => Content::Traces(traces::request(root, &mut faults)?),
        Signal::Logs => Content::Logs(logs::request(root, &mut faults)?),
        Signal::Metrics => Content::Metrics(metrics::request(root, &mut faults)?),
    };
    let mut batch = Batch::new(content);
    batch.reject(faults.records, || {
        format!("`{}` cannot be read", faults.first.unwrap_or_default())
    });
    Ok(batch)
}

/// What could not be read.
#[derive(Debug, Default)]
pub(super) struct Faults {
    records: usize,
    first: Option<&'static str>,
}

impl Faults {
    /// Reads each item of a list; those that cannot be read are counted as so many records as `weight` says.
    fn each<T>(
        &mut self,
        list: &[Value],
        weight: fn(&Value) -> usize,
        mut read: impl FnMut(&mut Self, &Value) -> Read<T>,
    ) -> Vec<T> {
        let mut items = Vec::with_capacity(list.len());
        for value in list {
            match read(self, value) {
                Ok(item) => items.push(item),
                Err(bad) => {
                    self.records += weight(value);
                    self.first.get_or_insert(bad.0);
                }
            }
        }
        items
    }
}

/// The list that a request is.
fn groups<'a>(root: Fields<'a>, key: &'static str) -> Result<&'a [Value], DecodeError> {
    root.list(key).map_err(|_| DecodeError::Shape(key))
}

/// The records in a group that cannot be read, at least one.
fn leaves(value: &Value, keys: &[&str]) -> usize {
    fn count(value: &Value, keys: &[&str]) -> usize {
        let Some((key, rest)) = keys.split_first() else {
            return 1;
        };
        let items = value.get(key).and_then(Value::as_array);
        items.map_or(0, |items| items.iter().map(|item| count(item, rest)).sum())
    }
    count(value, keys).max(1)
}

/// For single records.
const fn one(_: &Value) -> usize {
    1
}
