//! Serialised form of redacted text: a plain string, and a plain JSON value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Redacted, RedactedJson};

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads back stored text; see [`Redacted::from_stored`].
impl<'de> Deserialize<'de> for Redacted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from_stored)
    }
}

impl Serialize for RedactedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redacted_text_is_a_string_on_the_wire() {
        let text = Redacted::from_stored("a \"b\"".to_owned());
        let wire = serde_json::to_string(&text).expect("because a string serialises");
        assert_eq!(wire, r#""a \"b\"""#);
        let back: Redacted = serde_json::from_str(&wire).expect("because it was just written");
        assert_eq!(back, text);
    }
}
