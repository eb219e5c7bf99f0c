//! What travels around a message, and whom it is given to.
//!
//! A run has more to say than its messages: what the conversation is called, which turn it is, where replies go, what
//! the work is linked to. That is the *envelope*. [`FIELDS`] is all of it, and the only list. A tool, a webhook or a
//! command gets a field when its JSON schema declares a property of that name at its top level, and never otherwise: not
//! as one of the free-form arguments that a schema admits, not nested in another argument, and never in the text of a
//! prompt.

use serde_json::{Map, Value};

use crate::context::Keys;
use crate::link::Link;
use crate::{AgentName, ConversationId, SessionId, TurnId, trace::TraceId};

/// What a run is known by.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// What the outside world calls the session.
    pub conversation: ConversationId,
    pub session: SessionId,
    /// The turn that runs, if one does.
    pub turn: Option<TurnId>,
    /// The trace of that turn.
    pub trace: Option<TraceId>,
    /// Where replies go, and what state is seen.
    pub keys: Option<Keys>,
    /// The product that does the work; `None` where nobody named it.
    pub agent: Option<AgentName>,
    /// What the work is for.
    pub links: Vec<Link>,
}

/// The JSON type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    /// A whole number.
    Number,
    /// An object whose values are text.
    Texts,
}

impl Form {
    /// The word of JSON Schema.
    #[must_use]
    pub const fn schema_type(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "integer",
            Self::Texts => "object",
        }
    }

    fn admitted(self, word: &str) -> bool {
        word == self.schema_type() || (self == Self::Number && word == "number")
    }
}

/// One field of the envelope.
#[derive(Clone, Copy)]
pub struct Field {
    /// Its name, which a schema declares to get it.
    pub name: &'static str,
    /// Its type.
    pub form: Form,
    /// Where it comes from, in words.
    pub source: &'static str,
    of: fn(&Envelope) -> Option<Value>,
}

const fn field(
    name: &'static str,
    form: Form,
    source: &'static str,
    of: fn(&Envelope) -> Option<Value>,
) -> Field {
    Field {
        name,
        form,
        source,
        of,
    }
}

/// All fields: name, type, where it comes from.
pub const FIELDS: &[Field] = &[
    field("conversation_id", Form::Text, "the conversation id", |e| {
        Some(e.conversation.as_str().into())
    }),
    field("session", Form::Text, "the session: `ses_…`", |e| {
        Some(e.session.to_string().into())
    }),
    field("turn", Form::Text, "the turn that runs", |e| {
        Some(e.turn?.to_string().into())
    }),
    field("trace_id", Form::Text, "the trace of that turn", |e| {
        Some(e.trace?.to_string().into())
    }),
    field("route_key", Form::Text, "where replies go", |e| {
        Some(e.keys.as_ref()?.route.as_str().into())
    }),
    field("context_key", Form::Text, "what state the run sees", |e| {
        Some(e.keys.as_ref()?.context.as_str().into())
    }),
    field("agent", Form::Text, "the product that does the work", |e| {
        Some(e.agent.as_ref()?.as_str().into())
    }),
    field("issue_number", Form::Number, "a link", |e| {
        link(e, "issue_number")
    }),
    field("pr_number", Form::Number, "a link", |e| {
        link(e, "pr_number")
    }),
    field("pipeline_id", Form::Text, "a link", |e| {
        link(e, "pipeline_id")
    }),
    field("agent_role", Form::Text, "a link", |e| {
        link(e, "agent_role")
    }),
    field("phase", Form::Text, "a link", |e| link(e, "phase")),
    field("labels", Form::Texts, "the labels among the links", labels),
];

fn link(envelope: &Envelope, field: &str) -> Option<Value> {
    let found = envelope.links.iter().find(|link| link.field() == field)?;
    Some(match found {
        Link::IssueNumber(number) | Link::PrNumber(number) => (*number).into(),
        text => text.value().into(),
    })
}

fn labels(envelope: &Envelope) -> Option<Value> {
    let pair = |link: &Link| match link {
        Link::Label { key, value } => Some((key.clone(), Value::from(value.as_str()))),
        _ => None,
    };
    let labels: Map<String, Value> = envelope.links.iter().filter_map(pair).collect();
    (!labels.is_empty()).then_some(Value::Object(labels))
}

/// Whether a schema declares the field: as a property at its top level that admits its type.
fn declares(schema: &Value, field: &Field) -> bool {
    let Some(property) = schema.get("properties").and_then(|p| p.get(field.name)) else {
        return false;
    };
    match property {
        // `false` admits nothing, so that it declares nothing.
        Value::Bool(any) => *any,
        Value::Object(property) => match property.get("type") {
            None => true,
            Some(Value::String(word)) => field.form.admitted(word),
            Some(Value::Array(words)) => words
                .iter()
                .any(|word| word.as_str().is_some_and(|w| field.form.admitted(w))),
            Some(_) => false,
        },
        _ => false,
    }
}

/// The fields that a schema declares.
pub fn declared(schema: &Value) -> impl Iterator<Item = &'static Field> + '_ {
    FIELDS.iter().filter(|field| declares(schema, field))
}

/// Gives the arguments of a tool, a webhook or a command the fields that its schema declares. What the envelope has comes
/// in place of an argument of that name; what it does not have leaves the argument as it is; and arguments of other
/// names, and all that is nested in them, are never touched.
pub fn bind(envelope: &Envelope, schema: &Value, arguments: &mut Map<String, Value>) {
    for field in declared(schema) {
        if let Some(value) = (field.of)(envelope) {
            arguments.insert(field.name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::context::RouteKey;

    fn envelope() -> Envelope {
        let turn = TurnId::from_uuid(Uuid::from_u128(7));
        Envelope {
            conversation: ConversationId::new("S1").unwrap(),
            session: SessionId::from_uuid(Uuid::from_u128(1)),
            turn: Some(turn),
            trace: Some(TraceId::of_turn(turn)),
            keys: Some(Keys::shared(RouteKey::new("agent:main").unwrap())),
            agent: Some(AgentName::new("codex").unwrap()),
            links: vec![
                Link::parse("issue_number", "42").unwrap(),
                Link::parse("phase", "review").unwrap(),
                Link::parse("label", "team=blue").unwrap(),
            ],
        }
    }

    #[track_caller]
    fn check(schema: &Value, arguments: &Value, expected: &Value) {
        let mut bound = arguments.as_object().unwrap().clone();
        bind(&envelope(), schema, &mut bound);
        assert_eq!(Value::Object(bound), *expected, "{schema}");
    }

    #[test]
    fn an_argument_that_is_declared_gets_its_field() {
        let schema = json!({ "type": "object", "properties": { "conversation_id": { "type": "string" }, "text": {} } });
        check(
            &schema,
            &json!({ "text": "hi" }),
            &json!({ "text": "hi", "conversation_id": "S1" }),
        );
        let many = json!({ "properties": {
            "issue_number": { "type": ["null", "integer"] }, "pr_number": { "type": "integer" },
            "labels": { "type": "object" }, "phase": true, "route_key": {}, "context_key": {} } });
        check(
            &many,
            &json!({ "pr_number": 3 }),
            &json!({ "issue_number": 42, "pr_number": 3, "labels": { "team": "blue" }, "phase": "review",
                "route_key": "agent:main", "context_key": "agent:main" }),
        );
    }

    #[test]
    fn free_form_arguments_get_nothing() {
        let arguments = json!({ "text": "hi" });
        for schema in [
            json!({ "type": "object", "additionalProperties": true }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "patternProperties": { "conversation_id": {} } }),
            json!({ "required": ["conversation_id"] }),
            json!({ "properties": { "options": { "properties": { "conversation_id": {} } } } }),
            json!({ "allOf": [{ "properties": { "conversation_id": {} } }] }),
            json!({ "properties": { "conversation_id": false, "turn": { "type": "integer" } } }),
            json!({ "properties": "conversation_id" }),
            json!({}),
            json!(true),
            Value::Null,
        ] {
            check(&schema, &arguments, &arguments);
        }
    }

    #[test]
    fn what_is_in_the_payload_stays_there() {
        let schema = json!({ "properties": { "conversation_id": { "type": "string" }, "inputs": { "type": "object" } } });
        check(
            &schema,
            &json!({ "inputs": { "conversation_id": "X" }, "conversation_id": "X" }),
            &json!({ "inputs": { "conversation_id": "X" }, "conversation_id": "S1" }),
        );
        let free = json!({ "properties": { "inputs": {} }, "additionalProperties": true });
        check(
            &free,
            &json!({ "conversation_id": "X" }),
            &json!({ "conversation_id": "X" }),
        );
    }

    #[test]
    fn each_name_is_there_once_and_what_is_absent_is_left_out() {
        let names: std::collections::BTreeSet<_> = FIELDS.iter().map(|f| f.name).collect();
        assert_eq!(names.len(), FIELDS.len());
        let bare = Envelope {
            turn: None,
            trace: None,
            keys: None,
            links: Vec::new(),
            ..envelope()
        };
        let properties: Map<String, Value> = FIELDS
            .iter()
            .map(|f| (f.name.to_owned(), json!({})))
            .collect();
        let mut bound = Map::new();
        bind(&bare, &json!({ "properties": properties }), &mut bound);
        let names: std::collections::BTreeSet<_> = bound.keys().map(String::as_str).collect();
        assert_eq!(names, ["agent", "conversation_id", "session"].into());
    }
}
