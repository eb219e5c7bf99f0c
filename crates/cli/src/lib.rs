//! All of the program `siglum`, as a library: so it is compiled while what is below it is still being made.
//!
//! A hook is dispatched before anything else is looked at: it is a guest in somebody's commit or
//! turn, starts no parser and no runtime, prints nothing on standard output, and exits 0 whatever
//! happens.

#![expect(
    unreachable_pub,
    reason = "in a program, pub says that a thing is for other modules"
)]

#[cfg(feature = "postgres")]
mod blobs;
mod claim;
mod commands;
mod config;
mod cx;
mod env;
mod error;
mod gateway;
#[cfg(feature = "gateway")]
mod heartbeats;
mod home;
mod hook;
mod install_record;
#[cfg(feature = "gateway")]
mod issuers;
mod job_token;
mod known_ledger;
mod logins;
mod otel_headers;
mod platform;
#[cfg(test)]
mod schema;
mod scope;
mod secret_files;
mod settings_change;
mod store;
mod team;
mod telemetry;
mod text_files;
mod time;
mod ui;

use std::process::ExitCode;

use siglum_platform::clock;

/// Does what the process was started for.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(ps) = env::path("SIGLUM_PS") {
        siglum_platform::ask_ps(ps);
    }
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|first| first == "hook") {
        hook::run(args.collect());
        return ExitCode::SUCCESS;
    }
    commands::cli::run()
}
