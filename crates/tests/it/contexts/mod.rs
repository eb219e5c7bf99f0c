//! Contexts as hosts that run agents meet them: `siglum serve`, asked over HTTP, on each store.
//!
//! Calls of the shapes that OpenClaw makes are replayed from `calls.json` by a played bridge ([`host`]). Names that begin
//! with `s` and two digits are the scenarios of the design's reference. What of them is elsewhere: where alerts go (22)
//! and a day of ticks with retention (24) belong to heartbeats; what stays of it here is that a route's liveness does not
//! depend on who wrote last.

mod apart;
mod commands;
mod faults;
mod host;
mod isolated;
mod kept;
