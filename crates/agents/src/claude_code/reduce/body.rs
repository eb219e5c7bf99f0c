//! What of a payload is kept, and in which form.

use siglum_domain::observation::{Body, Outcome, ToolClass};

use super::payload::Reduction;
use crate::claude_code::tools;
use crate::claude_code::wire::{ShellResponse, ToolInput};
use crate::hook::BODY_LIMIT;

impl Reduction<'_> {
    pub(super) fn input(&self, class: ToolClass) -> Body {
        let field = self.hook.tool_input;
        let kept = match class {
            ToolClass::Edit => Some(self.draft.text(&tools::summary(class, field))),
            ToolClass::Shell => self.draft.body(field.object::<ToolInput<'_>>().command),
            ToolClass::Agent | ToolClass::Other => None,
        };
        kept.or_else(|| self.draft.body(field))
            .unwrap_or_else(|| self.draft.text(""))
    }

    /// What a tool said. An edit that went well says nothing but the file's content.
    pub(super) fn output(&self, class: ToolClass, outcome: Outcome) -> Option<Body> {
        match (outcome, class) {
            (Outcome::Failed, _) => self.draft.body(self.hook.error),
            (Outcome::Denied, _) => self.draft.body(self.hook.reason),
            (Outcome::Ok, ToolClass::Edit) => None,
            (Outcome::Ok, ToolClass::Shell) => self.shell_output(),
            (Outcome::Ok, ToolClass::Agent | ToolClass::Other) => {
                self.draft.body(self.hook.tool_response)
            }
        }
    }

    fn shell_output(&self) -> Option<Body> {
        let raw = self.hook.tool_response.raw()?;
        if raw.len() > BODY_LIMIT {
            return Some(self.draft.withheld(raw));
        }
        let response: ShellResponse<'_> = self.hook.tool_response.object();
        let (Some(out), err) = (
            response.stdout.text(),
            response.stderr.text().unwrap_or_default(),
        ) else {
            return self.draft.body(self.hook.tool_response);
        };
        let gap = if out.is_empty() || err.is_empty() || out.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Some(self.draft.text(&format!("{out}{gap}{err}")))
    }
}
