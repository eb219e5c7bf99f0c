//! Work in a transaction that may refuse.

use crate::error::LedgerError;
use crate::transaction::{Durability, Ledger, Transaction, read, write};

/// How work in a transaction fails: by an error of the store, or by a refusal of its own.
pub trait Refusal: From<LedgerError> {
    /// The error of the store, which may be answered by running the work again.
    ///
    /// # Errors
    /// The refusal itself.
    fn into_store(self) -> Result<LedgerError, Self>;
}

/// [`write()`] of work that may refuse: then nothing was written, and the refusal is the answer.
///
/// # Errors
/// Those of `work`, or of the store.
pub fn attempt<T, E: Refusal>(
    ledger: &mut dyn Ledger,
    durability: Durability,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, E>,
) -> Result<T, E> {
    let mut refusal = None;
    let done = write(ledger, durability, |tx| {
        refusal = None;
        work(tx).map_err(|error| keep_refusal(&mut refusal, error))
    });
    refusal.map_or_else(|| Ok(done?), Err)
}

/// [`read`] of work that may refuse.
///
/// # Errors
/// Those of `work`, or of the store.
pub fn attempt_read<T, E: Refusal>(
    ledger: &mut dyn Ledger,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, E>,
) -> Result<T, E> {
    let mut refusal = None;
    let done = read(ledger, |tx| {
        refusal = None;
        work(tx).map_err(|error| keep_refusal(&mut refusal, error))
    });
    refusal.map_or_else(|| Ok(done?), Err)
}

/// Keeps a refusal, and gives the store an error that ends the transaction.
fn keep_refusal<E: Refusal>(refusal: &mut Option<E>, error: E) -> LedgerError {
    error.into_store().unwrap_or_else(|refused| {
        *refusal = Some(refused);
        LedgerError::Refused
    })
}
