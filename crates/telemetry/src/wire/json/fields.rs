//! Fields of a JSON object by their names, leniently.

use serde_json::{Map, Value};

use super::bytes;

/// The field that could not be read.
#[derive(Debug)]
pub(super) struct Bad(pub(super) &'static str);

/// What reading gives.
pub(super) type Read<T> = Result<T, Bad>;

/// An object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Whether a key is spelled with underscores.
    underscores: bool,
}

impl<'a> Fields<'a> {
    /// Takes a value as an object.
    pub(super) fn new(value: &'a Value, what: &'static str) -> Read<Self> {
        let map = value.as_object().ok_or(Bad(what))?;
        let underscores = map.keys().any(|key| key.contains('_'));
        Ok(Self { map, underscores })
    }

    /// A field that is there and not null.
    pub(super) fn get(self, key: &str) -> Option<&'a Value> {
        let value = self.map.get(key).or_else(|| {
            let other = self.underscores.then(|| underscored(key))?;
            self.map.get(&other)
        });
        value.filter(|value| !value.is_null())
    }

    /// A list; absent is empty.
    pub(super) fn list(self, key: &'static str) -> Read<&'a [Value]> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(Bad(key)),
        }
    }

    /// A list of what `read` reads.
    pub(super) fn each<T>(
        self,
        key: &'static str,
        read: impl Fn(&Value) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.list(key)?.iter().map(read).collect()
    }

    pub(super) fn object(self, key: &'static str) -> Read<Option<Self>> {
        self.get(key).map(|value| Self::new(value, key)).transpose()
    }

    /// A text; absent is empty.
    pub(super) fn text(self, key: &'static str) -> Read<String> {
        match self.get(key) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Bad(key)),
        }
    }

    /// A whole number that fits; absent is zero.
    pub(super) fn number<T: TryFrom<i128> + Default>(self, key: &'static str) -> Read<T> {
        self.get(key)
            .map_or_else(|| Ok(T::default()), |value| number(value).ok_or(Bad(key)))
    }

    /// A floating number, if it is there.
    pub(super) fn float(self, key: &'static str) -> Read<Option<f64>> {
        self.get(key)
            .map(|value| float(value).ok_or(Bad(key)))
            .transpose()
    }

    /// Yes or no; absent is no.
    pub(super) fn truth(self, key: &'static str) -> Read<bool> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(_) => Err(Bad(key)),
        }
    }

    /// A number of an enum, or its name.
    pub(super) fn choice(self, key: &'static str, named: fn(&str) -> Option<i32>) -> Read<i32> {
        match self.get(key) {
            Some(Value::String(name)) => named(name).or_else(|| name.parse().ok()).ok_or(Bad(key)),
            _ => self.number(key),
        }
    }

    /// An id of so many bytes; absent is empty.
    pub(super) fn id(self, key: &'static str, size: usize) -> Read<Vec<u8>> {
        bytes::id(&self.text(key)?, size).ok_or(Bad(key))
    }

    /// As [`Self::id`], where an id that names nothing is as good as none.
    pub(super) fn id_or_none(self, key: &'static str, size: usize) -> Vec<u8> {
        self.id(key, size).unwrap_or_default()
    }
}

/// A whole number, written as number or text.
pub(super) fn number<T: TryFrom<i128>>(value: &Value) -> Option<T> {
    let whole: i128 = match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => whole(number.as_f64()?)?,
        },
        Value::String(text) => text.parse().ok().or_else(|| whole(text.parse().ok()?))?,
        _ => return None,
    };
    T::try_from(whole).ok()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked to be whole and within reach of 64 bits"
)]
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() < 1.9e19).then_some(number as i128)
}

/// A floating number, written as number or text, also one of the three that are no numbers.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn underscored(key: &str) -> String {
    let mut other = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            other.push('_');
        }
        other.push(letter.to_ascii_lowercase());
    }
    other
}
