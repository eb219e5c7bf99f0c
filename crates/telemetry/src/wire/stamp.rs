//! The right id on records that go on to somebody else.

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use siglum_domain::{ConversationId, SessionId};

use super::batch::{Batch, RecordIndex};
use super::change::{Change, RecordMut};

/// The keys under which back ends look for the conversation.
pub(crate) const CONVERSATION_KEYS: [&str; 4] = [
    "session.id",
    "gen_ai.conversation.id",
    "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id",
];
/// The key of the session as the ledger calls it.
pub(crate) const SESSION_KEY: &str = "siglum.session.id";
/// Where the sender's own `session.id` is kept; its `gen_ai.conversation.id` where it had only that.
pub(crate) const NATIVE_KEY: &str = "siglum.native_session.id";
/// Where the sender's own `gen_ai.conversation.id` is kept if it named something else again.
pub(crate) const NATIVE_CONVERSATION_KEY: &str = "siglum.native_conversation.id";

/// Which session a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// What the outside world calls it.
    pub conversation: ConversationId,
    /// What the ledger calls it.
    pub session: SessionId,
}

struct Stamping<F>(F);

impl<F: FnMut(RecordIndex) -> Option<Stamp>> Change for Stamping<F> {
    fn record(&mut self, index: RecordIndex, record: RecordMut<'_>) -> bool {
        if let Some(stamp) = (self.0)(index) {
            stamp.put(match record {
                RecordMut::Span(span) => &mut span.attributes,
                RecordMut::Log(log) => &mut log.attributes,
                RecordMut::Point(point) => point.attributes,
            });
        }
        true
    }
}

impl Batch {
    /// Writes on each record which session it belongs to, where `of` knows.
    ///
    /// An id that the record had under the same key is kept in `siglum.native_session.id` (and, if it had a second one,
    /// in `siglum.native_conversation.id`); all else stays as it was.
    pub fn stamp(&mut self, of: impl FnMut(RecordIndex) -> Option<Stamp>) {
        self.content.change(&mut Stamping(of));
    }
}

impl Stamp {
    fn put(&self, attributes: &mut Vec<KeyValue>) {
        let conversation = self.conversation.as_str();
        let other = |key| text(attributes, key).filter(|id| *id != conversation);
        let (own, foreign) = (other(CONVERSATION_KEYS[0]), other(CONVERSATION_KEYS[1]));
        let native = own.or(foreign).map(str::to_owned);
        let second = foreign.filter(|id| own.is_some_and(|own| own != *id));
        let second = second.map(str::to_owned);
        for (key, id) in [(NATIVE_KEY, native), (NATIVE_CONVERSATION_KEY, second)] {
            if let Some(id) = id.filter(|_| text(attributes, key).is_none()) {
                set(attributes, key, id);
            }
        }
        for key in CONVERSATION_KEYS {
            set(attributes, key, conversation.to_owned());
        }
        set(attributes, SESSION_KEY, self.session.to_string());
    }
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.as_str()),
        _ => None,
    }
}

fn set(attributes: &mut Vec<KeyValue>, key: &str, text: String) {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(text)),
    });
    attributes.retain({
        let mut seen = false;
        move |attribute| attribute.key != key || !std::mem::replace(&mut seen, true)
    });
    match attributes.iter_mut().find(|attribute| attribute.key == key) {
        Some(attribute) => attribute.value = value,
        None => attributes.push(KeyValue {
            key: key.to_owned(),
            value,
            key_strindex: 0,
        }),
    }
}
