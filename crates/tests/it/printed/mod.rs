//! What people read: the output of every command, at a terminal of 80 columns and at one of 160.

mod answers;
mod care;
mod deliveries;
mod driven;
mod gateways;
mod pipelines;
mod sessions;
mod setup;

use crate::costs::spend;
use crate::harness::{Agent, Repo, World, until};
use crate::hostile_text::known_commands;

/// Asks in a repository in which one session made a commit, cost something and is linked, and something else made another
/// commit.
struct Asking<'a> {
    repo: Repo<'a>,
    /// What stands for a name in braces.
    names: Vec<(&'static str, String)>,
    /// It goes on, so that what is said of it does not depend on when it ended.
    agent: Option<Agent>,
}

impl<'a> Asking<'a> {
    fn begin(world: &'a World) -> Self {
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "wide");
        agent.prompt(
            "Please write down all that is known of the work, and commit it when it is done",
        );
        let lines: String = (1..20)
            .map(|n| format!("What is known of item {n}\n"))
            .collect();
        agent.write("notes.md", &lines);
        agent
            .sh("git add -A && git commit -q -m 'Write down all that is known of the work that is under way'")
            .ok();
        spend(&repo, &mut agent);
        let sessions = world.json(&repo.dir, &["session", "list"]);
        let session = sessions["items"][0]["id"].as_str().unwrap();
        for link in ["issue=42", "pr=7"] {
            repo.siglum(&["link", "add", session, link]).ok();
        }
        let now = || repo.sh("date +%s").ok();
        let begun = now();
        until("a second begins, git's times have no smaller parts", || {
            now() != begun
        });
        repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'By something that no hook saw'")
            .ok();
        repo.siglum(&["worker", "--once"]).ok();
        Self {
            names: vec![("{session}", session.to_owned())],
            agent: Some(agent),
            repo,
        }
    }

    /// Asks in a directory as it is.
    fn at(repo: Repo<'a>, names: Vec<(&'static str, String)>) -> Self {
        Self {
            repo,
            names,
            agent: None,
        }
    }

    /// What a command prints at a terminal that is so wide.
    fn ask(&self, command: &str, columns: usize) -> String {
        let program = World::program();
        let named = |command: String, (name, value): &(&str, String)| command.replace(*name, value);
        let command = self.names.iter().fold(command.to_owned(), named);
        let ran = self.repo.sh(&format!(
            "COLUMNS={columns} {} {command}",
            program.display()
        ));
        let text = format!("{}{}", ran.stdout, ran.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    /// What commands print, one after the other, each below its command line.
    fn story(&self, commands: &[&str], columns: usize) -> String {
        let part = |command: &&str| {
            let text = format!("$ siglum {command}\n{}", self.ask(command, columns));
            text.trim_end().to_owned()
        };
        let parts: Vec<String> = commands.iter().map(part).collect();
        parts.join("\n\n")
    }
}

/// What differs from run to run, by what is as wide.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    for (pattern, constant) in FILTERS {
        settings.add_filter(pattern, *constant);
    }
    settings
}

const FILTERS: &[(&str, &str)] = &[
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "01234567-89ab-7cde-8f01-23456789abcd",
    ),
    (
        r"\b(ses|led|cp|aud|chk|tok|trn)_[0-9a-f]{32}\b",
        "${1}_0123456789abcdef0123456789abcdef",
    ),
    (r"toolu_[0-9a-f]{24}\b", "toolu_0123456789abcdef01234567"),
    (r"(siglum_[a-z]+)_[0-9a-f]{64}\b", "${1}_0123456789abcdef"),
    (r"/\S*/repo\b", "/a/repo"),
    (r"/\S*/siglum-it-[0-9A-Za-z]{6}\b", "/a"),
    // A place that is cut, however long it is.
    (r" /\S*…", " /a/repo…"),
    (r"(program +)/\S+", "${1}/a/siglum"),
    (r"/\S+/siglum (init|demo)\b", "/a/siglum ${1}"),
    (r"127\.0\.0\.1:[0-9]{5}\b", "127.0.0.1:12345"),
    (r"(Worker +)[a-z].*", "${1}running"),
    (r"[0-9]  receipts", "5  receipts"),
    (r"\b[1-9] receipts", "5 receipts"),
    // What waits for a projection, and since when.
    (
        r"(ok +)[0-9]( +1) +[0-9]+ ( +0 +0  directory)",
        "${1}5${2}        2 ${3}",
    ),
    (r"(ok +)[0-9] +[0-9]+ ( +0 +0  http)", "${1}5        2 ${2}"),
    (r"its log [0-9.]+ k?B", "its log 0 B"),
    (r"\b[0-9.]+ k?B of transcripts", "868 B of transcripts"),
    (r"\b[0-9]+ kB", "786 kB"),
    (r"\b[0-9]+ ms\b", "2 ms"),
    (r"\b[0-9]+ s behind\b", "2 s behind"),
    (r"\b[0-9]+s +", "1s "),
    (r"\b[0-9]+s\b", "1s"),
    (r"\bgit 2[0-9.]+", "git 2.47.3"),
    (r"\bsiglum [0-9]+\.[0-9.]+", "siglum 0.1.0"),
    (r"\(\w+-\w+, (debug|release)\)", "(x86_64-linux, debug)"),
    (r"(schema +)[0-9]+( in SQLite,|,)", "${1}28${2}"),
    (r"[0-9]+ in PostgreSQL", "28 in PostgreSQL"),
    (
        r"\b[0-9a-f]{64}\b",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    (
        r"\b[0-9a-f]{40}\b",
        "0123456789abcdef0123456789abcdef01234567",
    ),
    (r"\b[0-9a-f]{12}\b", "0123456789ab"),
    (r"\b[0-9a-f]{10}\b", "0123456789"),
    (r"\b[0-9a-f]{8}\b", "01234567"),
    (r"haiku-4-5-[0-9]{8}", "haiku-4-5-20251001"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", "2026-11-26"),
    (r"\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b", "12:34:56"),
    (r"\b[0-9]{2}:[0-9]{2}\b", "12:34"),
    (
        r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T\S+Z\b",
        "2026-11-26T12:34:56Z",
    ),
];

/// The commands whose output has a snapshot below their command lines.
const STORIES: &[&[&str]] = &[
    care::COMMANDS,
    deliveries::COMMANDS,
    driven::COMMANDS,
    gateways::COMMANDS,
    pipelines::COMMANDS,
    sessions::COMMANDS,
    setup::COMMANDS,
];

/// The commands that print nothing for people, whatever the width.
const WITHOUT: &[(&str, &str)] = &[
    ("audit export", "JSON Lines for programs"),
    ("completions", "a script for a shell"),
    ("man", "a page in roff"),
    ("mcp", "a protocol"),
    ("pipeline export", "a document in JSON"),
];

#[test]
fn every_command_has_a_snapshot() {
    let world = World::new();
    let mut known = Vec::new();
    known_commands(&world.at(&world.root), &[], &mut known);
    assert!(known.len() > 70, "{known:?}");
    let answers = include_str!("answers.rs").split("ask(\"").skip(1);
    let answers = answers.filter_map(|rest| rest.split('"').next());
    let stories = STORIES.iter().flat_map(|story| story.iter().copied());
    let pinned: Vec<&str> = answers.chain(stories).collect();
    let is_pinned = |name: &str| {
        let mut rests = pinned
            .iter()
            .filter_map(|command| command.strip_prefix(name));
        rests.any(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    for (name, reason) in WITHOUT {
        let is_known = known.iter().any(|known| known == name);
        assert!(
            is_known && !is_pinned(name),
            "no exception: {name}, {reason}"
        );
    }
    known.retain(|name| !is_pinned(name) && WITHOUT.iter().all(|(without, _)| without != name));
    assert!(
        known.is_empty(),
        "no snapshot has what these print: {known:?}"
    );
}
