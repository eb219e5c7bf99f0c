//! Messages as programs elsewhere send them: `siglum serve` with a played agent that speaks the Agent Client Protocol.
//!
//! Each body runs on a file always, and on PostgreSQL where `SIGLUM_TEST_PG` names a server. Names that begin with `t` and
//! two digits are the scenarios of the design's reference on traces; 15 and 16 have their rules in `domain::envelope`.

mod answers;
mod back;
mod crowds;
mod names;
mod owners;
pub(crate) mod played;
mod refusals;
mod streams;
