//! Histories: what several drivers of the same sessions asked for and were told, held against what the ledger holds at
//! the end and against one model of a session, in which everything happens one after the other.
//!
//! [`history`] reads what `played-driver` notes under load, [`authority`] what is stored at the end, and [`check`] says
//! what cannot be. [`broken`] shows with histories made by hand that it finds what it is there for; [`load`] runs
//! drivers, and kills, stops and cuts them off.
//!
//! `SIGLUM_SECONDS` says how long the drivers run (15), `SIGLUM_SEED` repeats the plan of a run. `cargo xtask test` ends
//! what takes five minutes; a run of that length is
//! `SIGLUM_SECONDS=300 cargo test -p siglum-tests --test it histories::load -- --nocapture --test-threads=1`.

mod authority;
mod broken;
mod check;
mod handover;
mod history;
mod load;
