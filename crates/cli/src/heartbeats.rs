//! Heartbeats of the user's configuration: tables `[heartbeat.NAME]`.
//!
//! They say alone what is run; what a repository's file says of them is left out. A program that answers go to is named
//! here and nowhere else.

use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat::{Definition, Form, Target};
use siglum_gateway::Configured;

use crate::config::{self, HEARTBEATS};
use crate::error::CommandError;

/// Reads them. One that breaks a rule is an error: what is not run is not to be missed.
pub fn configured() -> Result<Vec<Configured>, CommandError> {
    let Some(text) = config::user_text()? else {
        return Ok(Vec::new());
    };
    let path = config::user_file();
    read(&text).map_err(|wrong| CommandError::failed(format!("{}: {wrong}", path.display())))
}

fn read(text: &str) -> Result<Vec<Configured>, String> {
    let mut table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| e.message().to_owned())?;
    let Some(all) = table.remove(HEARTBEATS) else {
        return Ok(Vec::new());
    };
    let toml::Value::Table(all) = all else {
        return Err(format!(
            "`{HEARTBEATS}` must have a table for each heartbeat, such as [heartbeat.triage]"
        ));
    };
    all.into_iter()
        .map(|(name, value)| one(&name, value))
        .collect()
}

fn one(name: &str, value: toml::Value) -> Result<Configured, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("[heartbeat.{name}] {why}");
    let toml::Value::Table(mut table) = value else {
        return Err(wrong(&"must be a table"));
    };
    let command: Vec<String> = match table.remove("command") {
        None => Vec::new(),
        Some(list) => list.try_into().map_err(|_| {
            wrong(&"command must be a list of strings: a program and its arguments")
        })?,
    };
    let form: Form = toml::Value::Table(table)
        .try_into()
        .map_err(|e: toml::de::Error| wrong(&e.message()))?;
    let known = HeartbeatName::new(name).map_err(|e| wrong(&e.rule))?;
    let definition = Definition::parse(known, form).map_err(|e| wrong(&e))?;
    match (definition.target == Target::Command, command.first()) {
        (true, None) => Err(wrong(
            &"command is required for the target `command`: a program and its arguments",
        )),
        (false, Some(_)) => Err(wrong(&"command is only allowed with the target `command`")),
        _ => Ok(Configured {
            definition,
            command,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match read(text) {
            Ok(all) => all
                .iter()
                .map(|c| {
                    format!(
                        "{} {} {:?}",
                        c.definition.name,
                        c.definition.target.as_str(),
                        c.command
                    )
                })
                .collect::<Vec<_>>()
                .join("; "),
            Err(wrong) => wrong,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn heartbeats_are_tables_and_a_command_is_a_list() {
        check("record = \"true\"", "");
        let base = "[heartbeat.a]\nevery = \"30m\"\nagent = \"claude-code\"\nprompt = \"Look.\"\n";
        check(base, "a log []");
        check(
            &format!("{base}links = {{ issue_number = 7, labels = {{ area = \"auth\" }} }}\n"),
            "a log []",
        );
        check(
            &format!("{base}target = \"command\"\ncommand = [\"notify\", \"-u\"]\n"),
            "a command [\"notify\", \"-u\"]",
        );
        check(
            &format!("{base}target = \"command\"\n"),
            "[heartbeat.a] command is required for the target `command`: a program and its arguments",
        );
        check(
            &format!("{base}command = [\"notify\"]\n"),
            "[heartbeat.a] command is only allowed with the target `command`",
        );
        check(
            &format!("{base}command = \"rm -rf x\"\n"),
            "[heartbeat.a] command must be a list of strings: a program and its arguments",
        );
        check(
            &format!("{base}wall = \"0s\"\n"),
            "[heartbeat.a] wall: a duration such as 10m, 2h or 30d, within its bounds",
        );
        check(
            "heartbeat = 1",
            "`heartbeat` must have a table for each heartbeat, such as [heartbeat.triage]",
        );
        check(
            "[heartbeat.A]\nevery = \"1m\"",
            "[heartbeat.A] 1 to 64 of the characters a-z 0-9 . _ - that begin with a letter or a digit",
        );
        assert!(
            read(&format!("{base}colour = \"red\"\n"))
                .unwrap_err()
                .contains("colour")
        );
    }
}
