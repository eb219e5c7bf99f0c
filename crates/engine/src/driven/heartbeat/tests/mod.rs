//! Heartbeats in played time.

mod day;
mod definitions;
mod firing;
mod keeping;
mod schedules;
mod stage;
