//! What a run is to read: as much of what is seen from its context as its budget allows.

use siglum_domain::context::Keys;
use siglum_ledger::{Ledger, Transaction};

use super::error::{attempt_read, belongs};
use super::view::{EACH, Look, Most, Past, cost, tokens, view};
use super::{ContextError, Gaps, Heartbeats, Origin, Seen, Spoken};

/// When the call is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum During {
    /// Before the prompt goes to the model.
    #[default]
    BeforePrompt,
    /// Between the calls of a turn.
    ToolLoop,
    /// Before the result of a tool, of so many tokens, is taken into the turn.
    ToolResult { tokens: u64 },
}

/// What a run wants to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assemble {
    /// How many tokens it may have, the prompt among them.
    pub budget: u64,
    pub prompt: Option<String>,
    pub during: During,
    pub heartbeats: Heartbeats,
    pub gaps: Gaps,
}

/// Whether what is said in the current turn is among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// It is: the host adds nothing.
    CurrentTurn,
    /// It is not: the host adds it behind them.
    BeforeCurrentTurn,
}

/// What a run reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The messages, in order.
    pub messages: Vec<Seen>,
    /// How many tokens they have, as they are estimated.
    pub tokens: u64,
    /// How many tokens are left of the budget, after the prompt, or the result, and the messages.
    pub room: u64,
    /// Whether older messages were left out for the budget.
    pub cut: bool,
    /// Whether the current turn is among them.
    pub coverage: Coverage,
}

/// Gives what a run reads: the newest messages that fit, never a result without its call. A summary comes before
/// everything that it does not sum up.
///
/// # Errors
/// [`ContextError::Gap`] where turns are known to be missing; [`ContextError::Mismatch`] and [`ContextError::NoContext`]
/// for keys that do not belong together.
pub fn assemble(
    ledger: &mut dyn Ledger,
    keys: &Keys,
    ask: &Assemble,
) -> Result<Assembled, ContextError> {
    let own = match ask.during {
        During::ToolResult { tokens } => tokens,
        _ => ask.prompt.as_deref().map_or(0, |text| EACH + tokens(text)),
    };
    let budget = ask.budget.saturating_sub(own);
    attempt_read(ledger, |tx| {
        let context = belongs(tx, keys)?;
        let head = tx
            .session(context.session)?
            .map_or(0, |record| record.sealed);
        let open = match ask.during {
            During::BeforePrompt => Vec::new(),
            _ => open_turn_messages(tx, &context)?,
        };
        let seen = view(
            tx,
            &context,
            head,
            Look {
                heartbeats: ask.heartbeats,
                gaps: ask.gaps,
                past: Past::Compacted,
                most: Most::Tokens(budget.saturating_add(1)),
            },
        )?;
        Ok(fitting(seen, open, budget))
    })
}

/// What was said in the turn that is open.
fn open_turn_messages(
    tx: &mut dyn Transaction,
    context: &siglum_ledger::ContextRecord,
) -> Result<Vec<Seen>, ContextError> {
    let Some(turn) = tx.open_turn(context.session)? else {
        return Ok(Vec::new());
    };
    let mut seen = Vec::new();
    for row in tx.pending(context.session)? {
        let entry = row.entry(0, turn.id)?;
        seen.extend(
            Spoken::from_observation(&entry.observation).map(|spoken| Seen {
                spoken,
                origin: Origin::Open,
                session: context.session,
                sequence: 0,
                turn: Some(turn.id),
                at: entry.observation.at,
                kind: siglum_ledger::ContextTurnKind::Asked,
            }),
        );
    }
    Ok(seen)
}

/// The newest messages that fit, with what is said now, which is never left out.
fn fitting(seen: Vec<Seen>, open: Vec<Seen>, budget: u64) -> Assembled {
    let coverage = match open.is_empty() {
        true => Coverage::BeforeCurrentTurn,
        false => Coverage::CurrentTurn,
    };
    let is_summary = |seen: &&Seen| matches!(seen.origin, Origin::Summary { .. });
    let mut tokens: u64 = open.iter().map(cost).sum();
    // A summary stands for more than any one message, so it is taken first.
    let summary: Option<Seen> = seen.iter().rev().find(is_summary).cloned();
    let summary = summary.filter(|summary| tokens + cost(summary) <= budget);
    tokens += summary.as_ref().map_or(0, cost);
    let before = seen.len();
    let mut kept: Vec<Seen> = Vec::new();
    for message in seen.into_iter().rev() {
        if is_summary(&&message) {
            continue;
        }
        if tokens + cost(&message) > budget {
            break;
        }
        tokens += cost(&message);
        kept.push(message);
    }
    kept.reverse();
    let orphans = without_calls(&mut kept);
    tokens -= orphans.iter().map(cost).sum::<u64>();
    let mut messages: Vec<Seen> = summary.into_iter().chain(kept).collect();
    let cut = messages.len() < before;
    messages.extend(open);
    Assembled {
        messages,
        tokens,
        room: budget.saturating_sub(tokens),
        cut,
        coverage,
    }
}

/// Takes out the results whose calls were left out, and gives them.
fn without_calls(kept: &mut Vec<Seen>) -> Vec<Seen> {
    let mut calls = std::collections::HashSet::new();
    let mut orphans = Vec::new();
    for seen in std::mem::take(kept) {
        match &seen.spoken {
            Spoken::Result { id, .. } if !calls.contains(id) => orphans.push(seen),
            Spoken::Call { id, .. } => {
                calls.insert(id.clone());
                kept.push(seen);
            }
            _ => kept.push(seen),
        }
    }
    orphans
}
