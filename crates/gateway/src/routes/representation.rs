//! Who may act for a session that is at home in another ledger: whoever may speak for that ledger.

use siglum_domain::{LedgerId, SessionId};
use siglum_engine::Here;
use siglum_engine::identity::access::{self, Caller, Standing};
use siglum_ledger::{LedgerError, Transaction};

use crate::problem::Problem;

/// How a caller stands to the home of a session; nothing where that is this ledger.
pub(super) struct Elsewhere(Option<(LedgerId, Standing)>);

impl Elsewhere {
    /// Refuses a caller who does not speak for this home.
    pub(super) fn of_home(
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        caller: &Caller,
        own: LedgerId,
        home: LedgerId,
    ) -> Result<Self, Problem> {
        if home == own {
            return Ok(Self(None));
        }
        let standing = access::standing(here, tx, caller, home)?;
        Ok(Self(Some((home, standing))))
    }

    /// Refuses a caller who does not speak for the home of a session. Of a session that is not there nobody is refused:
    /// what follows says that it is not.
    pub(super) fn of_session(
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        caller: &Caller,
        own: LedgerId,
        session: SessionId,
    ) -> Result<Self, Problem> {
        match tx.session(session)? {
            Some(record) => Self::of_home(here, tx, caller, own, record.home),
            None => Ok(Self(None)),
        }
    }

    /// Writes into the audit that the caller registered the home, if it did: as the last step of the transaction.
    pub(super) fn note(
        self,
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        caller: &Caller,
    ) -> Result<(), LedgerError> {
        match self.0 {
            Some((home, standing)) => standing.note(here, tx, caller, home),
            None => Ok(()),
        }
    }
}
