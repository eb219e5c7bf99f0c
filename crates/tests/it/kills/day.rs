//! The day: who works where, step after step, and what of it was disturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use super::killer::with_a_kill;
use super::shift::{Form, Shift, stem};
use super::truth::{Birth, Births};
use crate::harness::{Agent, Dice, Repo, Terminal, World};

/// A seat at which sessions follow each other.
pub(super) struct Seat {
    pub(super) tree: usize,
    pub(super) agent: Agent,
    /// Sessions whose process died and that never went on.
    pub(super) past: Vec<Agent>,
}

/// Somebody who works in a step.
enum Actor<'d> {
    Agent(&'d mut Agent),
    Person(&'d mut Terminal),
    Nobody,
}

/// The day so far.
pub(super) struct Day<'w> {
    pub(super) world: &'w World,
    pub(super) trees: Vec<Repo<'w>>,
    pub(super) seats: Vec<Seat>,
    terminal: Terminal,
    pub(super) births: Births,
    /// What each killed process was, and how often.
    pub(super) killed: BTreeMap<String, u64>,
    /// Commits that were made while nothing was killed, with how.
    pub(super) undisturbed: BTreeMap<String, Form>,
    pub(super) number: u32,
}

impl<'w> Day<'w> {
    /// Two agents in one checkout, one in another, and a person.
    pub(super) fn begin(world: &'w World) -> Self {
        let repo = world.repo();
        repo.git(&["tag", "base"]);
        repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        let side = repo.beside("../side");
        let seat = |tree: usize, repo: &Repo<'_>, name: &str| {
            let mut agent = Agent::start(repo, &format!("{name}-0"));
            agent.mortal = true;
            Seat {
                tree,
                agent,
                past: Vec::new(),
            }
        };
        let seats = vec![
            seat(0, &repo, "left"),
            seat(0, &repo, "middle"),
            seat(1, &side, "right"),
        ];
        let mut terminal = Terminal::open(&repo);
        terminal.run("export GIT_COMMITTER_NAME=human GIT_AUTHOR_NAME=human");
        let trees = vec![repo, side];
        Self {
            births: Births::watch(&trees),
            world,
            trees,
            seats,
            terminal,
            killed: BTreeMap::new(),
            undisturbed: BTreeMap::new(),
            number: 0,
        }
    }

    /// One or two work at a time, somebody may ask, and one process may die.
    pub(super) fn step(&mut self, dice: &mut Dice) {
        self.number += 1;
        let two = dice.once_in(3);
        let first = dice.index(5);
        let second = (first + 1 + dice.index(4)) % 5;
        let who: Vec<usize> = [first, second]
            .into_iter()
            .take(1 + usize::from(two))
            .collect();
        let question = dice
            .once_in(4)
            .then(|| QUESTIONS[dice.index(QUESTIONS.len())]);
        let mut shifts = Vec::new();
        for actor in 0..5 {
            if who.contains(&actor) {
                let tree = self.seats.get(actor).map(|seat| seat.tree);
                let tree = tree.unwrap_or_else(|| dice.index(2));
                shifts.push((actor, tree, Shift::roll(dice, self.number, tree)));
            }
        }
        if let [(_, one, left), (_, other, right)] = &mut shifts[..]
            && one == other
        {
            left.beside(right);
        }
        for (actor, tree, shift) in &shifts {
            if let Some(seat) = self.seats.get_mut(*actor) {
                seat.replace(&self.trees[*tree], shift);
            }
        }
        let killed = self.work(dice, &shifts, question);
        for tree in &self.trees {
            tidy(tree);
        }
        self.note(killed, &shifts);
    }

    fn work(
        &mut self,
        dice: &mut Dice,
        shifts: &[(usize, usize, Shift)],
        question: Option<&[&str]>,
    ) -> Option<String> {
        let (world, trees) = (self.world, &self.trees);
        let agents = self
            .seats
            .iter_mut()
            .map(|seat| Actor::Agent(&mut seat.agent));
        let others = [Actor::Person(&mut self.terminal), Actor::Nobody];
        let actors = agents.chain(others).enumerate();
        let work = || {
            thread::scope(|scope| {
                for (at, actor) in actors {
                    let Some((_, tree, shift)) = shifts.iter().find(|(who, _, _)| *who == at)
                    else {
                        continue;
                    };
                    let repo = &trees[*tree];
                    scope.spawn(move || match actor {
                        Actor::Agent(agent) => shift.by_agent(agent, repo),
                        Actor::Person(terminal) => shift.by_person(terminal, repo),
                        Actor::Nobody => shift.by_nobody(repo),
                    });
                }
                if let Some(question) = question {
                    let ran = trees[0].siglum(question);
                    let fine = matches!(ran.code, None | Some(0)) || question == ["doctor"];
                    let fine = fine || ran.stderr.contains("was killed");
                    assert!(fine, "{question:?}: {ran:#?}");
                }
            });
        };
        with_a_kill(world, dice, work)
    }

    fn note(&mut self, killed: Option<String>, shifts: &[(usize, usize, Shift)]) {
        let fresh: BTreeSet<String> = self.births.read_on();
        if let Some(name) = killed {
            *self.killed.entry(name).or_default() += 1;
            return;
        }
        let form = match shifts {
            [(_, _, only)] => only.form,
            _ if shifts.iter().any(|(_, _, shift)| shift.form.rebases()) => return,
            _ => Form::Nothing,
        };
        let made = fresh.into_iter();
        let made = made.filter(|id| self.births.known[id] == Birth::Made);
        self.undisturbed.extend(made.map(|id| (id, form)));
    }

    /// The sessions of all agents, with those that ended long ago.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.seats
            .iter()
            .flat_map(|seat| seat.past.iter().chain([&seat.agent]))
    }
}

impl Seat {
    /// Somebody else sits down where a process died, unless the session is to go on.
    fn replace(&mut self, repo: &Repo<'_>, shift: &Shift) {
        if self.agent.lives() || shift.resumes {
            return;
        }
        let native = format!("{}-{}", stem(&self.agent.native), shift.number);
        let mut fresh = Agent::process(repo, &native, &Agent::program());
        fresh.mortal = true;
        fresh.hook("SessionStart", serde_json::json!({ "source": "startup" }));
        let gone = std::mem::replace(&mut self.agent, fresh);
        self.past.push(gone);
    }
}

/// What somebody asks while others work.
const QUESTIONS: &[&[&str]] = &[&["why", "HEAD"], &["status"], &["doctor"], &["log"]];

/// What a person does after a crash of git.
fn tidy(repo: &Repo<'_>) {
    let branch = if repo.dir.ends_with("side") {
        "side"
    } else {
        "main"
    };
    repo.sh(&format!(
        "find \"$(git rev-parse --git-common-dir)\" -name '*.lock' -delete; \
         git rebase --abort 2>/dev/null || git rebase --quit 2>/dev/null; \
         git reset -q --hard; git clean -q -f -d; \
         [ \"$(git symbolic-ref -q HEAD)\" = refs/heads/{branch} ] || git checkout -q -f {branch}; \
         git stash clear"
    ))
    .ok();
}
