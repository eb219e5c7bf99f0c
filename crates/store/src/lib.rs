//! A durable session store for agent runtimes.
//!
//! A runtime that drives an agent tells a [`Store`] what happens, turn by turn. A turn is one transaction: it is
//! committed as a whole or not at all, nobody sees it before, and a key makes it safe to ask twice. One driver at a
//! time has a session; what one that died left behind is settled or held, never invented. Whoever shows sessions
//! elsewhere, such as a document store, follows as a [`Sink`] and gets every committed turn, in order.
//!
//! ```
//! use std::time::Duration;
//! use siglum_store::{
//!     AgentName, ConversationId, Event, Link, NewSession, Opening, SessionFilter, Store, TurnError,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let file = dir.path().join("ledger.db");
//! let store = Store::open(&file)?;
//! let session = store.create(&NewSession {
//!     agent: AgentName::new("my-runtime")?,
//!     conversation: ConversationId::new("ticket-42")?,
//!     cwd: None,
//!     links: vec![Link::IssueNumber(42)],
//!     by: "my-runtime".to_owned(),
//! })?;
//!
//! let mut drive = store.drive(session.id, Duration::from_secs(60))?;
//! if let Opening::Turn(mut turn) = drive.open("turn-1")? {
//!     turn.say(Event::prompt("p1", "Which files are here?"))?;
//!     turn.say(Event::tool_call("c1", "ls", "{}"))?;
//!     turn.say(Event::tool_result("c1", "ls", "Cargo.toml src"))?;
//!     turn.say(Event::message("m1", "A manifest and a directory.").model("small"))?;
//!     turn.say(Event::stop("p1"))?;
//!     let receipt = turn.commit()?.receipt;
//!     assert_eq!((receipt.number, receipt.last), (1, 5));
//! }
//!
//! // Or at once. Asked for twice it is done once.
//! let said = || [Event::prompt("p2", "Thanks"), Event::stop("p2")];
//! assert!(!drive.commit("turn-2", said())?.already);
//! assert!(drive.commit("turn-2", said())?.already);
//!
//! // Nobody else drives meanwhile.
//! let other = store.drive(session.id, Duration::from_secs(60));
//! assert!(matches!(other, Err(TurnError::Leased { .. })));
//!
//! let of_issue = SessionFilter { links: vec![Link::IssueNumber(42)], ..SessionFilter::default() };
//! assert_eq!(store.sessions(&of_issue)?.len(), 1);
//! assert_eq!(store.read(session.id, 0, 0)?.entries.len(), 7);
//! # Ok(())
//! # }
//! ```
//!
//! Text goes through the redactor on its way in: what looks like a secret is not stored.
//!
//! What this deliberately does not do: run models or tools, decide what a held turn is worth, or keep a second place
//! that could disagree with the first.

mod background;
mod drive;
mod follow;
#[cfg(feature = "postgres")]
mod hints;
mod place;
mod store;
#[cfg(test)]
mod tests;

pub use drive::{Drive, Opening, Turn};
pub use siglum_domain::fold::Entry;
pub use siglum_domain::link::{Link, LinkError};
pub use siglum_domain::observation::{Fact, Observation, Outcome, Role, Tokens, ToolClass};
pub use siglum_domain::receipt::Receipt;
pub use siglum_domain::tail::Tail;
pub use siglum_domain::{AgentName, ConversationId, SessionId, Tenant, Timestamp, TurnId};
pub use siglum_engine::share::project::{Position, Sealed, Sink, SinkError};

pub use siglum_engine::driven::turn::{
    Committed, Decision, Event, Fate, Held, NewSession, Page, Recovered, TurnError,
};
pub use siglum_ledger::{
    Lag, Ledger, LedgerError, OpenTurn, SessionFilter, SessionListing, SessionRecord,
};
pub use store::Store;
