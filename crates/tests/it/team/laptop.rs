//! A laptop: a home with a ledger of its own, clones of the shared repositories, an agent that works in them, and a person
//! who does, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::receipts::Receipts;
use super::{FORGE, REPOSITORIES, Team, pause};
use crate::harness::{Agent, Dice, Repo, Terminal, World, until_within};

/// How long an agent thinks before a call, and how long a person waits between prompts, in milliseconds.
const THINKING: Range<u64> = 100..800;
const BETWEEN_TURNS: Range<u64> = 2_000..8_000;
/// How long it may take until all that was recorded is sent.
const PATIENCE: Duration = Duration::from_secs(180);

/// What is answered about a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The session that made it, else `human` or `unknown`.
    pub(super) committer: String,
    pub(super) verdict: String,
}

/// The laptop.
pub(super) struct Laptop<'w> {
    world: &'w World,
    pub(super) number: usize,
    pub(super) clones: Vec<Repo<'w>>,
    /// Gone home when this is empty.
    person: Option<Terminal>,
    dice: Dice,
    /// How many sessions it began, and how many lines were written.
    sessions: u32,
    lines: u32,
}

impl<'w> Laptop<'w> {
    /// Somebody gets a laptop, clones, switches Siglum on, and names the gateway and the server of traces.
    pub(super) fn set_up(team: &Team, world: &'w World, number: usize, token: &str) -> Self {
        team.show_origin(world);
        let mut clones = Vec::new();
        for name in &REPOSITORIES[..1 + number % 2] {
            let script = format!(
                "git clone -q {FORGE}/{name}.git && cd {name} && git switch -q -c laptop-{number}"
            );
            world.sh(&world.root, &script).ok();
            let repo = world.at(&world.root.join(name));
            repo.siglum(&["init", "--yes"]).ok();
            clones.push(repo);
        }
        let file = world.root.join("token");
        fs::write(&file, token).unwrap();
        let (file, gateway) = (file.to_str().unwrap(), team.balancer.url());
        let all = "--all-repositories";
        let traces = ["otel", "add", "collector", &team.collector, all];
        clones[0].siglum(&traces).ok();
        let sync = [
            "sync",
            "--to",
            &gateway,
            "--name",
            "team",
            "--token-file",
            file,
            all,
        ];
        clones[0].siglum(&sync).ok();
        let mut person = Terminal::open(&clones[0]);
        person.run("export GIT_COMMITTER_NAME=human GIT_AUTHOR_NAME=human");
        Self {
            world,
            number,
            clones,
            person: Some(person),
            dice: team.options.dice("laptops", number),
            sessions: 0,
            lines: 0,
        }
    }

    /// One session after the other.
    pub(super) fn work(&mut self, team: &Team, until: Instant) {
        while Instant::now() < until {
            self.session(team, until);
        }
    }

    fn session(&mut self, team: &Team, until: Instant) {
        let at = self.dice.index(self.clones.len());
        let repo = self.clones[at].clone();
        self.sessions += 1;
        let native = format!("laptop-{}-{}", self.number, self.sessions);
        let mut agent = Agent::start(&repo, &native);
        for turn in 0..=self.dice.roll(4) {
            if turn > 0 {
                agent.prompt(&format!("Go on with part {turn}."));
            }
            self.turn(team, &mut agent, until);
            if self.dice.once_in(3) {
                self.commit_by_hand(team, &repo);
            }
            if self.dice.once_in(2) {
                self.sync(team);
            }
            pause(&mut self.dice, team.options.paced(BETWEEN_TURNS), until);
            if Instant::now() >= until {
                break;
            }
        }
        agent.end("prompt_input_exit");
        agent.quit();
    }

    /// The agent edits, commits and pushes.
    fn turn(&mut self, team: &Team, agent: &mut Agent, until: Instant) {
        let path = format!("part-{}.txt", self.number);
        for _ in 0..2 {
            pause(&mut self.dice, team.options.paced(THINKING), until);
            self.lines += 1;
            let line = format!("{} by {}\n", self.lines, agent.native);
            agent.change(&path, |text| text + &line);
        }
        pause(&mut self.dice, team.options.paced(THINKING), until);
        let subject = format!("{} by {}", self.lines, agent.native);
        let made = agent.sh(&format!("git add -A && git commit -q -m '{subject}'"));
        match made.code {
            Some(0) => team.journal.count("commits by agents"),
            _ => team.journal.problem(format!("git commit: {made:?}")),
        }
        agent.sh("git push -q origin HEAD");
        agent.stop();
    }

    /// The person edits, commits and pushes.
    fn commit_by_hand(&mut self, team: &Team, repo: &Repo<'_>) {
        let Some(person) = &mut self.person else {
            return;
        };
        self.lines += 1;
        let path = repo.dir.join(format!("notes-{}.txt", self.number));
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, format!("{text}{} by human\n", self.lines)).unwrap();
        let typed = format!(
            "cd '{}' && git add -A && git commit -q -m '{} by hand' && git push -q origin HEAD",
            repo.dir.display(),
            self.lines
        );
        match person.type_in(&typed) {
            (code, _) if code == "0" => team.journal.count("commits by people"),
            (_, shown) => team.journal.problem(format!("git commit by hand: {shown}")),
        }
    }

    /// Sends what the gateway lacks, and says whether it has everything. What was sealed before it began is acknowledged
    /// then.
    fn sync(&self, team: &Team) -> bool {
        let sealed = self.receipts();
        let ran = self.clones[0].siglum(&["sync", "--json"]);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        let remains = &answer["data"]["destinations"][0]["remains"];
        if ran.code != Some(0) || remains["receipts"] != 0 {
            team.journal.count("syncs that were not done");
            return false;
        }
        team.journal.count("syncs");
        team.journal.acknowledge(sealed);
        remains["statements"] == 0 && remains["documents"] == 0
    }

    /// The person goes home, and what is left is sealed, pushed and sent.
    pub(super) fn finish(&mut self, team: &Team) {
        self.person = None;
        until_within(PATIENCE, "the worker has left", || {
            self.world.processes().is_empty()
        });
        for repo in &self.clones {
            repo.sh("git push -q origin HEAD").ok();
        }
        until_within(PATIENCE, "the gateway has everything", || {
            self.settle();
            self.sync(team)
        });
    }

    /// Everything that can wait is done.
    pub(super) fn settle(&self) {
        self.clones[0].siglum(&["worker", "--once"]).ok();
    }

    /// Pairs of texts that a query of its ledger gives.
    fn pairs(&self, sql: &str) -> BTreeSet<(String, String)> {
        let store = self.world.store();
        let mut query = store.prepare(sql).unwrap();
        let rows = query.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// What its ledger has sealed.
    pub(super) fn receipts(&self) -> Receipts {
        let sql = "SELECT 'ses_' || lower(hex(session)), number || ' ' || digest FROM receipts";
        let rows = self.pairs(sql).into_iter();
        rows.map(|(session, receipt)| {
            let (number, digest) = receipt.split_once(' ').unwrap();
            ((session, number.parse().unwrap()), digest.to_owned())
        })
        .collect()
    }

    /// What agents called their sessions, by the session.
    pub(super) fn natives(&self) -> BTreeMap<String, String> {
        let sql = "SELECT 'ses_' || lower(hex(session)), native FROM aliases";
        self.pairs(sql).into_iter().collect()
    }

    /// The conversations of which something is sealed.
    pub(super) fn conversations(&self) -> BTreeSet<String> {
        let sql = "SELECT s.conversation_id, 'ses_' || lower(hex(s.id)) FROM sessions s \
                   WHERE EXISTS (SELECT 1 FROM receipts r WHERE r.session = s.id)";
        self.pairs(sql).into_iter().map(|(name, _)| name).collect()
    }

    /// What it answers about the newest commits of a range: by itself, and by the gateway about all others. What the
    /// gateway answered before is asked again.
    pub(super) fn answers(
        &self,
        repo: &Repo<'_>,
        range: &str,
        most: &str,
    ) -> BTreeMap<String, Answer> {
        let _ = fs::remove_dir_all(self.world.siglum_home().join("answers"));
        let log = self.world.json(&repo.dir, &["log", "-n", most, range]);
        let commits = log["items"].as_array().unwrap().iter();
        commits
            .map(|commit| {
                let committer = &commit["committer"];
                let id = commit["commit"].as_str().unwrap().to_owned();
                (id, Answer::read(committer, &committer["verdict"]))
            })
            .collect()
    }
}

impl Answer {
    /// That of whoever has no record.
    pub(super) fn unknown() -> Self {
        Self {
            committer: "unknown".to_owned(),
            verdict: "unknown".to_owned(),
        }
    }

    pub(super) fn read(committer: &Value, verdict: &Value) -> Self {
        let session = committer["session"].as_str();
        let committer = session.or(committer["kind"].as_str()).unwrap();
        Self {
            committer: committer.to_owned(),
            verdict: verdict.as_str().unwrap().to_owned(),
        }
    }
}
