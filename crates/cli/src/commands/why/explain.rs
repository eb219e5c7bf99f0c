//! `siglum why --explain`: the row of the table that gave the answer, and what would change it.

use serde::Serialize;
use siglum_domain::evidence::{Committer, Counterfactual};
use siglum_engine::commits::judgements::Explanation;
use siglum_engine::commits::why::Why;

use super::print::{heading, made_by, verdict};
use crate::error::CommandError;
use crate::ui::{Style, Ui};

/// The JSON form of an explanation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ExplanationJson {
    /// The row of the table of evidence that gave the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// What was observed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<String>,
    /// What takes such an answer away.
    #[serde(skip_serializing_if = "Option::is_none")]
    defeated_by: Option<String>,
    /// The version of the rules, where it is an older one: `siglum rebuild judgements` judges again.
    #[serde(skip_serializing_if = "Option::is_none")]
    older_rules: Option<u32>,
    signs: Vec<SignStrength>,
    /// Pieces of the evidence without which the answer would be another one.
    without: Vec<Without>,
}

/// What one sign is worth.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SignStrength {
    session: String,
    text: String,
    worth: String,
    defeated_by: String,
}

/// The answer without one piece of the evidence.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Without {
    /// What is left out.
    evidence: String,
    /// `session`, `human` or `unknown`.
    committer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    verdict: String,
    rule: String,
}

impl ExplanationJson {
    pub(super) fn from_explanation(explanation: &Explanation) -> Self {
        let rule = explanation.rule;
        Self {
            rule: rule.map(|r| r.name.to_owned()),
            observed: rule.map(|r| r.observed.to_owned()),
            defeated_by: rule.map(|r| r.defeated_by.to_owned()),
            older_rules: explanation.older_rules,
            signs: explanation
                .signs
                .iter()
                .map(|(session, text, worth, defeated_by)| SignStrength {
                    session: session.to_string(),
                    text: text.clone(),
                    worth: (*worth).to_owned(),
                    defeated_by: (*defeated_by).to_owned(),
                })
                .collect(),
            without: explanation.counterfactuals.iter().map(without).collect(),
        }
    }
}

fn without(counterfactual: &Counterfactual) -> Without {
    let (committer, session) = match counterfactual.committer {
        Committer::Session { session } => ("session", Some(session.to_string())),
        Committer::Human => ("human", None),
        Committer::Unknown => ("unknown", None),
    };
    Without {
        evidence: counterfactual.without.clone(),
        committer: committer.to_owned(),
        session,
        verdict: counterfactual.verdict.to_string(),
        rule: counterfactual.rule.clone(),
    }
}

/// Where the texts of an explanation begin.
const INDENT: usize = 12;

/// Writes an explanation for people.
pub(super) fn print(ui: &Ui, why: &Why, explanation: &Explanation) -> Result<(), CommandError> {
    let indent = " ".repeat(INDENT);
    match explanation.rule {
        Some(rule) => {
            let name = ui.paint(Style::Id, rule.name);
            ui.line(format!("{}  {name}", heading(ui, "Rule")))?;
            ui.paragraph(INDENT, rule.observed)?;
            ui.paragraph(INDENT, format!("defeated by: {}", rule.defeated_by))?;
        }
        None => {
            let text = "no single rule: a sweep, a rewrite or older rules decided it";
            ui.line(format!("{}  {text}", heading(ui, "Rule")))?;
        }
    }
    if let Some(rules) = explanation.older_rules {
        let text = "`siglum rebuild judgements` applies the current rules";
        ui.paragraph(INDENT, format!("judged by rules {rules}; {text}"))?;
    }
    for (_, text, worth, defeated_by) in &explanation.signs {
        ui.field(&format!("{}  ", heading(ui, "Sign")), INDENT, text)?;
        ui.paragraph(INDENT, worth)?;
        ui.paragraph(INDENT, format!("defeated by: {defeated_by}"))?;
    }
    for other in &explanation.counterfactuals {
        ui.field(
            &format!("{}  ", heading(ui, "Without")),
            INDENT,
            &other.without,
        )?;
        ui.line(format!(
            "{indent}{}  [{}]",
            made_by(ui, why, other.committer),
            verdict(ui, other.verdict)
        ))?;
        ui.paragraph(INDENT, format!("by rule: {}", other.rule))?;
    }
    Ok(())
}
