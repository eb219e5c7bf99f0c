//! Numbers that survive every JSON reader.

use serde::{Deserialize, Deserializer, de::Error};
use siglum_domain::link::NUMBER_MAX;

/// Reads a count.
pub(super) fn count<'de, D: Deserializer<'de>>(reader: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(reader)?;
    if number > NUMBER_MAX {
        let rule = format_args!("a whole number from 0 to {NUMBER_MAX}").to_string();
        return Err(D::Error::custom(rule));
    }
    Ok(number)
}

/// Reads a count that may be null, or absent.
pub(super) fn count_if_any<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Count(#[serde(deserialize_with = "count")] u64);
    Ok(Option::<Count>::deserialize(reader)?.map(|Count(number)| number))
}

#[cfg(test)]
mod tests {
    #[derive(Debug, serde::Deserialize)]
    struct Both {
        #[serde(deserialize_with = "super::count")]
        one: u64,
        #[serde(default, deserialize_with = "super::count_if_any")]
        other: Option<u64>,
    }

    #[track_caller]
    fn check(text: &str, expected: Option<(u64, Option<u64>)>) {
        let read = serde_json::from_str::<Both>(text).ok();
        assert_eq!(read.map(|both| (both.one, both.other)), expected, "{text}");
    }

    #[test]
    fn what_other_readers_would_round_is_refused() {
        let most = 9_007_199_254_740_991;
        check(r#"{"one":9007199254740991}"#, Some((most, None)));
        check(r#"{"one":0,"other":null}"#, Some((0, None)));
        check(
            r#"{"one":0,"other":9007199254740991}"#,
            Some((0, Some(most))),
        );
        check(r#"{"one":9007199254740992}"#, None);
        check(r#"{"one":0,"other":9007199254740992}"#, None);
        check(r#"{"one":1.0}"#, None);
    }
}
