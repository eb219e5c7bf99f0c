//! What a check is, and what it is written with.

use siglum_ledger::{Durability, Ledger, LedgerError, Transaction};

/// Fails the check unless both are equal.
macro_rules! same {
    ($found:expr, $wanted:expr, $what:expr) => {{
        let (found, wanted) = (&$found, &$wanted);
        if found != wanted {
            return Err($crate::check::Wrong(format!(
                "{}: found {found:?}, wanted {wanted:?}",
                $what
            )));
        }
    }};
}

/// Fails the check unless this holds.
macro_rules! holds {
    ($holds:expr, $what:expr) => {
        if !$holds {
            return Err($crate::check::Wrong($what.to_string()));
        }
    };
}

/// The place of one store, which can be opened several times, also at once.
pub trait Shelf {
    /// Opens the store; the first time creates it.
    ///
    /// # Errors
    /// Those of the store.
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError>;
}

/// What a check found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub check: &'static str,
    pub reason: String,
}

/// One thing that every store must do.
#[derive(Clone, Copy)]
pub struct Check {
    /// What the store must do, in words.
    pub name: &'static str,
    run: fn(&dyn Shelf) -> Outcome,
}

impl Check {
    pub(super) const fn new(name: &'static str, run: fn(&dyn Shelf) -> Outcome) -> Self {
        Self { name, run }
    }

    /// Runs this check on a shelf that nothing else uses.
    ///
    /// # Errors
    /// What the store does wrong.
    pub fn run(&self, shelf: &dyn Shelf) -> Result<(), Failure> {
        (self.run)(shelf)
            .and_then(|()| is_summed(shelf))
            .map_err(|wrong| Failure {
                check: self.name,
                reason: wrong.0,
            })
    }
}

/// Whatever was written and dropped, the sums beside the rows are theirs, and each table has the rows that it tells of.
fn is_summed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let unlike = desk.read(|tx| tx.unlike(9))?;
    same!(unlike, [], "rows whose sums are not theirs");
    for state in desk.read(|tx| tx.session_states(None, 1_000))? {
        let unlike = desk.read(|tx| tx.unlike_entries(state.session, 0, 9))?;
        same!(unlike, [], "entries whose sums are not theirs");
    }
    let miscounts = desk.read(|tx| tx.miscounts())?;
    same!(miscounts, [], "tables that are not what their tallies say");
    Ok(())
}

/// Why a check failed.
#[derive(Debug)]
pub(super) struct Wrong(pub(super) String);

/// What a check gives.
pub(super) type Outcome<T = ()> = Result<T, Wrong>;

impl From<LedgerError> for Wrong {
    fn from(error: LedgerError) -> Self {
        Self(format!("the store refused: {error:?}"))
    }
}

/// A store that a check has open.
pub(super) struct Desk(pub(super) Box<dyn Ledger + Send>);

impl Desk {
    pub(super) fn open(shelf: &dyn Shelf) -> Outcome<Self> {
        Ok(Self(shelf.open()?))
    }

    pub(super) fn write<T>(
        &mut self,
        mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
    ) -> Outcome<T> {
        let mut result = None;
        self.0.write(Durability::Process, &mut |tx| {
            result = Some(work(tx)?);
            Ok(())
        })?;
        result.ok_or_else(unrun)
    }

    pub(super) fn read<T>(
        &mut self,
        mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
    ) -> Outcome<T> {
        let mut result = None;
        self.0.read(&mut |tx| {
            result = Some(work(tx)?);
            Ok(())
        })?;
        result.ok_or_else(unrun)
    }
}

fn unrun() -> Wrong {
    Wrong("a transaction succeeded whose work did not".to_owned())
}

pub(super) use {holds, same};
