//! The one door through which sessions come to be, whoever opens it.

use siglum_domain::NativeId;
use siglum_domain::link::{Link, Stated};
use siglum_ledger::{LedgerError, SessionRecord, Statement, Transaction};

use crate::identity::links::{self, LinksError};

/// The name under which a session is found again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name<'a> {
    /// What its agent calls it.
    Native(&'a NativeId),
    /// What its caller calls it; its agent may never have heard that.
    Caller(&'a NativeId),
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
}

/// A session that is to come to be.
#[derive(Debug)]
pub(crate) struct NewSession<'a> {
    pub(crate) record: SessionRecord,
    /// The name under which it is found again; one that has none is found by its id alone.
    pub(crate) name: Option<Name<'a>>,
    /// What it works for.
    pub(crate) links: FirstLinks,
    /// Who opens it, and states the links.
    pub(crate) by: &'a str,
}

/// Opens a session. Whoever asks for one in so many words also writes it into the audit, when all else is written: until
/// the end of the transaction nobody else writes there.
pub(crate) fn open_session(
    tx: &mut dyn Transaction,
    new: &NewSession<'_>,
) -> Result<(), LedgerError> {
    let (session, at) = (new.record.id, new.record.created_at);
    tx.create_session(&new.record)?;
    match new.name {
        Some(Name::Native(name)) => tx.add_alias(&new.record.agent, name, session, at)?,
        Some(Name::Caller(name)) => tx.add_caller_name(&new.record.agent, name, session, at)?,
        None => {}
    }
    for Stated { link, source } in &new.links.0 {
        let link = link.clone();
        let attached = Statement::LinkAttached { session, link };
        tx.state(at, new.by, source, &attached)?;
    }
    Ok(())
}
