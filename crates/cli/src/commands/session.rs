//! `siglum session`: one file per verb.

pub mod archive;
mod changes;
pub mod end;
pub mod export;
pub mod fork;
pub mod list;
pub mod page;
pub mod recover;
pub mod rename;
pub mod show;

use siglum_domain::AgentName;

use crate::cx::Cx;
use crate::error::CommandError;

/// List, show, name, end, archive, fork and recover sessions
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List the sessions that have not ended
    siglum session list --open

  Show a session with its turns
    siglum session show a1b2c3d4")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    End(end::Args),
    Recover(recover::Args),
    Archive(archive::Args),
    Fork(fork::Args),
    Rename(rename::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::End(args) => end::run(args, cx),
        Command::Recover(args) => recover::run(args, cx),
        Command::Archive(args) => archive::run(args, cx),
        Command::Fork(args) => fork::run(args, cx),
        Command::Rename(args) => rename::run(args, cx),
    }
}

/// Takes the name of an agent.
pub fn agent(text: &str) -> Result<AgentName, String> {
    let recorded = || siglum_agents::AGENTS.iter().map(|a| a.name);
    match AgentName::new(text) {
        Ok(name) if siglum_agents::known(text).is_some() => Ok(name),
        _ => Err(format!(
            "unknown agent; known agents are {}",
            recorded().collect::<Vec<_>>().join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_one_that_is_known() {
        assert!(agent("claude-code").is_ok());
        for text in ["", "claude", "Claude-Code", "../x"] {
            assert!(
                agent(text).is_err_and(|e| e.contains("claude-code")),
                "{text}"
            );
        }
    }
}
