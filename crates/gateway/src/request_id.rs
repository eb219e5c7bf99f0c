//! The id of a request: the one that its client chose, or a fresh one. It is in the response, in problems, and in each
//! line of the log that the request leaves.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use siglum_domain::IdSource;
use siglum_domain::redact::Redactor;
use siglum_platform::clock::Ids;

/// The header that has it, in requests and in responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The characters of an id that a client chose, at most.
pub(crate) const LENGTH_MOST: usize = 128;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(String);

impl RequestId {
    /// The id that a client chose; a fresh one where it chose none, several, or one that is too long, has characters
    /// that are not [plain](is_plain), or looks like a secret: it is written into the log.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(HEADER).iter();
        let chosen = match (values.next(), values.next()) {
            (Some(only), None) => only.to_str().ok(),
            _ => None,
        };
        match chosen.filter(|text| is_plain(text)) {
            Some(text) => Self(text.to_owned()),
            None => Self(Ids.fresh().simple().to_string()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as the value of its header.
    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("because an id is plain ASCII")
    }
}

/// Whether it has the form that the document gives the header, and no secret.
fn is_plain(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._:/+=@-".contains(&b);
    (1..=LENGTH_MOST).contains(&text.len())
        && text.bytes().all(allowed)
        && Redactor::shared().redact_cow(text) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_id(values: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        let id = RequestId::from_headers(&headers);
        assert_eq!(id.header_value(), id.as_str());
        id.0
    }

    #[test]
    fn an_id_of_the_client_is_kept() {
        let longest = "a".repeat(LENGTH_MOST);
        for chosen in [
            "1",
            "019f2c7e-8a1b-7c3d-9e4f-5a6b7c8d9e0f",
            "Root=1-67891233-abcdef012345678912345678",
            "eu/front:7+b@c_d.e",
            longest.as_str(),
        ] {
            assert_eq!(chosen_id(&[chosen.as_bytes()]), chosen);
        }
    }

    #[test]
    fn what_is_no_plain_short_id_is_replaced() {
        let too_long = "a".repeat(LENGTH_MOST + 1);
        let token = format!("siglum_default_{}", "0123456789abcdef".repeat(4));
        let cases: [&[&[u8]]; 10] = [
            &[],
            &[b""],
            &[b"a b"],
            &[b"a\tb"],
            &[b"a\"b"],
            &[b"[31m"],
            &["ä".as_bytes()],
            &[b"\xff"],
            &[b"a", b"b"],
            &[too_long.as_bytes()],
        ];
        for values in cases.into_iter().chain([&[token.as_bytes()][..]]) {
            let fresh = chosen_id(values);
            assert_eq!(fresh.len(), 32, "{values:?}");
            assert!(fresh.bytes().all(|b| b.is_ascii_hexdigit()), "{fresh}");
        }
        assert_ne!(chosen_id(&[]), chosen_id(&[]));
    }
}
