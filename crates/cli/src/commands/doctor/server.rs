//! Whether a store on a server can be used, and what is left to the machines.

use siglum_ledger::Ledger as _;

use super::Check;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

pub(super) fn checks(cx: &Cx) -> Vec<Check> {
    let stored = stored(cx).unwrap_or_else(|error| {
        Check::problem("store", format!("{:#}", error.source)).details(error.hints)
    });
    let machine = "hooks, agents and settings of machines are not checked";
    vec![
        stored,
        Check::note("machine", machine).remedy(format!(
            "Run `env -u {} siglum doctor` on a machine to check it.",
            store::variable()
        )),
    ]
}

fn stored(cx: &Cx) -> Result<Check, CommandError> {
    let wrong = store::open_unsettled(cx)?.check()?;
    let tenant = store::tenant()?;
    Ok(match wrong.is_empty() {
        true => Check::ok("store", format!("the part of tenant {tenant} is intact")),
        false => Check::problem("store", format!("the part of tenant {tenant} is damaged"))
            .details(wrong)
            .remedy("Keep a copy of the database first, then restore a backup of it."),
    })
}
