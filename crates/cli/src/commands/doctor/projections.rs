//! Whoever else gets what is committed, and the turns that wait for a person.

use super::Check;
use crate::clock;
use crate::commands::projection::standing::{self, Health, Standing};
use crate::commands::session::recover::{OpenJson, open_turns};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// How many turns are shown.
const SHOWN: usize = 5;

pub(super) fn checks(cx: &Cx) -> Vec<Check> {
    if !store::is_server() && !cx.has_ledger() {
        return Vec::new();
    }
    all_checks(cx).unwrap_or_else(|error| {
        let text = format!("cannot read the projections: {:#}", error.source);
        vec![Check::problem("projections", text)]
    })
}

fn all_checks(cx: &Cx) -> Result<Vec<Check>, CommandError> {
    let mut ledger = store::open_unsettled(cx)?;
    let all = standing::all(&mut ledger, clock::now())?;
    let mut checks: Vec<Check> = all.iter().map(projection_check).collect();
    checks.extend(held_turns_check(&open_turns(cx, &mut ledger)?));
    Ok(checks)
}

fn projection_check(standing: &Standing) -> Check {
    let name = &standing.projection.name;
    let text = format!("{name} {}", standing.text());
    let show = format!("Run `siglum projection show {name}` for details.");
    if !standing.scope.is_open() {
        return Check::problem("projection", text).remedy(format!(
            "Run `siglum projection scope {name} --repository PATH` to set its scope."
        ));
    }
    match (standing.health(), &standing.lag) {
        (Health::Ok, _) => Check::ok("projection", text),
        (Health::Degraded, Ok(lag)) if lag.parked + lag.failing == 0 => {
            Check::note("projection", text).remedy(match store::is_server() {
                true => "A gateway that has its headers delivers it: check that one runs.",
                false => "The worker delivers it; run `siglum status` to start the worker.",
            })
        }
        _ => Check::problem("projection", text).remedy(show),
    }
}

fn held_turns_check(turns: &[OpenJson]) -> Option<Check> {
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
            .remedy("Run `siglum session recover` to list the options."),
    )
}
