//! `cargo xtask bench`: the bounds of speed and size, measured side by side in one run.
//!
//! Every row is measured against something of the same machine and the same minute: an empty
//! process, a sync of this disk, git with hooks that do nothing. The ratio counts. The program under
//! test is built as packages are, called as users and agents call it; the libraries are used only to
//! fill ledgers with old sessions and to read a transcript in a process of its own.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a contributor's tool starts programs, reads its environment and the clock, and prints"
)]

mod args;
mod clock;
mod contest;
mod corpus;
mod driven;
mod fill;
mod filler;
mod gateway;
mod home;
mod ingest;
mod machine;
mod payload;
mod repo;
mod report;
mod rows;
mod run;
mod transcript;
mod watched;

use std::path::Path;
use std::process::ExitCode;

use args::{Args, Wish};

/// What a part of the bench gives: an error is told to the person who runs it.
type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let rows: Vec<&str> = rows::ROWS.iter().map(|(name, _)| *name).collect();
    let wish = match Args::parse(std::env::args().skip(1), &rows) {
        Ok(wish) => wish,
        Err(what) => {
            eprintln!("error: {what}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    let done = match wish {
        Wish::Help => {
            println!("{}", args::HELP);
            Ok(true)
        }
        Wish::Import(home) => rows::import::in_this_process(&home).map(|()| true),
        Wish::Drive(dir, round) => rows::reopen::drive(&dir, &round).map(|()| true),
        Wish::Reopen(dir) => rows::reopen::reopen(&dir).map(|()| true),
        Wish::Load => gateway::load::client().map(|()| true),
        Wish::Spans => ingest::client::client().map(|()| true),
        Wish::Bench(args) => bench(&args),
        Wish::Corpus(dir, args) => write_corpus(&dir, &args).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a corpus into a directory, and says what is in it.
fn write_corpus(dir: &Path, args: &Args) -> Fallible<()> {
    let repo = dir.join("repo");
    let corpus = corpus::write(dir, &repo, corpus::Size::of_args(args))?;
    let megabytes = corpus.bytes / 1_000_000;
    let (sessions, files, needles) = (corpus.sessions, corpus.files, corpus.needles.len());
    println!("{sessions} sessions in {files} files, {megabytes} MB, {needles} needles:");
    for planted in &corpus.needles {
        let (agent, query) = (planted.agent, &planted.needle.query);
        println!("{agent} {} {query}", planted.session);
    }
    Ok(())
}

/// Runs the rows and tells whether every bound was kept, or need not be.
fn bench(args: &Args) -> Fallible<bool> {
    let run = run::Run::new(args)?;
    let machine = machine::measure(&run)?;
    let mut report = report::Report::new(args, machine);
    for (name, row) in rows::ROWS {
        if args.wants(name) {
            eprintln!("{name} …");
            report.take(name, row(&run)?);
        }
    }
    report.finish();
    Ok(report.kept() || args.report)
}
