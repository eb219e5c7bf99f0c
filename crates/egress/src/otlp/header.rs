//! What a server wants to find in each request, such as the credential by which it knows us.

use std::fmt;

use ureq::http::{HeaderName, HeaderValue};

/// The longest value, in bytes.
const VALUE_MOST: usize = 8 << 10;
/// The shortest part of a value that is looked for in what a server says.
const SECRET_LEAST: usize = 6;
/// What the client itself says, or what belongs to the connection.
const OURS: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// A header of each request. Its value is a secret: it stands in requests and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

/// Why something is no header; it does not tell the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The name cannot be one.
    #[error("`{0}` is not a valid header name")]
    Name(String),
    /// The client says this itself.
    #[error("header `{0}` cannot be set by users")]
    Ours(String),
    /// The value cannot be one.
    #[error("the value of header `{0}` must be 1 to 8192 printable ASCII characters on one line")]
    Value(String),
}

impl Header {
    /// Checks the name of a header, and gives it in the form that is kept.
    ///
    /// # Errors
    /// It can be none, or it is not for users to set.
    pub fn name_of(text: &str) -> Result<String, HeaderError> {
        let shown = || crate::problem::shown(&text.chars().take(80).collect::<String>());
        let name =
            HeaderName::from_bytes(text.as_bytes()).map_err(|_| HeaderError::Name(shown()))?;
        let name = name.as_str().to_owned();
        // gRPC has names of its own, and what ends so is no text there.
        if OURS.contains(&name.as_str()) || name.starts_with("grpc-") || name.ends_with("-bin") {
            return Err(HeaderError::Ours(name));
        }
        Ok(name)
    }

    /// Takes a header; blanks and line ends around the value, as files have them, do not count.
    ///
    /// # Errors
    /// The name or the value cannot be one.
    pub fn new(name: &str, value: &str) -> Result<Self, HeaderError> {
        let name = Self::name_of(name)?;
        let value = value.trim();
        let is_plain = |b: u8| b.is_ascii_graphic() || b == b' ';
        if !(1..=VALUE_MOST).contains(&value.len()) || !value.bytes().all(is_plain) {
            return Err(HeaderError::Value(name));
        }
        let value = value.to_owned();
        Ok(Self { name, value })
    }

    /// Its name, in small letters.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value itself, to be stored where only its owner reads.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// The value as libraries take it, so that they do not tell it, either.
    pub(super) fn sensitive(&self) -> HeaderValue {
        let mut value =
            HeaderValue::from_str(&self.value).expect("because only printable ASCII is taken");
        value.set_sensitive(true);
        value
    }

    /// A text without the value, whole or in its parts, such as the word behind `Bearer`.
    pub(super) fn hide_in(&self, text: &str) -> String {
        let parts = self.value.split([' ', '=', ',']);
        let is_secret =
            |part: &&str| part.len() >= SECRET_LEAST && !part.eq_ignore_ascii_case("bearer");
        std::iter::once(self.value.as_str())
            .chain(parts)
            .filter(is_secret)
            .fold(text.to_owned(), |text, part| text.replace(part, "…"))
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({}: …)", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_checked_and_its_value_is_shown_nowhere() {
        let header = Header::new("X-Api-Key", " hunter2-and-more\n").unwrap();
        assert_eq!(
            (header.name(), header.reveal()),
            ("x-api-key", "hunter2-and-more")
        );
        assert_eq!(format!("{header:?}"), "Header(x-api-key: …)");
        assert!(!format!("{:?}", header.sensitive()).contains("hunter2"));
        for name in [
            "",
            "a b",
            "ä",
            "Host",
            "content-type",
            "grpc-timeout",
            "x-bin",
        ] {
            assert!(Header::new(name, "v").is_err(), "{name}");
        }
        for value in ["", " ", "a\nb", "ä", &"x".repeat(9000)] {
            let error = Header::new("x", value).unwrap_err();
            assert_eq!(error, HeaderError::Value("x".to_owned()));
        }
    }

    #[test]
    fn what_a_server_repeats_of_a_secret_is_left_out() {
        let header = Header::new("authorization", "Bearer s3cr3t-s3cr3t").unwrap();
        let message = "no user has s3cr3t-s3cr3t, as in `Bearer s3cr3t-s3cr3t`; Bearer is known";
        assert_eq!(
            header.hide_in(message),
            "no user has …, as in `…`; Bearer is known"
        );
    }
}
