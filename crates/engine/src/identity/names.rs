//! Names that people give to sessions: a label, so that it is searched, sent and taken back as every link is.
//!
//! A name that nobody but the agent gave is a text of the conversation, often made of its first prompt: it stays in this
//! ledger, and is forgotten with the session.

use std::collections::BTreeSet;

use siglum_domain::link::{Link, LinkError};
use siglum_domain::{AgentName, SessionId};
use siglum_ledger::{
    Durability, Ledger, LedgerError, Statement, StatementRecord, TextColumn, Transaction, attempt,
};

use super::audit::SIGLUM;
use super::links::{Change, LinksError, change_in, check_room, ever_named};
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

fn is_name(link: &Link) -> bool {
    name(std::slice::from_ref(link)).is_some()
}

/// Whether a link is a name that nobody but the agent gave, by the statements of its session.
pub(crate) fn is_by_agent(link: &Link, stated: &[StatementRecord]) -> bool {
    let mut attaching = stated.iter().filter(
        |record| matches!(&record.statement, Statement::LinkAttached { link: l, .. } if l == link),
    );
    is_name(link) && attaching.all(|record| record.source == TRANSCRIPT)
}

/// Whether a statement speaks of such a name.
pub(crate) fn speaks_of_agents_name(
    tx: &mut dyn Transaction,
    statement: &Statement,
) -> Result<bool, LedgerError> {
    match statement {
        Statement::LinkAttached { session, link } | Statement::LinkDetached { session, link }
            if is_name(link) =>
        {
            Ok(is_by_agent(link, &tx.statements_of_session(*session)?))
        }
        _ => Ok(false),
    }
}

/// Forgets the names that only the agent gave to a session.
pub(crate) fn forget(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
) -> Result<(), LedgerError> {
    const BODY: TextColumn = TextColumn {
        table: "statements",
        column: "body",
    };
    let stated = tx.statements_of_session(session)?;
    let names = ever_named(&stated).filter(|link| is_by_agent(link, &stated));
    let names: BTreeSet<Link> = names.collect();
    let standing = statements::links(&stated);
    let attached = |link: Link| Statement::LinkAttached { session, link };
    let detached = |link: Link| Statement::LinkDetached { session, link };
    let body = |statement: Statement| {
        serde_json::to_string(&statement).map_err(|e| LedgerError::Storage(Box::new(e)))
    };
    for link in names {
        if standing.contains(&link) {
            tx.state(here.now(), SIGLUM, TRANSCRIPT, &detached(link.clone()))?;
        }
        let nameless = Link::Label {
            key: KEY.to_owned(),
            value: String::new(),
        };
        for (old, new) in [
            (attached(link.clone()), attached(nameless.clone())),
            (detached(link), detached(nameless)),
        ] {
            tx.replace_text(BODY, &body(old)?, Some(&body(new)?))?;
        }
    }
    Ok(())
}

/// Names a session as its agent does, unless somebody else has named it. The audit has nothing of it: what stands there
/// is not forgotten with the session.
pub(crate) fn take_over(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    new: &Link,
    agent: &AgentName,
) -> Result<(), LedgerError> {
    let statements = tx.statements_of_session(session)?;
    let is_anothers =
        |(link, from): &(Link, &StatementRecord)| is_name(link) && from.source != TRANSCRIPT;
    if statements::attached(&statements).iter().any(is_anothers) {
        return Ok(());
    }
    let standing = statements::links(&statements);
    let is_new = !standing.contains(new);
    let (at, by) = (here.now(), agent.as_str());
    let old: Vec<&Link> = standing
        .iter()
        .filter(|link| is_name(link) && *link != new)
        .collect();
    if check_room(standing.len() - old.len() + usize::from(is_new)).is_err() {
        return Ok(());
    }
    for link in old {
        let link = link.clone();
        tx.state(
            at,
            by,
            TRANSCRIPT,
            &Statement::LinkDetached { session, link },
        )?;
    }
    if is_new {
        let link = new.clone();
        tx.state(
            at,
            by,
            TRANSCRIPT,
            &Statement::LinkAttached { session, link },
        )?;
    }
    Ok(())
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
    old.retain(|link| is_name(link) && link != new);
    change_in(tx, here, session, &old, Change::Detach, by)?;
    let new = std::slice::from_ref(new);
    change_in(tx, here, session, new, Change::Attach, by)?;
    Ok(name(&standing).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use siglum_ledger::write;

    use super::*;
    use crate::tests::stage::{Stage, prompt, says};

    #[test]
    fn a_name_that_only_the_agent_gave_is_forgotten_with_the_session() {
        let mut stage = Stage::new();
        let session = stage.hear(says("one", vec![prompt("t1", 10)]));
        let line = |name: &str| {
            format!(
                "{{\"type\":\"custom-title\",\"customTitle\":\"{name}\",\"sessionId\":\"one\"}}\n"
            )
        };
        stage.read_transcript(session, "one", &line("Old words"));
        stage.read_transcript(session, "one", &line("New words"));
        let stated = stage.read(|tx| tx.statements_of_session(session));
        assert_eq!(name(&statements::links(&stated)), Some("New words"));
        let last = stated.last().unwrap();
        assert!(stage.read(|tx| speaks_of_agents_name(tx, &last.statement)));
        stage.play(|world, ledger| {
            write(ledger, Durability::Process, |tx| forget(tx, world, session)).unwrap();
        });
        let stated = stage.read(|tx| tx.statements_of_session(session));
        assert!(!format!("{stated:?}").contains("words"), "{stated:?}");
        let found = stage.read(|tx| tx.sessions_by_link_start("label", "name="));
        assert!(found.is_empty(), "{found:?}");
    }

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
