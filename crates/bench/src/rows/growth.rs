//! Whether anything grows with old sessions: the same things with more and more of them, side by side.
//!
//! Each size has a ledger and a checkout of its own, with the same history. An agent is at work in
//! each; its own session is as long in all of them.

use std::cell::{Cell, RefCell};
use std::fs::File;

use super::commits::{all_named, commit_once};
use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Contest, Outcome};
use crate::fill::{Care, fill};
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// What two medians of the same thing differ by on a busy machine: this share, or so many ms.
const FLAT_SHARE: f64 = 1.15;
const FLAT_MS: f64 = 0.5;
/// The same for what starts git.
const FLAT_GIT_MS: f64 = 1.0;

/// A thing that is measured.
struct Kind {
    name: &'static str,
    flat_ms: f64,
    work: Work,
}

/// How it is done.
enum Work {
    /// A hook of the agent.
    Hook(fn(&Scene, &Chance) -> Fallible<f64>),
    /// A commit of the agent.
    Commit,
    /// A command of a person.
    Command(&'static [&'static str]),
}

const KINDS: &[Kind] = &[
    Kind::hook("hook, start of a session", |scene, chance| {
        Agent::start_timed(&scene.home, &scene.repo.dir, chance)
    }),
    Kind::hook("hook, start of a turn", |scene, chance| {
        scene.agent.borrow_mut().prompt(chance)
    }),
    Kind::hook("hook, before a shell tool", |scene, _| {
        scene.agent.borrow_mut().shell_begins()
    }),
    Kind::hook("hook, after a shell tool", |scene, _| {
        scene.agent.borrow_mut().shell_returns("42 passed")
    }),
    Kind::hook("hook, after an edit", edit),
    Kind::hook("hook, end of a turn", |scene, _| {
        scene.agent.borrow().stop()
    }),
    Kind {
        name: "git commit",
        flat_ms: FLAT_GIT_MS,
        work: Work::Commit,
    },
    Kind::command("why HEAD", &["why", "HEAD"]),
    Kind::command("log", &["log"]),
    Kind::command("status", &["status"]),
    Kind::command("check of 10 commits", &["check", "HEAD~10..HEAD"]),
];

impl Kind {
    const fn hook(name: &'static str, work: fn(&Scene, &Chance) -> Fallible<f64>) -> Self {
        Self {
            name,
            flat_ms: FLAT_MS,
            work: Work::Hook(work),
        }
    }

    const fn command(name: &'static str, args: &'static [&'static str]) -> Self {
        Self {
            name,
            flat_ms: FLAT_GIT_MS,
            work: Work::Command(args),
        }
    }
}

/// One size.
struct Scene {
    sessions: usize,
    home: Home,
    repo: Repo,
    agent: RefCell<Agent>,
    commits: Cell<usize>,
    _lock: File,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let many = run.much(10_000, 1_000);
    let dir = run.dir("growth")?;
    let plain = Home::create(&run.program, &dir.join("plain"))?;
    let base = Repo::create(&plain, &dir.join("base"), 20, many)?;
    let mut scenes = Vec::new();
    for sessions in [0, 100, 500, many] {
        scenes.push(scene(run, &plain, &base, sessions)?);
    }
    // Commands take in what hooks left, so they come last.
    let mut times = Vec::new();
    for phase in [is_hook, is_commit, is_command] {
        for scene in &scenes {
            scene.home.run(&scene.repo.dir, &["status"])?;
        }
        times.push((phase, contest(run, &scenes, phase)?));
    }
    for scene in &scenes {
        scene.home.check()?;
        all_named(&scene.home, &scene.repo, scene.commits.get())?;
    }
    let of_phase = |(phase, times): &(fn(&Kind) -> bool, Outcome)| {
        let kinds = KINDS.iter().filter(|kind| phase(kind));
        kinds
            .flat_map(|kind| lines(kind, &scenes, times))
            .collect::<Vec<_>>()
    };
    Ok(times.iter().flat_map(of_phase).collect())
}

const fn is_hook(kind: &Kind) -> bool {
    matches!(kind.work, Work::Hook(_))
}

const fn is_commit(kind: &Kind) -> bool {
    matches!(kind.work, Work::Commit)
}

const fn is_command(kind: &Kind) -> bool {
    matches!(kind.work, Work::Command(_))
}

fn scene(run: &Run, plain: &Home, base: &Repo, sessions: usize) -> Fallible<Scene> {
    let dir = run.dir(&format!("growth/{sessions}"))?;
    let repo = base.copy(plain, &dir.join("repo"))?;
    let home = Home::create(&run.program, &dir)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    fill(&home, &repo, sessions, Care::Sealed)?;
    let lock = home.without_worker()?;
    // The same in all of them, so that nothing but the old sessions differs.
    let agent = Agent::start(&home, &repo.dir, &Chance::new(3))?;
    Ok(Scene {
        sessions,
        home,
        repo,
        agent: RefCell::new(agent),
        commits: Cell::new(0),
        _lock: lock,
    })
}

fn edit(scene: &Scene, chance: &Chance) -> Fallible<f64> {
    let path = scene.repo.dir.join(&scene.repo.files[0]);
    let (old, new) = (chance.hex(40), chance.hex(40));
    std::fs::write(&path, format!("fn part() {{}}\n// {old}\n"))?;
    let (_, after) = scene.agent.borrow_mut().edit(&path, &old, &new)?;
    Ok(after)
}

fn contest(run: &Run, scenes: &[Scene], phase: fn(&Kind) -> bool) -> Fallible<Outcome> {
    let chance = Chance::new(7);
    let chance = &chance;
    let mut contest = Contest::new();
    for kind in KINDS.iter().filter(|kind| phase(kind)) {
        for scene in scenes {
            contest.arm(arm(kind, scene), move || once(kind, scene, chance));
        }
    }
    contest.between(|| scenes.iter().try_for_each(|scene| scene.home.maintain()));
    contest.run(run.much(100, 15))
}

fn arm(kind: &Kind, scene: &Scene) -> String {
    format!("{}, {}", kind.name, scene.sessions)
}

fn once(kind: &Kind, scene: &Scene, chance: &Chance) -> Fallible<f64> {
    match &kind.work {
        Work::Hook(work) => work(scene, chance),
        Work::Commit => {
            let agent = scene.agent.borrow();
            let time = commit_once(&scene.home, &scene.repo, Some(&agent), chance)?;
            scene.commits.set(scene.commits.get() + 1);
            Ok(time)
        }
        Work::Command(args) => Ok(scene.home.run(&scene.repo.dir, args)?.0),
    }
}

fn lines(kind: &Kind, scenes: &[Scene], times: &Outcome) -> Vec<Line> {
    let of = |scene: &Scene| times.arm(&arm(kind, scene));
    let none = scenes.first().map_or(f64::NAN, |scene| of(scene).median());
    let line = |scene: &Scene| {
        let median = of(scene).median();
        let line = Line::new(kind.name, median, "ms", of(scene).n())
            .column(format!("{} sessions", scene.sessions))
            .p95(of(scene).p95())
            .against("none", none);
        let most = (none * FLAT_SHARE).max(none + kind.flat_ms);
        let bound = format!("flat ({FLAT_SHARE} × or {} ms)", kind.flat_ms);
        line.bound(bound, median <= most)
    };
    scenes.iter().map(line).collect()
}
