//! `siglum completions`: what a shell needs to complete command lines, and what it is told when it asks.

use std::ffi::OsStr;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use siglum_agents::AGENTS;
use siglum_domain::legible;
use siglum_gitstore::Listing;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{SessionFilter, SqliteLedger, read};

use crate::commands::cli::{self, Cli};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{clock, env, ui};

/// By this variable a shell says that it asks, and what it is.
const VARIABLE: &str = "SIGLUM_COMPLETE";
/// How many sessions are offered, newest first.
const SESSIONS: usize = 50;
/// How many commits are offered, newest first.
const COMMITS: usize = 30;

/// Print a completion script for a shell
///
/// Completes commands and flags, and the agents, sessions and commits of the current repository.
///
/// For bash, write it to ~/.local/share/bash-completion/completions/siglum; for zsh, to a file `_siglum` in a directory
/// of `$fpath`; for fish, to ~/.config/fish/completions/siglum.fish.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Print the script for bash
    siglum completions bash

  Print the script for fish
    siglum completions fish")]
pub struct Args {
    /// Shell
    shell: Shell,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&args.shell.to_string())
        .expect("because the shells that are taken are those that are known");
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "siglum", "siglum", "siglum", &mut script)?;
    cx.ui.block(String::from_utf8_lossy(&script).trim_end())
}

/// Tells a shell that asks, and ends; returns where none does.
pub fn answer() {
    if env::text(VARIABLE).is_some() {
        CompleteEnv::with_factory(|| offering(Cli::command()))
            .var(VARIABLE)
            .complete();
    }
}

/// The commands, with what each argument may be by the words that the help has for it.
fn offering(command: Command) -> Command {
    command.mut_args(offered).mut_subcommands(offering)
}

fn offered(arg: Arg) -> Arg {
    let named = arg.get_value_names().unwrap_or_default().join("|");
    let words: Vec<&str> = named.split(['|', '[']).collect();
    let (sessions, commits) = (words.contains(&"SESSION"), names_commits(&words));
    match (sessions, commits) {
        _ if words.contains(&"AGENT") => arg.add(ArgValueCandidates::new(agents)),
        (true, true) => arg.add(ArgValueCandidates::new(|| {
            let mut all = sessions_here();
            all.extend(commits_here());
            all
        })),
        (true, false) => arg.add(ArgValueCandidates::new(sessions_here)),
        (false, true) if words.contains(&"FILE") => {
            arg.add(ArgValueCompleter::new(commits_and_files))
        }
        (false, true) => arg.add(ArgValueCandidates::new(commits_here)),
        (false, false) => arg,
    }
}

fn names_commits(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| matches!(*word, "COMMIT" | "RANGE" | "REVISION-RANGE"))
}

fn commits_and_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let starts = |c: &CompletionCandidate| {
        let (value, typed) = (c.get_value().as_encoded_bytes(), typed.as_encoded_bytes());
        value.starts_with(typed)
    };
    let mut all = commits_here();
    all.retain(starts);
    all.extend(PathCompleter::any().complete(typed));
    all
}

fn agents() -> Vec<CompletionCandidate> {
    AGENTS.iter().map(|a| candidate(a.name, a.title)).collect()
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(legible::line(help).into_owned().into()))
}

/// The newest sessions of this repository, or of all where none is recorded. The ledger is asked as a hook asks it: at
/// once, and without changing anything.
fn sessions_here() -> Vec<CompletionCandidate> {
    let found = || {
        let cx = cli::bare_cx()?;
        let mut ledger = SqliteLedger::open(&cx.home.ledger(), Open::Hook).ok()?;
        let common_dir = cx.find_repo().map(|repo| repo.place.common_dir);
        let listed = read(&mut ledger, |tx| {
            let here = match &common_dir {
                Some(dir) => tx.repository(dir)?,
                None => None,
            };
            tx.sessions(&SessionFilter {
                repositories: here.map(|r| r.id).into_iter().collect(),
                limit: SESSIONS,
                ..SessionFilter::default()
            })
        });
        let now = clock::now();
        let candidates = listed.ok()?.into_iter().map(|l| {
            let title = l.summary.title.unwrap_or_default();
            let age = ui::ago(l.record.last_at, now);
            let help = format!(
                "{}, {age}  {}",
                l.record.agent_word(),
                ui::one_line(&title, 60)
            );
            candidate(&l.record.id.short(), help.trim_end())
        });
        Some(candidates.collect())
    };
    found().unwrap_or_default()
}

fn commits_here() -> Vec<CompletionCandidate> {
    let found = || {
        let cx = cli::bare_cx()?;
        let newest = Listing {
            limit: COMMITS,
            ..Listing::default()
        };
        let listed = cx.git().list(&newest).ok()?.into_iter();
        Some(
            listed
                .map(|c| candidate(c.commit.short(), &c.subject))
                .collect(),
        )
    };
    found().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_offered_what_its_help_says_that_it_is() {
        let has = |path: &[&str], arg: &str| {
            let root = offering(Cli::command());
            let command = path
                .iter()
                .fold(&root, |c, name| c.find_subcommand(name).unwrap());
            let arg = command.get_arguments().find(|a| a.get_id() == arg).unwrap();
            arg.get::<ArgValueCandidates>().is_some()
        };
        for (path, arg) in [
            (&["check"][..], "range"),
            (&["show"], "name"),
            (&["log"], "agent"),
            (&["log"], "range"),
            (&["cost"], "session"),
            (&["session", "show"], "session"),
            (&["projection", "retry"], "session"),
        ] {
            assert!(has(path, arg), "{path:?} {arg}");
        }
        assert!(!has(&["log"], "limit"));
        let root = offering(Cli::command());
        let why = root.find_subcommand("why").unwrap();
        let arg = why.get_arguments().find(|a| a.get_id() == "commit");
        assert!(arg.unwrap().get::<ArgValueCompleter>().is_some());
    }

    #[test]
    fn every_shell_that_is_taken_is_known() {
        use clap::ValueEnum as _;
        let shells = Shells::builtins();
        for shell in Shell::value_variants() {
            assert!(shells.completer(&shell.to_string()).is_some(), "{shell}");
        }
    }
}
