//! The keys of attributes, and the session kit: what stands on every span and every record.
//!
//! Back ends read different keys, some from every span, some from the one without a parent alone; hence all keys on
//! all spans, with one value. Where a name of the convention replaced another one that is still read, both are told.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use siglum_domain::link::Link;
use siglum_domain::price::NanoUsd;

use super::subject::{Subject, TurnPart};
use crate::wire::{CONVERSATION_KEYS, NATIVE_KEY, SESSION_KEY};

/// Attributes in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn put(mut self, key: &str, value: Value) -> Self {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        });
        self
    }

    /// A text; one that is blank is left out.
    pub(super) fn text(self, key: &str, value: &str) -> Self {
        match value.trim().is_empty() {
            true => self,
            false => self.put(key, Value::StringValue(value.to_owned())),
        }
    }

    /// A text that may be absent.
    pub(super) fn some(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn count(self, key: &str, value: u64) -> Self {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.put(key, Value::IntValue(value))
    }

    /// An amount of money, in dollars: exact in our own key, as a number with a point where back ends want one.
    pub(super) fn money(self, keys: &[&str], amount: NanoUsd) -> Self {
        let exact = self.count("siglum.cost.nano_usd", amount.saturating());
        let dollars = amount.to_string().parse().unwrap_or_default();
        let put = |all: Self, key: &&str| all.put(key, Value::DoubleValue(dollars));
        keys.iter().fold(exact, put)
    }

    /// A list of texts; an empty one is left out.
    pub(super) fn texts(self, key: &str, values: &[String]) -> Self {
        if values.is_empty() {
            return self;
        }
        let text = |value: &String| AnyValue {
            value: Some(Value::StringValue(value.clone())),
        };
        let values = values.iter().map(text).collect();
        self.put(key, Value::ArrayValue(ArrayValue { values }))
    }

    pub(super) fn into_vec(self) -> Vec<KeyValue> {
        self.0
    }
}

/// What stands on all that is told of a session.
pub(super) fn kit(subject: &Subject) -> Attributes {
    let conversation = subject.conversation.as_str();
    let mut kit = Attributes::default();
    for key in CONVERSATION_KEYS {
        kit = kit.text(key, conversation);
    }
    let natives: Vec<String> = subject.natives.iter().map(ToString::to_string).collect();
    kit = kit
        .text(SESSION_KEY, &subject.session.to_string())
        .some("gen_ai.agent.name", subject.agent())
        .some("siglum.agent", subject.agent())
        .some(NATIVE_KEY, natives.last().map(String::as_str))
        .some("session.previous_id", subject.previous.as_deref())
        .some("vcs.repository.url.full", subject.repository.as_deref());
    if natives.len() > 1 {
        kit = kit.texts("siglum.native_session.ids", &natives);
    }
    subject.links.iter().fold(kit, linked)
}

/// What stands on all spans of a turn, beside the kit of its session.
pub(super) fn turn_kit(subject: &Subject, part: &TurnPart) -> Attributes {
    let checkpoints: Vec<String> = part.checkpoints.iter().map(|c| c.0.to_string()).collect();
    let last = part.checkpoints.last();
    let revision = last.and_then(|(_, commit)| commit.as_ref());
    kit(subject)
        .text("siglum.turn.id", &part.id.to_string())
        .count("siglum.turn.index", part.index)
        .some(
            "siglum.checkpoint.id",
            checkpoints.last().map(String::as_str),
        )
        .some(
            "vcs.ref.head.revision",
            revision.map(siglum_domain::Oid::as_str),
        )
}

fn linked(kit: Attributes, link: &Link) -> Attributes {
    match link {
        Link::IssueNumber(number) => kit.count("siglum.issue.number", *number),
        Link::PrNumber(number) => kit
            .count("siglum.pr.number", *number)
            .text("vcs.change.id", &number.to_string()),
        Link::PipelineId(id) => kit.text("siglum.pipeline.id", id),
        Link::AgentRole(role) => kit.text("siglum.agent.role", role),
        Link::Phase(phase) => kit.text("siglum.phase", phase),
        Link::Label { key, value } => kit.text(&format!("siglum.label.{key}"), value),
    }
}
