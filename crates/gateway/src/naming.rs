//! What the outside world calls the conversation of a request: one rule for all requests that name one.
//!
//! The body comes before the header, and the header before the baggage of the trace. Blank is absent. All that is named
//! must keep to the grammar, also what loses: it is told as ignored.

use axum::http::HeaderMap;
use siglum_domain::ConversationId;

use crate::problem::Problem;
use crate::wire::{Ignored, NamedBy, conversation};

/// The header that names the conversation, in requests and in answers.
pub(crate) const CONVERSATION: &str = "siglum-conversation-id";

/// The name that a request gives.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    /// The name, if there is one.
    pub(crate) named: Option<ConversationId>,
    /// Where it came from; nobody named it where it is absent.
    pub(crate) by: NamedBy,
    /// Names that it came before.
    pub(crate) ignored: Vec<Ignored>,
}

impl Name {
    /// The name that the body gives in this field, or a header, or the baggage.
    pub(crate) fn of(
        headers: &HeaderMap,
        field: &str,
        body: Option<&str>,
    ) -> Result<Self, Problem> {
        let header = one(headers, CONVERSATION)?;
        let baggage = baggage(headers);
        let named = [
            (NamedBy::Body, conversation(field, body)?),
            (
                NamedBy::Header,
                conversation(CONVERSATION, header.as_deref())?,
            ),
            (
                NamedBy::Baggage,
                conversation("baggage", baggage.as_deref())?,
            ),
        ];
        let mut present = named.into_iter().filter_map(|(by, name)| Some((by, name?)));
        let first = present.next();
        let ignored = |(named_by, name): (NamedBy, ConversationId)| Ignored {
            named_by,
            value: name.to_string(),
        };
        let ignored = present.map(ignored).collect();
        let (named, by) = match first {
            Some((by, name)) => (Some(name), by),
            None => (None, NamedBy::Nobody),
        };
        Ok(Self { named, by, ignored })
    }
}

/// The value of a header that is there once at most.
pub(crate) fn one(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Problem::invalid(name, "a header that is given once"));
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
        (key.trim() == "session.id").then(|| value.trim().to_owned())
    };
    members.filter_map(member).next()
}
