//! `siglum help`: the commands in groups, and the help of each.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory as _};

use crate::commands::cli::Cli;
use crate::ui;

/// Show help for a command, or list all commands
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List all commands
    siglum help --all

  Show the help of a subcommand
    siglum help token create")]
pub struct Args {
    /// List all commands
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// Command, with its subcommand
    command: Vec<OsString>,
}

/// The commands that serve one purpose: those that a newcomer is shown, and the others.
struct Group {
    title: &'static str,
    first: &'static [&'static str],
    others: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group {
        title: "Ask",
        first: &["why", "log", "show", "search", "cost", "status"],
        others: &[
            "files",
            "tail",
            "statusline",
            "check",
            "session",
            "checkpoint",
            "context",
        ],
    },
    Group {
        title: "Set up",
        first: &["init"],
        others: &[
            "uninstall",
            "demo",
            "agents",
            "import",
            "relocate",
            "config",
            "completions",
            "man",
            "version",
            "upgrade",
            "help",
        ],
    },
    Group {
        title: "Launch and link",
        first: &["run", "resume", "link"],
        others: &["record", "adopt", "heartbeat", "pipeline", "mcp"],
    },
    Group {
        title: "Work as a team",
        first: &["sync"],
        others: &["login", "logout", "serve", "token", "projection", "otel"],
    },
    Group {
        title: "Care for the ledger",
        first: &["doctor"],
        others: &["verify", "backup", "restore", "rebuild", "forget", "audit"],
    },
];

/// The command line, with the commands of its help in groups.
pub fn grouped(all: bool) -> Command {
    let command = Cli::command();
    let template = template(&command, all);
    command.help_template(template)
}

fn template(command: &Command, all: bool) -> StyledStr {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let names = GROUPS
        .iter()
        .flat_map(|group| group.first.iter().chain(group.others));
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for group in GROUPS {
        text += &format!("{header}{}:{header:#}\n", group.title);
        for name in group
            .first
            .iter()
            .chain(group.others.iter().filter(|_| all))
        {
            // A program without the gateway has fewer.
            let Some(about) = command.find_subcommand(name).and_then(Command::get_about) else {
                continue;
            };
            text += &format!("  {literal}{name:width$}{literal:#}  {about}\n");
        }
        text.push('\n');
    }
    if !all {
        text += &format!("List all commands with {literal}siglum help --all{literal:#}.\n\n");
    }
    text += &format!("{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

pub fn run(args: &Args) -> ExitCode {
    let program = [OsString::from("siglum")].into_iter();
    let words = args
        .command
        .iter()
        .cloned()
        .chain([OsString::from("--help")]);
    match grouped(args.all).try_get_matches_from(program.chain(words)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(help) => {
            ui::report_usage(&help);
            ExitCode::from(u8::try_from(help.exit_code()).unwrap_or(2))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|c| !c.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.first.iter().chain(group.others).copied())
            .collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len());
        assert!(visible.is_subset(&once), "{:?}", visible.difference(&once));
        let first: usize = GROUPS.iter().map(|group| group.first.len()).sum();
        assert!(first <= 12, "{first}");
    }

    /// In 80 columns a line has room for a name and 65 characters.
    #[test]
    fn summaries_fit_their_line_and_examples_are_commands() {
        let mut left = vec![(0, Cli::command())];
        let mut examples = 0;
        while let Some((depth, command)) = left.pop() {
            let name = command.get_name().to_owned();
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let most = if depth == 1 { 65 } else { 72 };
            assert!(depth == 0 || about.len() <= most, "{name}: {about}");
            assert!(!about.ends_with('.'), "{name}: {about}");
            let text = command.get_after_long_help().map(ToString::to_string);
            let lines = text.iter().flat_map(|text| text.lines());
            let own: Vec<&str> = lines.filter_map(|l| l.strip_prefix("    ")).collect();
            let least = if depth == 0 || command.is_hide_set() {
                0
            } else {
                2
            };
            assert!(own.len() >= least, "{name} has {} examples", own.len());
            examples += own.len();
            for example in own {
                let words = shlex::split(example).unwrap();
                if let Err(error) = Cli::command().try_get_matches_from(&words) {
                    panic!("{example}: {error}");
                }
            }
            left.extend(command.get_subcommands().cloned().map(|c| (depth + 1, c)));
        }
        assert!(examples > 100, "{examples}");
    }
}
