//! What of a payload is kept, and in which form.

use std::borrow::Cow;

use siglum_domain::observation::{Body, Outcome, ToolClass};

use super::payload::{Reduction, word};
use crate::claude_code::tools;
use crate::claude_code::wire::{ShellResponse, ToolInput};
use crate::hook::BODY_LIMIT;
use crate::json::Field;

impl Reduction<'_> {
    /// A field's text, if it is small enough to be looked at.
    pub(super) fn body(&self, field: Field<'_>) -> Option<Body> {
        let raw = field.raw()?;
        if raw.len() > BODY_LIMIT {
            return Some(self.withheld(raw));
        }
        let text = field.text().unwrap_or(Cow::Borrowed(raw));
        Some(Body::Text(self.call.redactor.redact(&text)))
    }

    fn withheld(&self, raw: &str) -> Body {
        let digest = blake3::keyed_hash(self.call.digest_key, raw.as_bytes())
            .to_hex()
            .to_string();
        Body::Withheld {
            bytes: raw.len() as u64,
            digest,
        }
    }

    pub(super) fn text(&self, text: &str) -> Body {
        Body::Text(self.call.redactor.redact(text))
    }

    pub(super) fn word(&self, field: Field<'_>) -> Option<String> {
        field
            .text()
            .filter(|text| !text.is_empty())
            .map(|text| self.call.redactor.redact_cow(&word(&text)).into_owned())
    }

    pub(super) fn input(&self, class: ToolClass) -> Body {
        let field = self.hook.tool_input;
        let kept = match class {
            ToolClass::Edit => Some(self.text(&tools::summary(class, field))),
            ToolClass::Shell => self.body(field.object::<ToolInput<'_>>().command),
            ToolClass::Agent | ToolClass::Other => None,
        };
        kept.or_else(|| self.body(field))
            .unwrap_or_else(|| self.text(""))
    }

    /// What a tool said. An edit that went well says nothing but the file's content.
    pub(super) fn output(&self, class: ToolClass, outcome: Outcome) -> Option<Body> {
        match (outcome, class) {
            (Outcome::Failed, _) => self.body(self.hook.error),
            (Outcome::Denied, _) => self.body(self.hook.reason),
            (Outcome::Ok, ToolClass::Edit) => None,
            (Outcome::Ok, ToolClass::Shell) => self.shell_output(),
            (Outcome::Ok, ToolClass::Agent | ToolClass::Other) => {
                self.body(self.hook.tool_response)
            }
        }
    }

    fn shell_output(&self) -> Option<Body> {
        let raw = self.hook.tool_response.raw()?;
        if raw.len() > BODY_LIMIT {
            return Some(self.withheld(raw));
        }
        let response: ShellResponse<'_> = self.hook.tool_response.object();
        let (Some(out), err) = (
            response.stdout.text(),
            response.stderr.text().unwrap_or_default(),
        ) else {
            return self.body(self.hook.tool_response);
        };
        let gap = if out.is_empty() || err.is_empty() || out.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Some(self.text(&format!("{out}{gap}{err}")))
    }
}
