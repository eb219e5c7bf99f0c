//! Attributes by their keys.

use std::borrow::Cow;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};

/// The value under a key; the first one, should there be several.
pub(super) fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    attribute.value.as_ref()?.value.as_ref()
}

/// A text that is not blank.
pub(super) fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    match value(attributes, key)? {
        Value::StringValue(text) => siglum_domain::grammar::present(text),
        _ => None,
    }
}

/// A count, however it is written.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a count that a float can hold"
)]
pub(super) fn count(attributes: &[KeyValue], key: &str) -> Option<u64> {
    match value(attributes, key)? {
        Value::IntValue(number) => u64::try_from(*number).ok(),
        Value::DoubleValue(number) => (0.0..9e15).contains(number).then(|| number.round() as u64),
        Value::StringValue(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Yes or no, however it is written.
pub(super) fn truth(attributes: &[KeyValue], key: &str) -> Option<bool> {
    match value(attributes, key)? {
        Value::BoolValue(truth) => Some(*truth),
        Value::StringValue(text) => text.parse().ok(),
        _ => None,
    }
}

/// A text, or a number as text.
pub(super) fn word<'a>(attributes: &'a [KeyValue], key: &str) -> Option<Cow<'a, str>> {
    match value(attributes, key)? {
        Value::StringValue(text) => siglum_domain::grammar::present(text).map(Cow::Borrowed),
        Value::IntValue(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}
