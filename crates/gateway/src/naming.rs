//! What the outside world calls the conversation of a request: one rule for all requests that name one.
//!
//! The body comes before the header, and the header before the baggage of the trace. Blank is absent. All that is named
//! must keep to the grammar, also what loses: it is told as ignored. No name is invented where there is none (DESIGN §4):
//! the agent contributes its own id.

use axum::http::HeaderMap;
use siglum_domain::ConversationId;

use crate::problem::Problem;
use crate::runs::NameSource;
use crate::wire::{IgnoredName, conversation};

/// The header that names the conversation, in requests and in answers.
pub(crate) const CONVERSATION: &str = "siglum-conversation-id";

/// The name that a request gives.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) named: Option<ConversationId>,
    /// Where it came from; nobody named it where it is absent.
    pub(crate) by: NameSource,
    /// Names that it came before.
    pub(crate) ignored: Vec<IgnoredName>,
}

impl Name {
    /// The name that the body gives in this field, or a header, or the baggage.
    pub(crate) fn new(
        headers: &HeaderMap,
        field: &str,
        body: Option<&str>,
    ) -> Result<Self, Problem> {
        Self::behind(None, headers, field, body)
    }

    /// The same where the path of the request has the first word.
    pub(crate) fn behind(
        path: Option<ConversationId>,
        headers: &HeaderMap,
        field: &str,
        body: Option<&str>,
    ) -> Result<Self, Problem> {
        let header = one(headers, CONVERSATION)?;
        let baggage = baggage(headers);
        let named = [
            (NameSource::Path, path),
            (NameSource::Body, conversation(field, body)?),
            (
                NameSource::Header,
                conversation(CONVERSATION, header.as_deref())?,
            ),
            (
                NameSource::Baggage,
                conversation("baggage", baggage.as_deref())?,
            ),
        ];
        let mut present = named.into_iter().filter_map(|(by, name)| Some((by, name?)));
        let first = present.next();
        let ignored = |(named_by, name): (NameSource, ConversationId)| IgnoredName {
            named_by,
            value: name.to_string(),
        };
        let ignored = present.map(ignored).collect();
        let (named, by) = match first {
            Some((by, name)) => (Some(name), by),
            None => (None, NameSource::Nobody),
        };
        Ok(Self { named, by, ignored })
    }

    /// All names, where something else came before each of them.
    pub(crate) fn lost(&self) -> Vec<IgnoredName> {
        let first = self.named.iter().map(|name| IgnoredName {
            named_by: self.by,
            value: name.to_string(),
        });
        first.chain(self.ignored.iter().cloned()).collect()
    }
}

/// The value of a header that is there once at most.
pub(crate) fn one(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Problem::invalid(name, "must be given only once"));
    }
    let text = first.map(|value| value.to_str().map(str::to_owned));
    text.transpose()
        .map_err(|_| Problem::invalid(name, "printable ASCII characters"))
}

/// The member `session.id` of the baggage of a trace (W3C Baggage). What is no baggage names nothing.
fn baggage(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all("baggage").iter();
    let members = values
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','));
    let member = |member: &str| {
        let pair = member.split(';').next().unwrap_or_default();
        let (key, value) = pair.split_once('=')?;
        let value = || String::from_utf8_lossy(&percent_decoded(value.trim())).into_owned();
        (key.trim() == "session.id").then(value)
    };
    members.filter_map(member).next()
}

/// The bytes of a text in percent encoding; what is none stays as it is.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let pair = behind.get(..2).filter(|_| *first == b'%');
        let pair = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        let plain = |pair: &&str| pair.bytes().all(|b| b.is_ascii_hexdigit());
        match pair
            .filter(plain)
            .and_then(|p| u8::from_str_radix(p, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(baggage: &str, expected: Result<Option<&str>, &str>) {
        let mut headers = HeaderMap::new();
        headers.insert("baggage", baggage.parse().unwrap());
        let name = Name::new(&headers, "conversation_id", Some("  "));
        let name = name.map(|name| name.named.map(|n| n.to_string()));
        let name = name.map_err(|problem| problem.field().unwrap_or_default().to_owned());
        let expected = expected
            .map(|n| n.map(str::to_owned))
            .map_err(str::to_owned);
        assert_eq!(name, expected, "{baggage}");
    }

    #[test]
    fn baggage_is_read_as_it_is_encoded() {
        check("a=b, session.id=a%3Ab%2dc;p=1", Ok(Some("a:b-c")));
        check("session.id=", Ok(None));
        check("session.id=%20%20", Ok(None));
        check("other=1", Ok(None));
        for bad in [
            "a%20b", "a%2Fb", "%C3%A9", "%ff", "100%", "a%zz", "a%0A", "%2e%2e",
        ] {
            check(&format!("session.id={bad}"), Err("baggage"));
        }
    }
}
