//! `git commit` by an agent, against `git commit` with as many hooks that do nothing.

mod processor;

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Contest, Outcome, millis, sync_once};
use crate::fill::{Care, fill};
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// What a commit on 20 files may take longer, in milliseconds.
const MORE_MS: f64 = 15.0;
/// What a commit on 20,000 files may take longer, as a factor.
const TIMES_MOST: f64 = 1.5;
/// What old sessions may add: what two medians of the same thing differ by on a busy machine.
const FLAT_SHARE: f64 = 1.1;
const FLAT_MS: f64 = 1.0;

/// A repository in which the agent commits, and the ledger that its hooks write to.
struct Scene {
    name: String,
    home: Home,
    repo: Repo,
    /// None where the hooks do nothing.
    agent: Option<Agent>,
    commits: Cell<usize>,
    _lock: Option<File>,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let many = run.much(10_000, 1_000);
    let small = scenes(run, 20, &[0, 100, 500, many])?;
    let large = scenes(run, 20_000, &[0, many])?;
    let all: Vec<&Scene> = small.iter().chain(&large).collect();
    let times = contest(run, &all, &run.dir("commits-20")?.join("sync"))?;
    check(&small)?;
    check(&large)?;
    let mut lines = Vec::new();
    let plain = times.arm(&small[0].name).median();
    for scene in &small[1..] {
        let median = times.arm(&scene.name).median();
        lines.push(line(scene, &times, plain).bound("≤ + 15 ms", median - plain <= MORE_MS));
    }
    lines.extend(flat(&small, &times));
    let plain = times.arm(&large[0].name).median();
    for scene in &large[1..] {
        let median = times.arm(&scene.name).median();
        lines.push(line(scene, &times, plain).bound("≤ 1.5 ×", median <= TIMES_MOST * plain));
    }
    lines.extend(flat(&large, &times));
    let sync = times.arm("sync");
    lines.push(
        Line::new("one sync in the same rounds", sync.median(), "ms", sync.n()).p95(sync.p95()),
    );
    lines.extend(processor::measure(run)?);
    Ok(lines)
}

fn line(scene: &Scene, times: &Outcome, plain: f64) -> Line {
    let times = times.arm(&scene.name);
    Line::new(
        format!("commit, {}", scene.name),
        times.median(),
        "ms",
        times.n(),
    )
    .p95(times.p95())
    .against("hooks that do nothing", plain)
}

fn flat(scenes: &[Scene], times: &Outcome) -> Option<Line> {
    let [_, first, .., last] = scenes else {
        return None;
    };
    let (none, many) = (
        times.arm(&first.name).median(),
        times.arm(&last.name).median(),
    );
    let kept = many <= (none * FLAT_SHARE).max(none + FLAT_MS);
    let n = times.arm(&last.name).n();
    let line = Line::new(format!("commit, {} against none", last.name), many, "ms", n);
    Some(
        line.against("no sessions", none)
            .bound("no growth (1.1 × or 1 ms)", kept),
    )
}

/// Two repositories with the same history: one with hooks that do nothing, one with ours, whose
/// commits go to ledgers with so many old sessions in turn.
fn scenes(run: &Run, files: usize, sessions: &[usize]) -> Fallible<Vec<Scene>> {
    let dir = run.dir(&format!("commits-{files}"))?;
    let plain = Home::create(&run.program, &dir.join("plain"))?;
    let theirs = Repo::create(&plain, &dir.join("theirs"), files, run.much(10_000, 1_000))?;
    let ours = theirs.copy(&plain, &dir.join("ours"))?;
    let chance = Chance::new(files as u64);
    let mut scenes = vec![Scene {
        name: format!("{files} files, hooks that do nothing"),
        home: plain,
        repo: theirs,
        agent: None,
        commits: Cell::new(0),
        _lock: None,
    }];
    for &sessions in sessions {
        let home = Home::create(&run.program, &dir.join(format!("home-{sessions}")))?;
        home.run(&ours.dir, &["init", "--yes"])?;
        fill(&home, &ours, sessions, Care::Sealed)?;
        let lock = home.without_worker()?;
        let agent = Agent::start(&home, &ours.dir, &chance)?;
        scenes.push(Scene {
            name: format!("{files} files, {sessions} sessions"),
            home,
            repo: ours.clone(),
            agent: Some(agent),
            commits: Cell::new(0),
            _lock: Some(lock),
        });
    }
    scenes[0].repo.do_nothing_in_hooks_of(&ours)?;
    Ok(scenes)
}

fn contest(run: &Run, scenes: &[&Scene], sync: &Path) -> Fallible<Outcome> {
    let chance = Chance::new(5);
    let chance = &chance;
    let mut contest = Contest::new();
    contest.arm("sync", move || sync_once(sync));
    for &scene in scenes {
        contest.arm(scene.name.clone(), move || commit(scene, chance));
    }
    contest.between(|| {
        let ours = scenes.iter().filter(|s| s.agent.is_some());
        ours.into_iter().try_for_each(|s| s.home.maintain())
    });
    contest.run(run.much(60, 12))
}

fn commit(scene: &Scene, chance: &Chance) -> Fallible<f64> {
    let time = commit_once(&scene.home, &scene.repo, scene.agent.as_ref(), chance)?;
    scene.commits.set(scene.commits.get() + 1);
    Ok(time)
}

/// Changes a file and commits it; the time of the commit alone.
pub(super) fn commit_once(
    home: &Home,
    repo: &Repo,
    agent: Option<&Agent>,
    chance: &Chance,
) -> Fallible<f64> {
    let file = &repo.files[chance.below(repo.files.len())];
    std::fs::write(repo.dir.join(file), format!("// {}\n", chance.hex(40)))?;
    repo.git(home, &["add", "--", file])?;
    let mut command = git_of(
        home,
        repo,
        agent,
        &["commit", "-q", "-m", "Change one part"],
    );
    let start = Instant::now();
    let done = command.status()?.success();
    let time = millis(start);
    if done {
        Ok(time)
    } else {
        Err(format!("git commit failed in {}", repo.dir.display()).into())
    }
}

/// Git in the checkout, as the agent starts it, with nothing to read and nobody to listen.
fn git_of(home: &Home, repo: &Repo, agent: Option<&Agent>, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    home.apply(&mut command);
    if let Some(agent) = agent {
        agent.variables(&mut command);
    }
    command
        .current_dir(&repo.dir)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Every commit of the agents must have been recognised, else its time would mean nothing.
fn check(scenes: &[Scene]) -> Fallible<()> {
    let ours = scenes.iter().filter(|s| s.agent.is_some());
    let mut all = 0;
    for scene in ours.clone() {
        scene.home.check()?;
        all += scene.commits.get();
    }
    match ours.last() {
        Some(scene) => all_named(&scene.home, &scene.repo, all),
        None => Ok(()),
    }
}

/// Fails unless each of the last commits has a trailer.
pub(super) fn all_named(home: &Home, repo: &Repo, commits: usize) -> Fallible<()> {
    let count = format!("-{commits}");
    let log = repo.git(home, &["log", &count, "--format=%B"])?;
    let named = log.matches("Siglum-Checkpoint: ").count();
    if named == commits {
        return Ok(());
    }
    let dir = repo.dir.display();
    Err(format!("{dir}: only {named} of {commits} commits got a trailer").into())
}
