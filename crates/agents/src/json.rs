//! Lenient reading of large JSON objects without copying them.
//!
//! A type made by [`fields!`] keeps some fields of an object as unparsed text and skips the rest. A
//! field of an unexpected type is as good as absent, of a repeated one the last counts.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One field: unparsed, or absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Field<'a>(Option<&'a str>);

impl<'a> Field<'a> {
    /// The JSON text; nothing for `null`.
    pub(crate) fn raw(self) -> Option<&'a str> {
        self.0
    }

    /// The decoded text, if this is a string. Text that has no decoded form (half a surrogate pair,
    /// which JavaScript can write) stays as it is.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0?.strip_prefix('"')?.strip_suffix('"')?;
        Some(self.exact().unwrap_or(Cow::Borrowed(inner)))
    }

    /// The text, if this is a string that has a decoded form.
    pub(crate) fn exact(self) -> Option<Cow<'a, str>> {
        let inner = self.0?.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        serde_json::from_str::<String>(self.0?).ok().map(Cow::Owned)
    }

    /// The text, if it may name a place, such as a directory or a branch: short, and in one line.
    pub(crate) fn place(self) -> Option<Cow<'a, str>> {
        self.text().filter(|text| {
            !text.is_empty() && text.len() <= 4096 && !text.chars().any(char::is_control)
        })
    }

    pub(crate) fn is_true(self) -> bool {
        self.0 == Some("true")
    }

    pub(crate) fn is_string(self) -> bool {
        self.0.is_some_and(|raw| raw.starts_with('"'))
    }

    pub(crate) fn number(self) -> Option<u64> {
        self.0?.parse().ok()
    }

    /// The object, if this is one.
    pub(crate) fn object<T: Deserialize<'a> + Default>(self) -> T {
        let raw = self.0.filter(|raw| raw.starts_with('{'));
        raw.and_then(|raw| serde_json::from_str(raw).ok())
            .unwrap_or_default()
    }

    /// The items, if this is an array.
    pub(crate) fn items(self) -> Vec<Self> {
        let raw = self.0.filter(|raw| raw.starts_with('['));
        let items: Vec<&RawValue> = raw
            .and_then(|raw| serde_json::from_str(raw).ok())
            .unwrap_or_default();
        items.into_iter().map(Self::from).collect()
    }

    /// The fields of an object, in order.
    pub(crate) fn entries(self) -> Vec<(String, Self)> {
        let raw = self.0.filter(|raw| raw.starts_with('{'));
        let entries: Option<Entries<'a>> = raw.and_then(|raw| serde_json::from_str(raw).ok());
        entries.map(|e| e.0).unwrap_or_default()
    }
}

impl<'a> From<&'a RawValue> for Field<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(Some(raw.get()).filter(|raw| *raw != "null"))
    }
}

struct Entries<'a>(Vec<(String, Field<'a>)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    entries.push((key, Field::from(value)));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Reads the fields called `keys` of an object.
pub(crate) fn read<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
    keys: &[&str; N],
) -> Result<[Field<'de>; N], D::Error> {
    deserializer.deserialize_map(Object(keys))
}

struct Object<'k, const N: usize>(&'k [&'k str; N]);

impl<'de, const N: usize> Visitor<'de> for Object<'_, N> {
    type Value = [Field<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = [Field::default(); N];
        while let Some(index) = map.next_key_seed(Key(self.0))? {
            match index {
                Some(index) => fields[index] = Field::from(map.next_value::<&'de RawValue>()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(fields)
    }
}

struct Key<'k>(&'k [&'k str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|key| *key == text))
    }
}

/// Declares an object of which some fields are read.
macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $key:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: $crate::json::Field<'a>),*
        }

        impl<'de> serde::Deserialize<'de> for $name<'de> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let [$($field),*] = $crate::json::read(deserializer, &[$($key),*])?;
                Ok(Self { $($field),* })
            }
        }
    };
}
pub(crate) use fields;

#[cfg(test)]
mod tests {
    use super::*;

    fields! { Sample { one: "one", two: "two" } }

    fn sample(text: &str) -> Option<(Option<&str>, Option<&str>)> {
        serde_json::from_str::<Sample<'_>>(text)
            .ok()
            .map(|s| (s.one.raw(), s.two.raw()))
    }

    #[test]
    fn the_last_of_a_repeated_field_counts_and_null_is_absent() {
        assert_eq!(
            sample(r#"{"one":1,"x":[{}],"one": "2" ,"two":null}"#),
            Some((Some("\"2\""), None))
        );
        assert_eq!(sample(r#"{"\u006fne":true}"#), Some((Some("true"), None)));
        assert_eq!(sample(r#"{"one":1"#), None);
        assert_eq!(sample("[1,2]"), None);
    }

    #[test]
    fn half_a_surrogate_pair_is_kept_as_written() {
        assert_eq!(Field(Some(r#""a\n""#)).text().as_deref(), Some("a\n"));
        assert_eq!(
            Field(Some(r#""a\ud800""#)).text().as_deref(),
            Some(r"a\ud800")
        );
        assert_eq!(Field(Some("17")).text(), None);
        assert_eq!(Field(Some(r#""a\n""#)).exact().as_deref(), Some("a\n"));
        assert_eq!(Field(Some(r#""a\ud800""#)).exact(), None);
        assert_eq!(Field(Some("17")).exact(), None);
    }
}
