//! One line, checked.

use serde_json::{Map, Value};
use siglum_domain::link::Link;
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::form::{COMMON, FORMS, Field, Form, LINE_MOST, VERSION};
use crate::draft::word;
use crate::hook::ReduceError;

/// How much of a name that nobody knows is repeated, in characters.
const SHOWN_MOST: usize = 60;

/// Why a line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is too long to be looked at.
    #[error("the line is longer than {most} bytes", most = LINE_MOST)]
    TooLong,
    /// It is cut off, or was never JSON, or is no object.
    #[error("the line is not a JSON object")]
    NotJson,
    /// It is of another version of the protocol, or names none.
    #[error("field `v` must be {version}, the version of the protocol", version = VERSION)]
    Version,
    /// This version has no lines of its type.
    #[error("unknown type `{0}`")]
    UnknownType(String),
    #[error("field `{0}` is missing")]
    Missing(&'static str),
    /// Lines of this type have no such field.
    #[error("unknown field `{0}`")]
    UnknownField(String),
    #[error("field `{field}` must be {rule}")]
    Value {
        field: &'static str,
        /// What it must be.
        rule: String,
    },
}

impl From<LineError> for ReduceError {
    fn from(error: LineError) -> Self {
        Self::BadLine(error.to_string())
    }
}

/// A line that keeps to the protocol.
#[derive(Debug, Clone)]
pub struct RecordLine {
    pub(super) form: &'static Form,
    pub(super) session: NativeId,
    pub(super) id: String,
    /// When it happened, if the line says so.
    pub(super) at: Option<Timestamp>,
    fields: Map<String, Value>,
}

impl RecordLine {
    /// Reads a line, with or without its end.
    ///
    /// # Errors
    /// What it does not keep to.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        if line.len() > LINE_MOST {
            return Err(LineError::TooLong);
        }
        match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => Self::from_fields(fields),
            _ => Err(LineError::NotJson),
        }
    }

    /// Takes the fields of a line.
    ///
    /// # Errors
    /// What it does not keep to.
    pub(crate) fn from_fields(mut fields: Map<String, Value>) -> Result<Self, LineError> {
        if fields.remove("v").and_then(|v| v.as_u64()) != Some(VERSION) {
            return Err(LineError::Version);
        }
        let form = match fields.remove("type") {
            None => return Err(LineError::Missing("type")),
            Some(Value::String(name)) => FORMS
                .iter()
                .find(|form| form.name == name)
                .ok_or_else(|| LineError::UnknownType(shown(&name)))?,
            Some(other) => return Err(LineError::UnknownType(shown(&other.to_string()))),
        };
        check(form, &fields)?;
        let text = |name: &'static str| fields.get(name).and_then(Value::as_str);
        let session = text("session").and_then(|id| NativeId::new(id).ok());
        Ok(Self {
            form,
            session: session.ok_or(LineError::Missing("session"))?,
            id: text("id").unwrap_or_default().to_owned(),
            at: text("at").and_then(|at| at.parse().ok()),
            fields,
        })
    }

    /// The agent's id of the session.
    #[must_use]
    pub const fn session(&self) -> &NativeId {
        &self.session
    }

    /// The id of the line within its session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it speaks of what happens now.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.at.is_none()
    }

    /// The directory that the agent works in, if the line says so.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.text("cwd")
    }

    /// Has the agent work in this directory, unless the line says in which.
    pub fn work_in(&mut self, directory: &str) {
        self.fields
            .entry("cwd")
            .or_insert_with(|| Value::from(directory));
    }

    /// What the session works for, if that is what the line says.
    #[must_use]
    pub fn link(&self) -> Option<Link> {
        self.text("link")?.parse().ok()
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str)
    }

    pub(super) fn number(&self, field: &str) -> Option<u64> {
        self.fields.get(field).and_then(Value::as_u64)
    }

    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }
}

/// A name that nobody knows, as it is repeated.
fn shown(name: &str) -> String {
    let clean = Redactor::shared().redact(&word(name));
    clean.as_str().chars().take(SHOWN_MOST).collect()
}

/// Whether all fields are there that must be, and no others, each of its kind.
fn check(form: &Form, fields: &Map<String, Value>) -> Result<(), LineError> {
    let known = || form.fields.iter().chain(COMMON);
    if let Some(name) = fields.keys().find(|name| known().all(|f| f.name != *name)) {
        return Err(LineError::UnknownField(shown(name)));
    }
    known().try_for_each(|field| check_field(*field, fields.get(field.name)))
}

fn check_field(field: Field, value: Option<&Value>) -> Result<(), LineError> {
    match value {
        Some(value) if field.kind.takes(value) => Ok(()),
        Some(_) => Err(LineError::Value {
            field: field.name,
            rule: field.kind.rule(),
        }),
        None if field.is_required => Err(LineError::Missing(field.name)),
        None => Ok(()),
    }
}
