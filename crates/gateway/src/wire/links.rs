//! Links.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use siglum_domain::link::{self, FIELDS, SECRET_RULE};
use siglum_domain::redact::Redactor;
use siglum_engine::views::session::LinkJson;
use siglum_ledger::{Statement, StatementRecord};
#[cfg(test)]
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

use crate::problem::Problem;
#[cfg(test)]
use crate::shared_schemas::Link;

/// Refuses a name with a secret in it: names are kept, looked for and answered as they are.
pub(crate) fn without_secret(field: &str, name: &str) -> Result<(), Problem> {
    match Redactor::shared().has_secret(name) {
        true => Err(Problem::invalid(field, SECRET_RULE)),
        false => Ok(()),
    }
}

/// A body that has the fields of links, beside fields of its own.
macro_rules! with_links {
    ($(#[$of:meta])* $seen:vis struct $name:ident { $($own:tt)* }) => {
        $(#[$of])*
        $seen struct $name {
            $($own)*
            /// Issue that the work is for.
            #[cfg_attr(test, schema(value_type = Option<i64>, minimum = 1, maximum = 9_007_199_254_740_991_i64))]
            issue_number: Option<serde_json::Value>,
            /// Pull request that carries the work.
            #[cfg_attr(test, schema(value_type = Option<i64>, minimum = 1, maximum = 9_007_199_254_740_991_i64))]
            pr_number: Option<serde_json::Value>,
            /// Pipeline id: 1 to 256 visible characters, no blank at either end.
            #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?$"))]
            pipeline_id: Option<serde_json::Value>,
            /// Agent role: 1 to 64 characters, in the form of `pipeline_id`.
            #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"))]
            agent_role: Option<serde_json::Value>,
            /// Phase of the pipeline: 1 to 64 characters, in the form of `pipeline_id`.
            #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"))]
            phase: Option<serde_json::Value>,
            /// Labels: keys of 1 to 64 characters without `=`, values of up to 256.
            #[cfg_attr(test, schema(schema_with = crate::wire::links::labels))]
            labels: Option<std::collections::BTreeMap<String, serde_json::Value>>,
        }

        impl $name {
            /// The links of the fields beside its own, checked by the one validator.
            fn beside(&self) -> Result<Vec<siglum_domain::link::Link>, crate::problem::Problem> {
                let single = [
                    ("issue_number", &self.issue_number),
                    ("pr_number", &self.pr_number),
                    ("pipeline_id", &self.pipeline_id),
                    ("agent_role", &self.agent_role),
                    ("phase", &self.phase),
                ];
                crate::wire::links::taken(&single, self.labels.as_ref())
            }
        }
    };
}
pub(super) use with_links;

with_links! {
    /// Links of a session. A null field counts as absent; unknown fields are refused.
    #[derive(Debug, Clone, Default, Deserialize)]
    #[cfg_attr(test, derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub(crate) struct LinkInput {}
}

impl LinkInput {
    /// The links, checked by the one validator.
    pub(crate) fn checked(&self) -> Result<Vec<link::Link>, Problem> {
        self.beside()
    }
}

/// The links of some fields, checked by the one validator.
pub(super) fn taken(
    single: &[(&str, &Option<Value>)],
    labels: Option<&BTreeMap<String, Value>>,
) -> Result<Vec<link::Link>, Problem> {
    let mut links = Vec::new();
    for (field, value) in single {
        if let Some(value) = value {
            links.push(link::Link::from_json(field, value)?);
        }
    }
    for (key, value) in labels.into_iter().flatten() {
        links.push(label(key, value)?);
    }
    Ok(links)
}

/// The links of a body that has them in `links`, beside that, or in both places: then both say the same.
pub(super) fn of_both(
    inside: Option<&LinkInput>,
    beside: Vec<link::Link>,
) -> Result<Vec<link::Link>, Problem> {
    let inside = inside.map(LinkInput::checked).transpose();
    let inside = inside.map_err(|problem| problem.within("links"))?;
    let mut links = inside.unwrap_or_default();
    for link in beside {
        match links.iter().find(|known| is_for_the_same(known, &link)) {
            Some(known) if *known == link => {}
            Some(_) => {
                let rule = "is also in `links`, with a different value; set it only once";
                return Err(Problem::invalid(link.field(), rule));
            }
            None => links.push(link),
        }
    }
    links.sort_by_key(place);
    Ok(links)
}

/// Where a link is listed.
fn place(link: &link::Link) -> Option<usize> {
    FIELDS.iter().position(|field| *field == link.field())
}

/// Whether a request can have one of both only.
fn is_for_the_same(one: &link::Link, other: &link::Link) -> bool {
    match (one, other) {
        (link::Link::Label { key: one, .. }, link::Link::Label { key: other, .. }) => one == other,
        _ => one.field() == other.field(),
    }
}

fn label(key: &str, value: &Value) -> Result<link::Link, Problem> {
    let Value::String(value) = value else {
        return Err(Problem::invalid(
            "labels",
            "the value of a label must be a string",
        ));
    };
    if key.contains('=') {
        return Err(Problem::invalid(
            "labels",
            "the key of a label must not contain `=`",
        ));
    }
    let whole = Value::String(format!("{key}={value}"));
    Ok(link::Link::from_json("label", &whole)?)
}

/// Labels in the document: it says what a key and a value may be.
#[cfg(test)]
pub(super) fn labels() -> Object {
    let text = |rule: &str| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(rule))
    };
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .description(Some(
            "Labels: keys of 1 to 64 characters without `=`, values of up to 256.",
        ))
        .property_names(Some(text(r"^[^\s=\p{C}]([^=\p{C}]{0,62}[^\s=\p{C}])?$")))
        .additional_properties(Some(text(r"^([^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?)?$")))
        .build()
}

/// A label filter, as `key=value`.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, pattern = r"^[^\s=\p{C}]([^=\p{C}]{0,62}[^\s=\p{C}])?=([^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?)?$")]
#[expect(
    dead_code,
    reason = "stands in the document for text that a query holds"
)]
pub(crate) struct LabelInput(String);

/// The value of a link in the document.
#[cfg(test)]
fn value() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::String]))
        .description(Some("Value: a number or text; for a label, `key=value`."))
        .build()
}

/// What happened to a link.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkChange {
    Attached,
    Detached,
}

/// A link was attached or detached.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LinkEvent {
    /// The field.
    field: String,
    /// Its value: a number, or text.
    #[cfg_attr(test, schema(schema_with = value))]
    value: Value,
    change: LinkChange,
    /// Time of the change.
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    /// The actor.
    by: String,
    /// Source of the change: `cli`, `api`, a variable, a flag or a launch.
    source: String,
}

/// The links of a session and their history.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SessionLinks {
    /// Links that are attached now.
    #[cfg_attr(test, schema(value_type = Vec<Link>))]
    pub(crate) links: Vec<LinkJson>,
    /// All changes, oldest first.
    pub(crate) events: Vec<LinkEvent>,
}

impl SessionLinks {
    pub(crate) fn from_records(statements: &[StatementRecord]) -> Self {
        let event = |s: &StatementRecord| {
            let (link, change) = match &s.statement {
                Statement::LinkAttached { link, .. } => (link, LinkChange::Attached),
                Statement::LinkDetached { link, .. } => (link, LinkChange::Detached),
                _ => return None,
            };
            Some(LinkEvent {
                field: link.field().to_owned(),
                value: link.to_json(),
                change,
                at: s.at.to_string(),
                by: s.by.clone(),
                source: s.source.clone(),
            })
        };
        let standing = siglum_engine::identity::statements::links(statements);
        Self {
            links: standing.iter().map(LinkJson::from).collect(),
            events: statements.iter().filter_map(event).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that is forgotten here could not be sent.
    #[test]
    fn every_field_can_be_sent() {
        let all = r#"{"issue_number":1,"pr_number":2,"pipeline_id":"p","agent_role":"r","phase":"f","labels":{"a":"b"}}"#;
        let links: LinkInput = serde_json::from_str(all).unwrap();
        let fields: Vec<&str> = links
            .checked()
            .unwrap()
            .iter()
            .map(link::Link::field)
            .collect();
        assert_eq!(fields, FIELDS);
    }

    #[test]
    fn null_is_absent_and_others_are_refused() {
        let none: LinkInput =
            serde_json::from_str(r#"{"issue_number":null,"labels":null}"#).unwrap();
        assert!(none.checked().unwrap().is_empty());
        assert!(serde_json::from_str::<LinkInput>(r#"{"isue_number":1}"#).is_err());
        for (text, field) in [
            (r#"{"issue_number":true}"#, "issue_number"),
            (r#"{"pr_number":"9"}"#, "pr_number"),
            (r#"{"agent_role":""}"#, "agent_role"),
            (r#"{"labels":{"a=b":"c"}}"#, "labels"),
            (r#"{"labels":{"":"c"}}"#, "label"),
        ] {
            let links: LinkInput = serde_json::from_str(text).unwrap();
            assert_eq!(links.checked().unwrap_err().field(), Some(field), "{text}");
        }
    }
}
