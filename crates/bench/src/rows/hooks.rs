//! The hooks of agents, from start to exit.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Contest, Outcome, sync_once};
use crate::fill::{Care, fill};
use crate::filler::Filler;
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// A hook may take this many times an empty process.
const TIMES_MOST: f64 = 6.0;
/// The 95th percentile, in milliseconds.
const P95_MOST: f64 = 20.0;
/// Old sessions and long transcripts may add this share, or this many milliseconds: what two
/// medians of the same thing differ by on a busy machine.
const FLAT_SHARE: f64 = 1.15;
const FLAT_MS: f64 = 0.5;

/// The kinds of hooks that are measured.
const KINDS: [&str; 3] = ["before a shell tool", "after an edit", "end of a turn"];

/// A ledger of some size and a transcript of some size, with an agent at work.
struct Scene {
    name: String,
    home: Home,
    agent: RefCell<Agent>,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let many = run.much(10_000, 1_000);
    let user = Home::create(&run.program, &run.dir("hooks")?)?;
    let repo = Repo::create(
        &user,
        &run.dir("hooks")?.join("repo"),
        20,
        run.much(10_000, 1_000),
    )?;
    let chance = Chance::new(1);
    let (mut scenes, mut locks) = (Vec::new(), Vec::new());
    for sessions in [10, many] {
        let home = Home::create(&run.program, &run.dir(&format!("hooks/{sessions}"))?)?;
        home.run(&repo.dir, &["init", "--yes"])?;
        fill(&home, &repo, sessions, Care::Sealed)?;
        locks.push(home.without_worker()?);
        for megabytes in [1, 100] {
            scenes.push(scene(&home, &repo, &chance, sessions, megabytes)?);
        }
    }
    let sync = run.dir("hooks")?.join("sync");
    let times = contest(run, &scenes, &repo, &sync)?;
    for scene in &scenes {
        scene.home.check()?;
    }
    Ok(lines(&scenes, &times))
}

fn scene(
    home: &Home,
    repo: &Repo,
    chance: &Chance,
    sessions: usize,
    megabytes: usize,
) -> Fallible<Scene> {
    let agent = Agent::start(home, &repo.dir, chance)?;
    let transcript = File::create(home.transcript(&agent.session))?;
    write_filler(&transcript, megabytes << 20)?;
    Ok(Scene {
        name: format!("{sessions} sessions, {megabytes} MB"),
        home: home.clone(),
        agent: RefCell::new(agent),
    })
}

fn write_filler(mut to: &File, bytes: usize) -> Fallible<()> {
    use std::io::Write as _;
    let filler = Filler::gather(1 << 20);
    let chance = Chance::new(9);
    let mut written = 0;
    while written < bytes {
        let text = serde_json::json!({"type": "user", "message": filler.text(&chance, 60_000)});
        let line = format!("{text}\n");
        to.write_all(line.as_bytes())?;
        written += line.len();
    }
    Ok(())
}

fn contest(run: &Run, scenes: &[Scene], repo: &Repo, sync: &Path) -> Fallible<Outcome> {
    let chance = Chance::new(2);
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    contest.arm("sync", || sync_once(sync));
    for scene in scenes {
        let name = |kind: &str| format!("{kind}: {}", scene.name);
        contest.arm(name(KINDS[0]), || scene.agent.borrow_mut().shell_begins());
        contest.arm(name(KINDS[1]), || {
            let path = repo.dir.join(&repo.files[0]);
            let text = std::fs::read_to_string(&path)?;
            let old = text.lines().find(|l| l.len() > 10).ok_or("an empty file")?;
            let new = format!("{old} // {}", chance.hex(8));
            let (_, after) = scene.agent.borrow_mut().edit(&path, old, &new)?;
            if new.len() > 400 {
                std::fs::write(&path, text.replacen(old, "let part = sorted();", 1))?;
            }
            Ok(after)
        });
        contest.arm(name(KINDS[2]), || scene.agent.borrow().stop());
    }
    contest.between(|| scenes.iter().try_for_each(|scene| scene.home.maintain()));
    contest.run(run.much(100, 20))
}

fn lines(scenes: &[Scene], times: &Outcome) -> Vec<Line> {
    let (empty, sync) = (times.arm("empty").median(), times.arm("sync").median());
    let mut lines = Vec::new();
    for kind in KINDS {
        let of = |scene: &Scene| times.arm(&format!("{kind}: {}", scene.name));
        for scene in scenes {
            let (median, p95) = (of(scene).median(), of(scene).p95());
            let line = Line::new(
                format!("{kind}, {}", scene.name),
                median,
                "ms",
                of(scene).n(),
            )
            .p95(p95)
            .against("empty", empty);
            let line = if kind == KINDS[2] {
                let most = TIMES_MOST.mul_add(empty, 2.0 * sync);
                line.bound(format!("≤ 6 × + 2 syncs = {most:.1}"), median <= most)
            } else {
                line.bound("≤ 6 ×", median <= TIMES_MOST * empty)
            };
            lines.push(line.bound("p95 ≤ 20 ms", p95 <= P95_MOST));
        }
        if let [first, .., last] = scenes {
            let (small, large) = (of(first).median(), of(last).median());
            let flat = large <= (small * FLAT_SHARE).max(small + FLAT_MS);
            lines.push(
                Line::new(
                    format!("{kind}: largest against smallest"),
                    large,
                    "ms",
                    of(last).n(),
                )
                .against("smallest", small)
                .bound("flat (1.15 × or 0.5 ms)", flat),
            );
        }
    }
    lines
}
