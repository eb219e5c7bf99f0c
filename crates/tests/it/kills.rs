//! A day of work in which hooks, the worker and git are killed at random, then the ledger against
//! what really happened.
//!
//! `SIGLUM_KILLS` says how many kills (100), `SIGLUM_SEED` repeats a day.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Agent, Repo, World, kill, until};

/// A small generator of numbers that look random (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The processes of this world that may be killed, with what they are.
fn victims(world: &World) -> Vec<(u32, String)> {
    let named = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let name = name.trim().to_owned();
        let ours = ["siglum", "git"].contains(&name.as_str())
            || ["prepare-commit", "commit-msg", "post-"]
                .iter()
                .any(|hook| name.starts_with(hook));
        ours.then_some((pid, name))
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let candidates: Vec<(u32, String)> = pids.filter_map(named).collect();
    let mark = world.root.to_str().unwrap().as_bytes();
    let here = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark)
    };
    candidates
        .into_iter()
        .filter(|(pid, _)| here(*pid))
        .collect()
}

fn is_worker(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.ends_with(b"\0worker\0")
}

/// Does something, and kills one process at a random moment meanwhile. Gives what was killed.
fn with_a_kill(world: &World, dice: &mut Dice, work: impl FnOnce()) -> Option<String> {
    let (delay, choice) = (
        Duration::from_micros(dice.roll(120_000)),
        dice.roll(1 << 20),
    );
    let done = AtomicBool::new(false);
    let killed = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let start = Instant::now();
            while !done.load(Ordering::Relaxed) {
                if start.elapsed() < delay {
                    thread::sleep(Duration::from_micros(200));
                    continue;
                }
                let found = victims(world);
                if !found.is_empty() {
                    let (pid, name) = &found[usize::try_from(choice).unwrap() % found.len()];
                    let name = if is_worker(*pid) { "worker" } else { name };
                    kill(*pid);
                    return Some(name.to_owned());
                }
            }
            None
        });
        work();
        done.store(true, Ordering::Relaxed);
        killer.join().unwrap()
    });
    until("what was left behind is done", || {
        victims(world).iter().all(|(pid, _)| is_worker(*pid))
    });
    killed
}

/// What a person does after a crash of git.
fn tidy(repo: &Repo<'_>) {
    repo.sh(
        "find \"$(git rev-parse --git-common-dir)\" -name '*.lock' -delete; \
             git rebase --abort 2>/dev/null || git rebase --quit 2>/dev/null; git reset -q --hard",
    )
    .ok();
}

/// The day so far.
struct Day<'w> {
    world: &'w World,
    trees: Vec<Repo<'w>>,
    agents: Vec<Agent>,
    /// What each killed process was, and how often.
    killed: BTreeMap<String, u64>,
    /// Subjects of commits that were made while nothing was killed.
    undisturbed: Vec<String>,
    number: u32,
}

impl Day<'_> {
    /// Somebody commits in one of the checkouts. The subject says who it was.
    fn step(&mut self, dice: &mut Dice) {
        self.number += 1;
        let at = usize::try_from(dice.roll(2)).unwrap();
        let repo = self.trees[at].clone();
        let agent = &mut self.agents[at];
        let by_agent = dice.roll(5) > 0;
        let who = if by_agent {
            agent.native.clone()
        } else {
            "nobody".to_owned()
        };
        let subject = format!("{} by {who}", self.number);
        let editor = format!("GIT_EDITOR='sed -i \"1i{subject}\"' git commit -q");
        let last = repo.git(&["log", "-1", "--format=%s"]);
        let command = match dice.roll(8) {
            0 => format!("git add -A && {editor}"),
            1 if last.ends_with(&format!("by {who}")) => {
                format!("git add -A && git commit -q --amend -m '{subject}'")
            }
            2 if last.ends_with(&format!("by {who}")) => {
                "git add -A && git commit -q --amend --no-edit".to_owned()
            }
            3 if self.number > 10 => "git rebase -q --force-rebase HEAD~2".to_owned(),
            _ => format!("git add -A && git commit -q -m '{subject}'"),
        };
        let rebases = command.contains("rebase");
        let rewrites = rebases || command.contains("--amend");
        let file = format!("file-{}", dice.roll(4));
        let content = format!("{}\n", self.number);
        let work = || {
            if by_agent {
                agent.prompt(&subject);
                if !rebases {
                    agent.write(&file, &content);
                }
                agent.sh(&command);
                agent.stop();
            } else {
                if !rebases {
                    fs::write(repo.dir.join(&file), &content).unwrap();
                }
                repo.sh(&command);
            }
        };
        let killed = with_a_kill(self.world, dice, work);
        tidy(&repo);
        if killed.is_some() && rewrites {
            // What was made undisturbed has another id now, and its making was disturbed.
            let recent = repo.git(&["log", "-3", "--format=%s"]);
            self.undisturbed.retain(|s| recent.lines().all(|r| r != s));
        }
        match killed {
            Some(name) => *self.killed.entry(name).or_default() += 1,
            None if !rebases && by_agent => self.undisturbed.push(subject),
            None => {}
        }
    }

    /// Nothing that a hook acknowledged is lost, nothing is there twice.
    fn check_log(&self) {
        let store = self.world.store();
        let count = |sql: &str, key: &str| -> i64 {
            store.query_row(sql, [key], |row| row.get(0)).unwrap()
        };
        for agent in &self.agents {
            for key in &agent.acknowledged {
                let rows = count(
                    "SELECT count(*) FROM observations WHERE source = 'hook' AND key = ?1",
                    key,
                );
                assert_eq!(rows, 1, "{key} of {}", agent.native);
            }
            let written = agent
                .acknowledged
                .iter()
                .filter_map(|key| key.strip_prefix("post:"));
            for call in written {
                let both = agent.acknowledged.contains(&format!("pre:{call}"));
                let edits = count(
                    "SELECT count(*) FROM edits WHERE event = ?1",
                    &format!("tool:{call}"),
                );
                let tool = count(
                    "SELECT count(*) FROM observations WHERE kind = 'file_seen' AND event = ?1",
                    &format!("tool:{call}"),
                );
                assert!(
                    !both || tool == 0 || edits == 1,
                    "{call}: {tool} sightings, {edits} edits"
                );
            }
        }
        assert_eq!(self.world.count("SELECT count(*) FROM sessions"), 2);
        let doubled = "SELECT count(*) FROM (SELECT 1 FROM checkpoints WHERE kind = 'commit' \
                       GROUP BY repository, \"commit\" HAVING count(*) > 1)";
        assert_eq!(self.world.count(doubled), 0, "commits with two checkpoints");
        assert_eq!(self.world.spooled(), 0);
    }

    /// Every trailer that git has names a checkpoint of who made the commit.
    fn check_trailers(&self) -> usize {
        let format =
            "--format=%H%x09%s%x09%(trailers:key=Siglum-Checkpoint,valueonly,separator=%x20)";
        let list = self.trees[0].git(&["log", "--all", "--reflog", format]);
        let store = self.world.store();
        let mut checked = 0;
        for line in list.lines() {
            let [commit, subject, trailers] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let (_, who) = subject.split_once(" by ").unwrap_or(("", "nobody"));
            for trailer in trailers.split_whitespace() {
                let id = trailer.strip_prefix("chk_").unwrap().to_uppercase();
                let sql = "SELECT group_concat(a.native) FROM checkpoints c LEFT JOIN pins p ON p.checkpoint = c.id \
                           LEFT JOIN aliases a ON a.session = p.session WHERE hex(c.id) = ?1 GROUP BY c.id";
                let natives = store.query_row(sql, [&id], |row| row.get::<_, Option<String>>(0));
                let natives = natives.unwrap_or_else(|_| {
                    let intent = "SELECT state || ' ' || coalesce(\"commit\", '') FROM intents WHERE hex(checkpoint) = ?1";
                    let intent = store.query_row(intent, [&id], |row| row.get::<_, String>(0));
                    let known = "SELECT seen_by || ' ' || hex(checkpoint) || ' ' || coalesce(hex(intent), '') FROM commits WHERE \"commit\" = ?1";
                    let known = store.query_row(known, [commit], |row| row.get::<_, String>(0));
                    panic!("{commit} {subject}: {trailer} dangles; intent {intent:?}, commit {known:?}")
                });
                if let Some(natives) = natives {
                    assert_eq!(natives, who, "{commit} {subject}");
                }
                checked += 1;
            }
        }
        checked
    }

    /// No statement is false; those of undisturbed commits are certain.
    fn check_statements(&self) -> BTreeMap<String, u64> {
        let mut verdicts = BTreeMap::new();
        for repo in &self.trees {
            for commit in repo.commits("base..HEAD") {
                let subject = repo.git(&["log", "-1", "--format=%s", &commit]);
                let (_, who) = subject.split_once(" by ").unwrap();
                let why = repo.why(&commit);
                let said = why.committer();
                let (name, verdict) = said.split_once(' ').unwrap();
                assert!(name == who || name == "unknown", "{subject}: {why}");
                assert!(
                    name != "unknown" || verdict == "unknown",
                    "{subject}: {why}"
                );
                if self.undisturbed.contains(&subject) {
                    assert_eq!(verdict, "certain", "{subject}: {why}");
                }
                for author in why.authors().keys() {
                    let wrote =
                        author == "unknown" || self.agents.iter().any(|a| a.native == *author);
                    assert!(wrote, "{subject}: {why}");
                }
                let of = if who == "nobody" { "nobody" } else { "agents" };
                *verdicts.entry(format!("{of}: {verdict}")).or_default() += 1;
            }
        }
        verdicts
    }
}

#[test]
fn a_day_of_random_kills_loses_nothing_and_says_nothing_false() {
    let seed = number("SIGLUM_SEED").unwrap_or_else(|| {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        u64::try_from(now.as_nanos() % u128::from(u64::MAX)).unwrap() | 1
    });
    let wanted = number("SIGLUM_KILLS").unwrap_or(100);
    eprintln!("SIGLUM_SEED={seed} SIGLUM_KILLS={wanted}");
    let mut dice = Dice(seed);
    let world = World::new();
    let repo = world.repo();
    repo.git(&["tag", "base"]);
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.beside("../side");
    let mut agents = vec![Agent::start(&repo, "left"), Agent::start(&side, "right")];
    agents.iter_mut().for_each(|agent| agent.mortal = true);
    let mut day = Day {
        world: &world,
        trees: vec![repo, side],
        agents,
        killed: BTreeMap::new(),
        undisturbed: Vec::new(),
        number: 0,
    };
    while day.killed.values().sum::<u64>() < wanted {
        day.step(&mut dice);
        assert!(
            u64::from(day.number) < 20 + 10 * wanted,
            "too few kills: {:?}",
            day.killed
        );
    }
    for repo in &day.trees {
        repo.why("HEAD");
    }
    let trailers = day.check_trailers();
    let verdicts = day.check_statements();
    day.check_log();
    eprintln!(
        "{} steps, killed {:?}, {trailers} trailers, verdicts {verdicts:?}",
        day.number, day.killed
    );
}
