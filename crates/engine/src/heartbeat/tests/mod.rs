//! Heartbeats in played time.

mod definitions;
mod schedules;
