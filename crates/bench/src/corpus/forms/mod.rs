//! How each agent writes down what happens: names, fields and their order as in what was recorded of real ones.

mod claude_code;
mod codex;
mod copilot;
mod form;
mod gemini;
mod opencode;
mod pi;
mod qwen;

pub(super) use claude_code::ClaudeCode;
pub(super) use codex::{Codex, file_stamp};
pub(super) use copilot::Copilot;
use form::prompt_parts;
pub(super) use form::{Form, HelperPlace, Origin, Parent, slug};
pub(super) use gemini::Gemini;
pub(super) use opencode::OpenCode;
pub(super) use pi::Pi;
pub(super) use qwen::Qwen;
