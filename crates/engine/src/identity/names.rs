//! Names that people give to sessions: a label, so that it is searched, sent and taken back as every link is.

use siglum_domain::link::{Link, LinkError};
use siglum_domain::{AgentName, SessionId};
use siglum_ledger::{Durability, Ledger, LedgerError, StatementRecord, Transaction, attempt};

use super::links::{Change, LinksError, change_in};
use super::statements;
use crate::Here;

/// The key of the label.
const KEY: &str = "name";
/// Where the name that an agent gave was read.
const TRANSCRIPT: &str = "transcript";

/// The label that names a session so.
///
/// # Errors
/// The name is no value of a label.
pub fn link(name: &str) -> Result<Link, LinkError> {
    Link::parse("label", &format!("{KEY}={name}"))
}

/// The name of a session, if it has one. Where several ledgers gave it one each, it is the last in the order of links.
#[must_use]
pub fn name(links: &[Link]) -> Option<&str> {
    links.iter().rev().find_map(|link| match link {
        Link::Label { key, value } if key == KEY && !value.is_empty() => Some(value.as_str()),
        _ => None,
    })
}

/// Names a session, in place of the name that it had. Returns that name.
///
/// # Errors
/// [`LinksError`]; nothing was written then.
pub fn rename(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    new: &Link,
    by: (&str, &str),
) -> Result<Option<String>, LinksError> {
    attempt(ledger, Durability::Process, |tx| {
        replace(tx, here, session, new, by)
    })
}

/// Names a session as its agent does, unless somebody else has named it.
pub(crate) fn take_over(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    new: &Link,
    agent: &AgentName,
) -> Result<(), LedgerError> {
    let statements = tx.statements_of_session(session)?;
    let is_anothers = |(link, from): &(Link, &StatementRecord)| {
        name(std::slice::from_ref(link)).is_some() && from.source != TRANSCRIPT
    };
    if statements::attached(&statements).iter().any(is_anothers) {
        return Ok(());
    }
    match replace(tx, here, session, new, (agent.as_str(), TRANSCRIPT)) {
        Ok(_) | Err(LinksError::TooMany) => Ok(()),
        Err(LinksError::Ledger(error)) => Err(error),
    }
}

fn replace(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    new: &Link,
    by: (&str, &str),
) -> Result<Option<String>, LinksError> {
    let standing = statements::links(&tx.statements_of_session(session)?);
    let mut old = standing.clone();
    old.retain(|link| name(std::slice::from_ref(link)).is_some() && link != new);
    change_in(tx, here, session, &old, Change::Detach, by)?;
    let new = std::slice::from_ref(new);
    change_in(tx, here, session, new, Change::Attach, by)?;
    Ok(name(&standing).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label() {
        let label = link("Fix the cart").unwrap();
        assert_eq!(label.value(), "name=Fix the cart");
        assert_eq!(name(&[Link::IssueNumber(7), label]), Some("Fix the cart"));
        for none in [" ", " a", "a\nb", &"x".repeat(257)] {
            assert!(link(none).is_err(), "{none:?}");
        }
        assert_eq!(name(&["label=name=".parse().unwrap()]), None);
    }
}
