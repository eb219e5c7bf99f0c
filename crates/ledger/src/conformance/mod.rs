//! One suite for every store: what each verb of [`Ledger`](crate::Ledger) must do.
//!
//! A store passes when [`run`] finds nothing. The suite knows a store by its traits alone, so what
//! belongs to one kind of store (its locks, its schema, its files) is tested beside that store. The
//! suite itself is tested with stores that each have one fault.

mod check;
mod checkpoints;
mod commits;
mod entries;
mod folds;
mod forgetting;
mod leases;
mod lists;
mod places;
mod queue;
mod receipts;
mod sample;
mod sessions;
mod statements;
mod survey;
mod transactions;
mod turns;

#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;

pub use check::{Check, Failure, Shelf, checks, run};
