//! Random work of two sessions, of somebody unknown and of git, with an oracle of its own: it knows who
//! wrote each line, whatever is in it.

use std::collections::BTreeMap;
use std::fs;

use crate::harness::{Agent, EditCall, Repo, World};

/// Who wrote a line: a session, or nobody that is known.
type Writer = Option<usize>;
/// A line, with a number that no other line has, even where its text is the same.
type Line = (u64, String, Writer);
type Files = BTreeMap<String, Vec<Line>>;

const NAMES: [&str; 2] = ["one", "two"];

struct Play<'w> {
    repo: Repo<'w>,
    agents: Vec<Agent>,
    seed: u64,
    lines: u64,
    /// What is on disk, and what the commit has that is checked out.
    disk: Files,
    head: Files,
    branches: Vec<Files>,
    branch: usize,
    /// Lines of tools, those of them that were named rightly, and lines that were named falsely.
    counted: (usize, usize, Vec<String>),
}

impl<'w> Play<'w> {
    fn random(&mut self, below: usize) -> usize {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % below
    }

    fn fresh(&mut self, writer: Writer) -> Line {
        self.lines += 1;
        let text = format!("statement {} of the program\n", self.lines);
        (self.lines, text, writer)
    }

    fn text(&self, path: &str) -> String {
        let lines = self.disk.get(path).into_iter().flatten();
        lines.map(|(_, text, _)| text.as_str()).collect()
    }

    fn save(&self, path: &str) {
        fs::write(self.repo.dir.join(path), self.text(path)).unwrap();
    }

    fn path(&mut self) -> String {
        format!("file-{}", self.random(3))
    }

    /// Puts a few lines into a file, in the oracle's books.
    fn insert(&mut self, path: &str, writer: Writer) {
        let count = 1 + self.random(4);
        let at = self.random(self.disk.get(path).map_or(0, Vec::len) + 1);
        for n in 0..count {
            let line = self.fresh(writer);
            self.disk
                .entry(path.to_owned())
                .or_default()
                .insert(at + n, line);
        }
    }

    fn step(&mut self) {
        match self.random(12) {
            0..=3 => self.tool_writes(),
            4 => self.two_tools_at_once(),
            5 => self.somebody_saves_during_a_call(),
            6 => {
                let path = self.path();
                self.insert(&path, None);
                self.save(&path);
            }
            7 => self.somebody_writes_it_anew(),
            8 => self.moves(),
            9 => self.other_branch(),
            _ => self.commit(),
        }
    }

    fn tool_writes(&mut self) {
        let (path, who) = (self.path(), self.random(2));
        self.insert(&path, Some(who));
        let text = self.text(&path);
        self.agents[who].write(&path, &text);
    }

    fn two_tools_at_once(&mut self) {
        let path = self.path();
        let mut calls = Vec::new();
        self.insert(&path, Some(0));
        let text = self.text(&path);
        calls.push(self.agents[0].begin_write(&path, &text));
        self.insert(&path, Some(1));
        let text = self.text(&path);
        calls.push(self.agents[1].begin_write(&path, &text));
        calls.iter_mut().for_each(EditCall::work);
        let mut calls: Vec<_> = calls.into_iter().map(Some).collect();
        let first = self.random(2);
        for who in [first, 1 - first] {
            let call = calls[who].take().unwrap();
            self.agents[who].end_edit(call);
        }
    }

    fn somebody_saves_during_a_call(&mut self) {
        let (path, who) = (self.path(), self.random(2));
        self.insert(&path, Some(who));
        let text = self.text(&path);
        let mut call = self.agents[who].begin_write(&path, &text);
        call.work();
        self.insert(&path, None);
        self.save(&path);
        self.agents[who].end_edit(call);
    }

    /// Somebody removes a file and writes a new one with most of its lines, each now their own.
    fn somebody_writes_it_anew(&mut self) {
        let path = self.path();
        let Some(old) = self.disk.remove(&path) else {
            return;
        };
        let _ = fs::remove_file(self.repo.dir.join(&path));
        let mut lines = Vec::new();
        for (_, text, _) in old {
            let (id, ..) = self.fresh(None);
            lines.push((id, text, None));
        }
        lines.push(self.fresh(None));
        self.disk.insert(path.clone(), lines);
        self.save(&path);
    }

    fn moves(&mut self) {
        let (from, to) = (self.path(), format!("moved-{}", self.lines));
        if let Some(lines) = self.disk.remove(&from) {
            fs::rename(self.repo.dir.join(&from), self.repo.dir.join(&to)).unwrap();
            self.disk.insert(to, lines);
        }
    }

    /// Another branch is checked out, and somebody writes there what a session wrote here.
    fn other_branch(&mut self) {
        self.commit();
        let (path, copied) = (self.path(), self.disk.clone());
        self.branches[self.branch].clone_from(&self.head);
        self.branch = 1 - self.branch;
        self.repo
            .git(&["checkout", "-q", ["main", "other"][self.branch]]);
        self.head = self.branches[self.branch].clone();
        self.disk = self.head.clone();
        if let Some(lines) = copied.get(&path) {
            let mut own = Vec::new();
            for (_, text, _) in lines {
                let (id, ..) = self.fresh(None);
                own.push((id, text.clone(), None));
            }
            self.disk.insert(path.clone(), own);
            self.save(&path);
        }
        self.commit();
    }

    fn commit(&mut self) {
        if self.disk == self.head {
            return;
        }
        let commit = "git add -A && git commit -q -m work";
        let before = self.repo.id("HEAD");
        match self.random(3) {
            2 => self.repo.sh(commit),
            who => self.agents[who].sh(commit),
        };
        // Somebody may have written the very text that was there.
        if self.repo.id("HEAD") != before {
            self.compare();
        }
        self.head = self.disk.clone();
    }

    fn compare(&mut self) {
        let why = self.repo.why("HEAD");
        let texts: Vec<&str> = self.head.values().flatten().map(|l| l.1.as_str()).collect();
        for (path, lines) in &self.disk {
            let named = why.lines(path);
            let who = |number: usize| {
                let has = |ranges: &str| {
                    ranges.split(',').any(|range| {
                        let (first, last) = range.split_once('-').unwrap_or((range, range));
                        (first.parse().unwrap()..=last.parse().unwrap()).contains(&number)
                    })
                };
                NAMES
                    .iter()
                    .position(|name| named.get(*name).is_some_and(|ranges| has(ranges)))
            };
            for (number, (_, text, writer)) in lines.iter().enumerate() {
                let found = who(number + 1);
                if found.is_some() && found != *writer {
                    let false_one = format!("{path}:{} {writer:?} {found:?} {text}", number + 1);
                    self.counted.2.push(false_one);
                }
                if writer.is_some() && !texts.contains(&text.as_str()) {
                    self.counted.0 += 1;
                    self.counted.1 += usize::from(found == *writer);
                }
            }
        }
    }
}

#[test]
fn random_work_is_named_and_never_falsely() {
    let (mut lines, mut right, mut wrong) = (0, 0, Vec::new());
    for seed in 1..=4 {
        let world = World::new();
        let repo = world.repo();
        repo.git(&["branch", "other"]);
        let agents = NAMES.iter().map(|name| Agent::start(&repo, name)).collect();
        let mut play = Play {
            repo: repo.clone(),
            agents,
            seed,
            lines: 1000 * seed,
            disk: Files::new(),
            head: Files::new(),
            branches: vec![Files::new(); 2],
            branch: 0,
            counted: (0, 0, Vec::new()),
        };
        (0..40).for_each(|_| play.step());
        play.commit();
        lines += play.counted.0;
        right += play.counted.1;
        wrong.extend(
            play.counted
                .2
                .into_iter()
                .map(|line| format!("seed {seed}: {line}")),
        );
    }
    println!(
        "{lines} lines of tools, {right} named, {} false",
        wrong.len()
    );
    assert_eq!(wrong, Vec::<String>::new(), "{right} of {lines} named");
    assert!(
        lines > 150 && right * 100 >= lines * 95,
        "{right} of {lines} named"
    );
}
