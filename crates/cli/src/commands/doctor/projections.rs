//! Whoever else gets what is committed, and the turns that wait for a person.

use super::Check;
use crate::clock;
use crate::commands::projection::standing::{self, Health, Standing};
use crate::commands::session::recover::{OpenJson, open_turns};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;

/// How many turns are shown.
const SHOWN: usize = 5;

pub(super) fn checks(cx: &Cx) -> Vec<Check> {
    if !cx.has_ledger() {
        return Vec::new();
    }
    look(cx).unwrap_or_else(|error| {
        let text = format!("nobody could look: {:#}", error.source);
        vec![Check::problem("projections", text)]
    })
}

fn look(cx: &Cx) -> Result<Vec<Check>, CommandError> {
    let mut ledger = cx.open_ledger()?;
    let all = standing::all(&mut ledger, clock::now())?;
    let mut checks: Vec<Check> = all.iter().map(projection).collect();
    checks.extend(held(&open_turns(cx, &mut ledger)?));
    Ok(checks)
}

fn projection(standing: &Standing) -> Check {
    let name = &standing.projection.name;
    let text = format!("{name} {}", standing.text());
    let show = format!("`siglum projection show {name}` tells more.");
    if !standing.scope.is_open() {
        return Check::problem("projection", text).remedy(format!(
            "`siglum projection scope {name} --repository PATH` says what it may get."
        ));
    }
    match (standing.health(), &standing.lag) {
        (Health::Ok, _) => Check::ok("projection", text),
        (Health::Degraded, Ok(lag)) if lag.parked + lag.failing == 0 => {
            Check::note("projection", text)
                .remedy("The worker hands it over; `siglum status` starts it.")
        }
        _ => Check::problem("projection", text).remedy(show),
    }
}

fn held(turns: &[OpenJson]) -> Option<Check> {
    let held: Vec<&OpenJson> = turns.iter().filter(|t| t.is_held()).collect();
    if held.is_empty() {
        return None;
    }
    let text = match held.len() as u64 {
        1 => "1 turn waits for a decision".to_owned(),
        n => format!("{} turns wait for a decision", ui::count(n)),
    };
    Some(
        Check::problem("held", text)
            .details(held.iter().take(SHOWN).map(|t| t.line()))
            .remedy("`siglum session recover` shows the ways out."),
    )
}
