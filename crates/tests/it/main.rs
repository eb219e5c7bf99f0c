//! Black-box tests: the built program, real git, real processes.
//!
//! Nothing here knows the program from within. [`harness`] has a world of its own for each test, an
//! agent that is played step by step, and a terminal; the other modules are the topics.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests start programs, and stop at the first surprise"
)]

mod acp_history;
mod agent_settings;
mod asking;
mod auditing;
mod authors;
mod back_ends;
mod bursts;
mod chain;
mod check;
mod clients;
mod clones;
mod commands;
mod commit_forms;
mod contexts;
mod costs;
mod editors;
mod faults;
mod finder;
mod foreign_hooks;
mod foreign_spools;
mod forgetting;
mod front_end;
mod fuzzed;
mod gateway;
mod gateway_load;
mod guests;
mod harness;
mod heartbeats;
mod histories;
mod history_forms;
mod hostile_links;
mod hostile_repositories;
mod hostile_text;
mod importing;
mod integrity;
mod kills;
mod launching;
mod mcp;
mod messages;
mod moved_repositories;
mod named_store;
mod narrow;
mod noted_landings;
mod nothing_lost;
mod old_sessions;
mod otel;
mod people;
mod pipelines;
mod places;
mod planted;
mod printed;
mod privacy;
mod projections;
mod reading;
mod real_agents;
mod real_blobs;
mod real_sinks;
mod recording;
mod relocating;
mod removing;
mod resuming;
mod rewritten_commits;
mod runs;
mod searching;
mod secrets;
mod several_repositories;
mod statements;
mod syncing;
mod team;
mod telemetry;
mod telemetry_setup;
mod ten_questions;
mod text_files;
mod traps;
mod upgrades;
mod verdicts;
