//! What the statements about a session come to.

use siglum_domain::link::Link;
use siglum_domain::{LedgerId, SessionId, Timestamp};
use siglum_ledger::{LaunchEnd, LedgerError, Statement, StatementRecord, Transaction};

/// The links that stand after all statements, each with the statement that attached it.
#[must_use]
pub fn attached(statements: &[StatementRecord]) -> Vec<(Link, &StatementRecord)> {
    let attaching = |link: &Link| {
        let mut latest = statements.iter().rev();
        latest
            .find(|s| matches!(&s.statement, Statement::LinkAttached { link: l, .. } if l == link))
    };
    let standing = links(statements).into_iter();
    standing
        .filter_map(|link| attaching(&link).map(|by| (link, by)))
        .collect()
}

/// The links that stand after all statements.
#[must_use]
pub fn links(statements: &[StatementRecord]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for record in statements {
        match &record.statement {
            Statement::LinkAttached { link, .. } => {
                links.retain(|l| l != link);
                links.push(link.clone());
            }
            Statement::LinkDetached { link, .. } => links.retain(|l| l != link),
            _ => {}
        }
    }
    links.sort();
    links
}

/// How a session was said to have ended, and when that was stated.
pub(crate) fn stated_end(statements: &[StatementRecord]) -> Option<(LaunchEnd, Timestamp)> {
    statements.iter().rev().find_map(|s| match &s.statement {
        Statement::Ended { end: Some(end), .. } => Some((end.clone(), s.at)),
        _ => None,
    })
}

/// Lets go of what other ledgers stated of a session before it was known here whose it is. Gives how many that were.
pub(crate) fn drop_early(
    tx: &mut dyn Transaction,
    session: SessionId,
    home: LedgerId,
) -> Result<u64, LedgerError> {
    let mut early = tx.statements_of_session(session)?;
    early.retain(|record| record.ledger != home);
    for record in &early {
        tx.drop_statement(record.ledger, record.sequence)?;
    }
    Ok(early.len() as u64)
}
