//! The rows of the bench, one file each.

mod commits;
mod corpus;
mod cost;
mod edits;
mod gateway;
mod growth;
mod hooks;
pub(crate) mod import;
mod ingest;
mod messages;
mod million;
mod queries;
pub(crate) mod reopen;
mod search;
mod size;
mod turns;

use crate::Fallible;
use crate::report::Line;
use crate::run::Run;

type Row = fn(&Run) -> Fallible<Vec<Line>>;

/// All rows, in the order in which they run.
pub(crate) const ROWS: &[(&str, Row)] = &[
    ("size", size::measure),
    ("hooks", hooks::measure),
    ("edits", edits::measure),
    ("commits", commits::measure),
    ("messages", messages::measure),
    ("queries", queries::measure),
    ("cost", cost::measure),
    ("growth", growth::measure),
    ("import", import::measure),
    ("search", search::measure),
    ("turns", turns::measure),
    ("reopen", reopen::measure),
    ("gateway", gateway::measure),
    ("ingest", ingest::measure),
    ("corpus", corpus::measure),
    ("million", million::measure),
];
