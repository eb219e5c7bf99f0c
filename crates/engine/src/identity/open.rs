//! The one door through which sessions come to be, whoever opens it.

use serde_json::Value;
use siglum_domain::link::{Link, Stated};
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, SessionRecord, Statement, Transaction};

use super::resolve::SessionIdentity;
use crate::Here;
use crate::identity::audit;
use crate::identity::links::{self, LinksError};

/// The name under which a session is found again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name<'a> {
    /// What its agent calls it.
    Native(&'a NativeId),
    /// What its caller calls it, or the id of a sub-agent; its agent may never have heard that, or not as its session's.
    Caller(&'a NativeId),
}

/// Lets a session be found by a name of this agent. One that is known stays with its session.
pub(crate) fn add_name(
    tx: &mut dyn Transaction,
    session: SessionId,
    agent: &AgentName,
    name: Name<'_>,
    at: Timestamp,
) -> Result<(), LedgerError> {
    match name {
        Name::Native(name) => tx.add_alias(agent, name, session, at),
        Name::Caller(name) => tx.add_caller_name(agent, name, session, at),
    }
}

/// Links that a session begins with: each by the rules and once, and no more than it has room for.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstLinks(Vec<Stated>);

impl FirstLinks {
    /// Takes links with where they were stated.
    ///
    /// # Errors
    /// [`LinksError::Invalid`], [`LinksError::TooMany`].
    pub(crate) fn new(stated: impl IntoIterator<Item = Stated>) -> Result<Self, LinksError> {
        let mut first: Vec<Stated> = Vec::new();
        for next in stated {
            if !first.iter().any(|known| known.link == next.link) {
                links::admit(&next.link, first.len() + 1)?;
                first.push(next);
            }
        }
        Ok(Self(first))
    }

    /// Takes links that were all stated in one place.
    ///
    /// # Errors
    /// [`LinksError::Invalid`], [`LinksError::TooMany`].
    pub(crate) fn stated_by(source: &str, links: &[Link]) -> Result<Self, LinksError> {
        let source = source.to_owned();
        let stated = |link: &Link| Stated {
            link: link.clone(),
            source: source.clone(),
        };
        Self::new(links.iter().map(stated))
    }

    /// What is attached to a session that began with them, in order.
    pub(crate) fn attached(&self) -> Vec<Link> {
        let mut attached: Vec<Link> = self.0.iter().map(|stated| stated.link.clone()).collect();
        attached.sort();
        attached
    }
}

/// A session that is to come to be.
pub(crate) struct NewSession<'a> {
    pub(crate) record: SessionRecord,
    /// The name under which it is found again; one that has none is found by its id alone.
    pub(crate) name: Option<Name<'a>>,
    /// What it works for.
    pub(crate) links: FirstLinks,
    /// What else is stated of it when it begins, and where.
    pub(crate) statement: Option<(&'a str, Statement)>,
    /// Who opens it, and states all that.
    pub(crate) by: &'a str,
    /// What the audit has of it beside what the ledger has: whoever asks for a session in so many words is in there. `None`
    /// also where more is to be written after it, by whoever writes that: until the end of the transaction nobody else
    /// writes into the audit.
    pub(crate) audit: Option<(&'a Here<'a>, Value)>,
}

/// Opens a session.
pub(crate) fn open_session(
    tx: &mut dyn Transaction,
    new: &NewSession<'_>,
) -> Result<SessionIdentity, LedgerError> {
    let (session, at) = (new.record.id, new.record.created_at);
    tx.create_session(&new.record)?;
    if let Some(name) = new.name {
        add_name(tx, session, &new.record.agent_key(), name, at)?;
    }
    let attached = |stated: &Stated| Statement::LinkAttached {
        session,
        link: stated.link.clone(),
    };
    let links: Vec<Statement> = new.links.0.iter().map(attached).collect();
    let sources = new.links.0.iter().map(|stated| stated.source.as_str());
    let other = new.statement.iter().map(|(source, other)| (*source, other));
    let stated: Vec<(&str, &Statement)> = sources.zip(&links).chain(other).collect();
    tx.state_all(at, new.by, &stated)?;
    if let Some((here, more)) = &new.audit {
        let attached = new.links.attached();
        audit::session_opened(tx, here, new.by, (&new.record, &attached), more.clone())?;
    }
    Ok(SessionIdentity::new(session))
}
