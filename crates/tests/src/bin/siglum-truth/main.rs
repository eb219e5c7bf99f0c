//! The truth bench: commits whose maker is known from outside, and what `siglum why` says of them.
//!
//! Each case is a story: real git in a real repository, real processes and terminals, and agents that
//! are played with the names, variables and payloads of the real ones. What is true is never read from
//! the program that is judged: git keeps who ran it.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a program for tests, which starts programs and stops a case at the first surprise"
)]

mod agent;
mod bench;
mod case;
mod constructions;
mod desk;
mod dice;
mod judge;
mod options;
mod parts;
mod tally;
mod terminal;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use options::{HELP, Options};

fn main() -> ExitCode {
    if parts::play() {
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) if problem.is_empty() => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    bench::watch(Duration::from_secs(300 + options.cases * 2));
    let tally = bench::run(&options);
    if options.json {
        println!("{}", tally.json(options.seed));
    } else {
        println!("{}\n{}", tally.table(), tally.summary());
    }
    if tally.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
