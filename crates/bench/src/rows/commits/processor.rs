//! The processor time of a commit, an amended commit and a rebase: without hooks, with hooks that do nothing, with ours.
//!
//! It is the time of git and of all that git starts and waits for. A commit takes less than the system's steps of
//! 10 ms, so several count together. What they leave for the agent's next hook to do has a line of its own.

use std::cell::RefCell;

use crate::Fallible;
use crate::clock::{Chance, children_cpu_ms};
use crate::contest::{Contest, Outcome, Times};
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

use super::{all_named, git_of};

/// How many commits count together: no more than may wait for the agent's next hook.
const BATCH: u16 = 16;
/// What ours may take of what hooks that do nothing take, for a commit.
const COMMIT_MOST: f64 = 1.5;
/// The same for a rebase.
const REBASE_MOST: f64 = 1.15;

const OURS: &str = "ours";

/// A repository in which one and the same agent works.
struct Place {
    name: &'static str,
    repo: Repo,
}

struct Scene {
    home: Home,
    agent: RefCell<Agent>,
    chance: Chance,
    /// Without hooks, with hooks that do nothing, with ours.
    places: [Place; 3],
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let dir = run.dir("commits-processor")?;
    let home = Home::create(&run.program, &dir.join("home"))?;
    let bare = Repo::create(&home, &dir.join("bare"), 20, run.much(10_000, 1_000))?;
    let nothing = bare.copy(&home, &dir.join("nothing"))?;
    let ours = bare.copy(&home, &dir.join("ours"))?;
    home.run(&ours.dir, &["init", "--yes"])?;
    nothing.do_nothing_in_hooks_of(&ours)?;
    let _lock = home.without_worker()?;
    let chance = Chance::new(21);
    let agent = Agent::start(&home, &ours.dir, &chance)?;
    let name = |name, repo| Place { name, repo };
    let scene = Scene {
        home,
        agent: RefCell::new(agent),
        chance,
        places: [
            name("no hooks", bare),
            name("hooks that do nothing", nothing),
            name(OURS, ours),
        ],
    };

    let mut lines = Vec::new();
    let commits: [(&str, &[&str]); 2] = [
        ("a commit", &["commit", "-q", "-a", "-m", "Change one part"]),
        (
            "an amended commit",
            &["commit", "-q", "-a", "--amend", "--no-edit"],
        ),
    ];
    for (what, args) in commits {
        let later = RefCell::new(Vec::new());
        let batch = |place: &Place| {
            let mut all = 0.0;
            for _ in 0..BATCH {
                scene.change(place)?;
                all += scene.git(place, args)?;
            }
            if place.name == OURS {
                let with_commits = scene.agents_hooks()?;
                let without = scene.agents_hooks()?;
                let each = (with_commits - without) / f64::from(BATCH);
                later.borrow_mut().push(each);
            }
            Ok(all / f64::from(BATCH))
        };
        let times = scene.contest(run.much(15, 4), batch)?;
        lines.extend(scene.lines(what, &times, COMMIT_MOST));
        let later = Times::from(later.into_inner());
        lines.push(Line::new(
            format!("processor time in the agent's next hook for {what}"),
            later.median(),
            "ms",
            later.n(),
        ));
    }

    let many = run.much(200, 50);
    for place in &scene.places {
        for commit in 1..=many {
            scene.change(place)?;
            scene.git(place, commits[0].1)?;
            if commit % usize::from(BATCH) == 0 || commit == many {
                scene.agents_hooks()?;
                scene.home.maintain()?;
            }
        }
    }
    let base = format!("HEAD~{many}");
    let times = scene.contest(run.much(5, 2), |place| {
        scene.git(place, &["rebase", "-q", "--force-rebase", &base])
    })?;
    lines.extend(scene.lines(&format!("a rebase of {many}"), &times, REBASE_MOST));

    scene.home.check()?;
    all_named(&scene.home, &scene.places[2].repo, many)?;
    Ok(lines)
}

impl Scene {
    /// Writes one of the files anew.
    fn change(&self, place: &Place) -> Fallible<()> {
        let files = &place.repo.files;
        let file = place.repo.dir.join(&files[self.chance.below(files.len())]);
        Ok(std::fs::write(
            file,
            format!("// {}\n", self.chance.hex(40)),
        )?)
    }

    /// The agent's hooks around another tool call; the processor time.
    fn agents_hooks(&self) -> Fallible<f64> {
        let mut agent = self.agent.borrow_mut();
        let before = children_cpu_ms()?;
        agent.shell_begins()?;
        agent.shell_returns("")?;
        Ok(children_cpu_ms()? - before)
    }

    /// Git as the agent starts it; the processor time.
    fn git(&self, place: &Place, args: &[&str]) -> Fallible<f64> {
        let agent = self.agent.borrow();
        let mut command = git_of(&self.home, &place.repo, Some(&agent), args);
        let before = children_cpu_ms()?;
        if !command.status()?.success() {
            let dir = place.repo.dir.display();
            return Err(format!("git {} failed in {dir}", args.join(" ")).into());
        }
        Ok(children_cpu_ms()? - before)
    }

    fn contest(&self, rounds: usize, work: impl Fn(&Place) -> Fallible<f64>) -> Fallible<Outcome> {
        let work = &work;
        let mut contest = Contest::new();
        for place in &self.places {
            contest.arm(place.name, move || work(place));
        }
        contest.between(|| self.home.maintain());
        contest.run(rounds)
    }

    fn lines(&self, what: &str, times: &Outcome, most: f64) -> [Line; 3] {
        let [bare, nothing, ours] = [0, 1, 2].map(|at| self.places[at].name);
        let line = |name: &str| {
            let times = times.arm(name);
            Line::new(
                format!("processor time of {what}, {name}"),
                times.median(),
                "ms",
                times.n(),
            )
        };
        let median = |name: &str| times.arm(name).median();
        let kept = median(ours) <= most * median(nothing);
        [
            line(bare),
            line(nothing).against(bare, median(bare)),
            line(ours)
                .against(nothing, median(nothing))
                .bound(format!("≤ {most} ×"), kept),
        ]
    }
}
