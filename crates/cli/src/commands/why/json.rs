//! The JSON form of an answer.

use serde::Serialize;
use siglum_engine::views::commits::{CommitJson, PartyJson, PromptJson};

use super::Answer;
use super::explain::ExplanationJson;
use super::line::writer;
use super::warnings::Warning;
use crate::team::SourceJson;

/// The JSON form of an answer: the commit as the API has it, with what is known of it here alone.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    #[serde(flatten)]
    commit: CommitJson,
    /// The line that was asked for, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<Line>,
    /// With `--explain`: the rule and what would have changed the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ExplanationJson>,
    /// What a reader should know beside the answer; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// The gateway that gave the answer; absent where it is from this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
}

/// One line of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line {
    /// The file in the commit.
    path: String,
    /// The number of the line in the commit, from 1.
    number: u32,
    /// Who wrote it.
    author: PartyJson,
    /// What its author was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<PromptJson>,
}

impl Json {
    pub(super) fn from_answer(answer: &Answer) -> Self {
        let why = &answer.why;
        Self {
            commit: CommitJson::from_why(why, answer.repository.clone()),
            line: answer.line.as_ref().map(|line| Line {
                path: line.path.clone(),
                number: line.line,
                author: PartyJson::author(why, writer(why, line)),
                prompt: answer.author_prompt.as_ref().map(PromptJson::from),
            }),
            explanation: answer
                .explanation
                .as_ref()
                .map(ExplanationJson::from_explanation),
            warnings: answer.warnings.clone(),
            source: answer.source.as_ref().map(SourceJson::from),
        }
    }
}
