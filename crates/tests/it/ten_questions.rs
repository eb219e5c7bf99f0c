//! Ten questions, each answered by one command. The guide shows the answers, and they are what the program prints.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::costs::stop;
use crate::harness::{Agent, Repo, World, until, until_within};

/// The page of the guide: a heading for each question, and a block with the command and its answer.
const PAGE: &str = include_str!("../../../docs/guide/questions.md");
/// Where the page has the repository.
const PLACE: &str = "/home/ann/shop";
/// The sessions, by the ids that their agent gives them.
const TALKED: &str = "5b0c3c1e-3c1f-4b55-9c0d-2f6f4f0b7a10";
const PRICED: &str = "72fe11e7-5f7e-48e2-912f-825550e246d5";
const CHEAPER: &str = "0d9c4c52-6f0e-4f4e-8d7c-3a1f5f3f9b21";

/// A repository in which a session was asked something yesterday, another one wrote a file for issue 42, something that no
/// hook saw made a commit, and a third session is at work.
struct Shop<'w> {
    repo: Repo<'w>,
    /// They live, so that their sessions are open.
    _agents: [Agent; 2],
}

impl<'w> Shop<'w> {
    fn open(world: &'w World) -> Self {
        let repo = world.repo_made_by(
            "git init -q -b main . && git commit -q --allow-empty -m 'Open the shop'",
        );
        talk_yesterday(&repo);
        let mut priced = begin_session(&repo, PRICED, "Write the price list, in cents");
        let prices: String = (1..=50)
            .map(|n| format!("PRICES[{n}] = {}\n", n * 5))
            .collect();
        priced.write("shop/prices.py", &prices);
        commit(
            &mut priced,
            "git add -A && git commit -q -m 'Add the price list'",
        );
        repo.siglum(&["link", "add", PRICED, "issue=42"]).ok();
        let said = ["Write the price list, in cents", "Done."];
        write_transcript(&repo, &priced.transcript(), (PRICED, "now"), said);
        stop(&repo, &mut priced);
        let now = || repo.sh("date +%s").ok();
        let begun = now();
        until("a second begins, git's times have no smaller parts", || {
            now() != begun
        });
        repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'Count the stock'")
            .ok();
        let mut cheaper = begin_session(&repo, CHEAPER, "Make item 7 cheaper");
        fs::write(cheaper.transcript(), "").unwrap();
        cheaper.edit("shop/prices.py", "PRICES[7] = 35", "PRICES[7] = 34");
        commit(&mut cheaper, "git commit -q -a -m 'Take a cent off item 7'");
        until("all is in the search index", || {
            repo.siglum(&["worker", "--once"]).ok();
            let found = world.json(&repo.dir, &["search", "cent"]);
            found["index"]["behind"] == 0
        });
        Self {
            repo,
            _agents: [priced, cheaper],
        }
    }

    /// What a command prints.
    fn ask(&self, command: &str) -> String {
        let program = World::program();
        let ran = self
            .repo
            .sh(&format!("COLUMNS=100 '{}' {command}", program.display()));
        let text = format!("{}{}", ran.stdout, ran.stderr);
        let text = text.replace(self.repo.dir.to_str().unwrap(), PLACE);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    fn commit(&self, revision: &str) -> String {
        self.repo.git(&["rev-parse", "--short=10", revision])
    }
}

/// A session of yesterday that is imported.
fn talk_yesterday(repo: &Repo<'_>) {
    let world = repo.world;
    let dir = world.home().join(".claude/projects/-shop");
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{TALKED}.jsonl"));
    let said = [
        "Where should totals be rounded?",
        "Once, when the cart is added up.",
    ];
    write_transcript(repo, &path, (TALKED, "yesterday 00:00"), said);
    repo.siglum(&["import"]).ok();
}

/// A session that begins with a prompt.
fn begin_session(repo: &Repo<'_>, native: &str, prompt: &str) -> Agent {
    let mut agent = Agent::process(repo, native, &Agent::program());
    agent.hook("SessionStart", json!({ "source": "startup" }));
    agent.prompt(prompt);
    agent
}

/// Runs a command with the shell tool, which commits with the name of a person.
fn commit(agent: &mut Agent, command: &str) {
    let call = agent.shell_call(command);
    agent.hook("PreToolUse", call.clone());
    let ran = agent.bare_sh(&format!(
        "GIT_AUTHOR_NAME=Ann GIT_COMMITTER_NAME=Ann; {command}"
    ));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    agent.shell_returned(call, &ran);
}

/// Writes a prompt and its answer as Claude Code does, of a time that `date` knows.
fn write_transcript(
    repo: &Repo<'_>,
    path: &Path,
    (native, time): (&str, &str),
    [prompt, answer]: [&str; 2],
) {
    let at = repo.sh(&format!("date -u -d '{time}' +%Y-%m-%dT%H:%M:%S.%3NZ"));
    let at = at.ok();
    let line = |kind: &str, message: Value| {
        json!({
            "type": kind, "uuid": format!("{kind}-{native}"), "timestamp": at, "sessionId": native,
            "promptId": format!("{native}-turn-1"), "cwd": repo.dir, "gitBranch": "main",
            "isSidechain": false, "message": message,
        })
    };
    let prompt = json!({ "role": "user", "content": prompt });
    let answer = json!({
        "id": format!("msg_{native}"), "role": "assistant", "model": "claude-haiku-4-5-20251001",
        "content": [{ "type": "text", "text": answer }], "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 1_000, "output_tokens": 100,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
        },
    });
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::File::create(path).unwrap();
    for line in [line("user", prompt), line("assistant", answer)] {
        writeln!(file, "{line}").unwrap();
    }
}

/// Numbers the ids of a text in the order in which they come, and takes the times from it, so that two texts are equal if
/// they differ in these alone.
#[derive(Default)]
struct Numbered(BTreeMap<String, usize>);

impl Numbered {
    fn text(&mut self, text: &str) -> String {
        let words = text.split_inclusive([' ', '\n']);
        words.map(|word| self.word(word)).collect()
    }

    fn word(&mut self, word: &str) -> String {
        let zeros = word.replace(|c: char| c.is_ascii_digit(), "0");
        if zeros.starts_with("0000-00-00") || zeros.starts_with("00:00:00") {
            return zeros;
        }
        let parts = word.split_inclusive(is_between);
        parts.map(|part| self.part(part)).collect()
    }

    fn part(&mut self, part: &str) -> String {
        let id = part.trim_end_matches(is_between);
        if id.len() < 8 || !id.chars().all(|c| c.is_ascii_hexdigit()) {
            return part.to_owned();
        }
        let next = self.0.len();
        let number = *self.0.entry(id.to_owned()).or_insert(next);
        part.replace(id, &format!("#{number}"))
    }
}

const fn is_between(c: char) -> bool {
    !c.is_ascii_alphanumeric()
}

/// The questions of the page, each with its command and the answer.
fn questions() -> Vec<[&'static str; 3]> {
    let sections = PAGE.split("\n## ").skip(1);
    let question = |section: &'static str| {
        let (heading, rest) = section.split_once('\n').unwrap();
        let (_, block) = rest.split_once("```console\n$ siglum ").expect(heading);
        let (block, _) = block.split_once("\n```").expect(heading);
        let (command, answer) = block.split_once('\n').expect(heading);
        [heading, command, answer]
    };
    sections.map(question).collect()
}

#[test]
fn ten_questions_have_one_command_each_and_the_guide_has_its_answer() {
    let world = World::new();
    until_within(Duration::from_mins(2), "a day is not about to end", || {
        world.sh(&world.root, "date -u +%H:%M").ok() != "23:59"
    });
    let shop = Shop::open(&world);
    let (head, unseen) = (shop.commit("HEAD"), shop.commit("HEAD~1"));
    let session = |native: &str| {
        let shown = world.json(&shop.repo.dir, &["show", native]);
        let id = shown["session"]["id"].as_str().unwrap();
        id[id.len() - 8..].to_owned()
    };
    let [talked, priced, cheaper] = [TALKED, PRICED, CHEAPER].map(session);
    let resume = format!("cd {PLACE} && claude --resume {CHEAPER}");
    let prompt = "Prompt      Write the price list, in cents";
    let (gone, new) = ("-PRICES[7] = 35", "+PRICES[7] = 34");
    // Each with two texts that are in the answer, and one that is not.
    let facts: [(&str, [&str; 2], &str); 10] = [
        ("Which agent made HEAD?", [&cheaper, "[certain]"], &priced),
        (
            "Who wrote line 42, and for which prompt?",
            [&priced, prompt],
            &cheaper,
        ),
        (
            "What did my agents do yesterday?",
            [&talked, "Where should totals be rounded?"],
            &priced,
        ),
        (
            "Which sessions touched a file?",
            [&priced, &cheaper],
            &talked,
        ),
        ("Where did I discuss something?", [&talked, TALKED], &priced),
        ("What did issue 42 cost?", [&priced, "$0.0015"], &talked),
        (
            "How do I resume that commit's session?",
            [&resume, CHEAPER],
            PRICED,
        ),
        (
            "Which commits have no record?",
            [&unseen, "unrecorded"],
            &head,
        ),
        ("What runs now?", [&cheaper, "working"], &talked),
        ("What changed in the last turn?", [gone, new], &priced),
    ];
    let page = questions();
    let headings: Vec<&str> = page.iter().map(|[heading, ..]| *heading).collect();
    assert_eq!(headings, facts.map(|(question, ..)| question));
    let (mut on_page, mut printed) = (Numbered::default(), Numbered::default());
    for ([question, command, answer], (_, has, lacks)) in page.into_iter().zip(facts) {
        let shown = shop.ask(command);
        for text in has {
            assert!(shown.contains(text), "{question} {text}: {shown}");
        }
        assert!(!shown.contains(lacks), "{question} {lacks}: {shown}");
        let (expected, numbered) = (on_page.text(answer), printed.text(&shown));
        assert_eq!(
            numbered, expected,
            "{question} The program prints:\n{shown}"
        );
    }
}
