//! Turns by the turn API beside the same rows inserted by hand, in the same file: how many a second, how much of the
//! processor, how many bytes, and whether it grows with what the session holds.

mod raw;
mod table;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Instant;

use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_engine::driven::turn::Driver;
use siglum_ledger::{Ledger, SqliteLedger};

use crate::Fallible;
use crate::clock::{Chance, cpu_ms};
use crate::contest::{Contest, Times};
use crate::driven::{self, Unsynced};
use crate::filler::Filler;
use crate::report::Line;
use crate::run::Run;
use raw::Raw;

/// The turns of one measurement, behind one that does not count.
const BATCH: usize = 10;
/// The most events of a turn of old.
const OLD_TURN: usize = 100;
/// Sessions with fewer events are made anew for each measurement, since turns would soon make them longer.
const ANEW_BELOW: usize = 1_000;

/// The bytes of the two events of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    name: &'static str,
    prompt_len: usize,
    answer_len: usize,
}

const SIZES: [Size; 2] = [
    Size {
        name: "1.7 kB",
        prompt_len: 300,
        answer_len: 1_400,
    },
    Size {
        name: "16 kB",
        prompt_len: 1_000,
        answer_len: 15_000,
    },
];

/// How turns come into the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With one call of the API.
    Commit,
    /// Opened with the prompt, and committed with the answer.
    OpenCommit,
    /// The same rows by hand.
    Raw,
    /// The same by hand, with the payloads as they are instead of compressed.
    RawText,
}

impl Way {
    const fn is_by_hand(self) -> bool {
        matches!(self, Self::Raw | Self::RawText)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::OpenCommit => "open and commit",
            Self::Raw => "by hand",
            Self::RawText => "by hand, payloads as text",
        }
    }
}

const WAYS: [Way; 4] = [Way::Commit, Way::OpenCommit, Way::Raw, Way::RawText];

/// Whether commits are synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    On,
    Off,
}

const SYNCS: [Sync; 2] = [Sync::On, Sync::Off];

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arm {
    events: usize,
    size: Size,
    way: Way,
    sync: Sync,
}

/// What one turn of an arm took.
#[derive(Default)]
struct Took {
    wall_ms: Vec<f64>,
    cpu_ms: Vec<f64>,
    bytes: Vec<f64>,
}

/// A file with a session that the API drives and one that is written by hand, both of so many events.
struct Scene {
    events: usize,
    ledger: SqliteLedger,
    api: Driver,
    session: SessionId,
    raw: Raw,
    made: usize,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let filler = Filler::gather(4 << 20);
    let chance = Chance::new(11);
    let mut scenes = Vec::new();
    let sizes = [10, 1_000, run.much(100_000, 2_000)];
    for events in sizes {
        let dir = run.dir(&format!("turns/{events}"))?;
        let scene = Scene::create(&dir.join("ledger.db"), events, &filler, &chance)?;
        scenes.push(RefCell::new(scene));
    }
    let arms: Vec<(Arm, RefCell<Took>)> = scenes
        .iter()
        .flat_map(|scene| arms(scene.borrow().events))
        .map(|arm| (arm, RefCell::default()))
        .collect();
    let number = Cell::new(0);
    let mut contest = Contest::new();
    for (arm, took) in &arms {
        let here = |s: &&RefCell<Scene>| s.borrow().events == arm.events;
        let scene = scenes.iter().find(here).ok_or("an arm without a scene")?;
        let (filler, chance, number) = (&filler, &chance, &number);
        contest.arm("", move || {
            number.set(number.get() + 1);
            let mut scene = scene.borrow_mut();
            scene.anew(arm.way, filler, chance)?;
            scene.batch(arm, number.get(), filler, chance, &mut took.borrow_mut())
        });
    }
    contest.run(run.much(60, 15))?;
    for scene in &scenes {
        scene.borrow_mut().check()?;
    }
    let mut lines = table::lines(&arms, &sizes);
    lines.extend(parts(&filler, &chance, run.much(2_000, 200)));
    Ok(lines)
}

fn arms(events: usize) -> impl Iterator<Item = Arm> {
    let sizes = SIZES.into_iter();
    sizes.flat_map(move |size| {
        SYNCS.into_iter().flat_map(move |sync| {
            WAYS.into_iter().map(move |way| Arm {
                events,
                size,
                way,
                sync,
            })
        })
    })
}

impl Scene {
    fn create(path: &Path, events: usize, filler: &Filler, chance: &Chance) -> Fallible<Self> {
        let mut ledger = driven::open(path)?;
        let mut grown = |name: &str| grown(&mut ledger, name, events, filler, chance);
        let ((session, api), (by_hand, _)) = (grown("api")?, grown("raw")?);
        let raw = Raw::open(path, by_hand)?;
        Ok(Self {
            events,
            ledger,
            api,
            session,
            raw,
            made: 0,
        })
    }

    /// Short sessions stay short.
    fn anew(&mut self, way: Way, filler: &Filler, chance: &Chance) -> Fallible<()> {
        if self.events >= ANEW_BELOW {
            return Ok(());
        }
        self.made += 1;
        let name = format!("again-{}", self.made);
        let (session, driver) = grown(&mut self.ledger, &name, self.events, filler, chance)?;
        if way.is_by_hand() {
            return self.raw.turn_to(session);
        }
        (self.session, self.api) = (session, driver);
        Ok(())
    }

    /// Some turns in a row. Gives the milliseconds of one.
    fn batch(
        &mut self,
        arm: &Arm,
        number: usize,
        filler: &Filler,
        chance: &Chance,
        took: &mut Took,
    ) -> Fallible<f64> {
        let turns: Vec<(String, Vec<Observation>)> = (0..=BATCH)
            .map(|n| {
                let key = format!("t{number}-{n}");
                let prompt = driven::prompt(&key, filler.text(chance, arm.size.prompt_len));
                let text = filler.text(chance, arm.size.answer_len);
                (key.clone(), vec![prompt, driven::message(&key, "m", text)])
            })
            .collect();
        self.raw.sync(arm.sync)?;
        let prepared = self.raw.prepare(&turns, arm.way)?;
        let run = |scene: &mut Self, at: usize| {
            if arm.way.is_by_hand() {
                scene.raw.insert(&prepared[at])
            } else {
                scene.api_turn(arm, &turns[at])
            }
        };
        // The other session of the file was written last, so the first turn reads its way in.
        run(self, 0)?;
        let (wall, cpu, bytes) = (Instant::now(), cpu_ms(), written()?);
        for at in 1..=BATCH {
            run(self, at)?;
        }
        let (wall, cpu) = (wall.elapsed().as_secs_f64() * 1000.0, cpu_ms() - cpu);
        let bytes = written()? - bytes;
        self.ledger.maintain()?;
        #[expect(clippy::cast_precision_loss, reason = "ten")]
        let each = |all: f64| all / BATCH as f64;
        took.wall_ms.push(each(wall));
        took.cpu_ms.push(each(cpu));
        took.bytes.push(each(bytes));
        Ok(each(wall))
    }

    fn api_turn(&mut self, arm: &Arm, (key, events): &(String, Vec<Observation>)) -> Fallible<()> {
        let mut unsynced;
        let ledger: &mut dyn Ledger = match arm.sync {
            Sync::On => &mut self.ledger,
            Sync::Off => {
                unsynced = Unsynced(&mut self.ledger);
                &mut unsynced
            }
        };
        let here = driven::here();
        let rest = if arm.way == Way::OpenCommit {
            self.api.open(&here, ledger, key, &events[..1])?;
            &events[1..]
        } else {
            &events[..]
        };
        let done = self.api.commit(&here, ledger, key, rest)?;
        if done.already {
            return Err("a turn was there already".into());
        }
        Ok(())
    }

    /// What was measured must be the same rows.
    fn check(&mut self) -> Fallible<()> {
        let wrong = self.ledger.check()?;
        if !wrong.is_empty() {
            return Err(wrong.join("; ").into());
        }
        self.raw.same_as(self.session)
    }
}

/// A session of so many events.
fn grown(
    ledger: &mut SqliteLedger,
    name: &str,
    events: usize,
    filler: &Filler,
    chance: &Chance,
) -> Fallible<(SessionId, Driver)> {
    let mut quick = Unsynced(ledger);
    let (session, mut driver) = driven::begin(&mut quick, name)?;
    for first in (0..events).step_by(OLD_TURN) {
        let key = format!("old-{first}");
        let all: Vec<Observation> = (first..(first + OLD_TURN).min(events))
            .map(|n| driven::message(&key, &n.to_string(), filler.text(chance, 400)))
            .collect();
        driver.commit(&driven::here(), &mut quick, &key, &all)?;
        quick.maintain()?;
    }
    Ok((session, driver))
}

/// How many turns a second there are if their rows are inserted by hand, each turn with a sync of its own.
pub(super) fn by_hand(
    path: &Path,
    session: SessionId,
    turns: &[(String, Vec<Observation>)],
) -> Fallible<f64> {
    let mut raw = Raw::open(path, session)?;
    raw.sync(Sync::On)?;
    let prepared = raw.prepare(turns, Way::Raw)?;
    let begun = Instant::now();
    for rows in &prepared {
        raw.insert(rows)?;
    }
    #[expect(clippy::cast_precision_loss, reason = "some thousand turns")]
    Ok(prepared.len() as f64 / begun.elapsed().as_secs_f64())
}

/// The bytes that this process wrote into files.
fn written() -> Fallible<f64> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|l| l.strip_prefix("wchar: "));
    Ok(line.ok_or("no `wchar` in /proc/self/io")?.parse()?)
}

/// Parts of a turn that rows by hand do without, for reading: what a driver does before it says something, and what a
/// commit does with each event.
fn parts(filler: &Filler, chance: &Chance, rounds: usize) -> Vec<Line> {
    let lines = |size: Size| {
        let (mut redacting, mut packing) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let texts = [size.prompt_len, size.answer_len].map(|bytes| filler.text(chance, bytes));
            let before = cpu_ms();
            let events = [
                driven::prompt("t", texts[0]),
                driven::message("t", "m", texts[1]),
            ];
            let between = cpu_ms();
            std::hint::black_box(events.each_ref().map(raw::packed));
            redacting.push((between - before) * 1000.0);
            packing.push((cpu_ms() - between) * 1000.0);
        }
        [("redacting", redacting), ("packing and hashing", packing)].map(|(name, times)| {
            let times = Times::from(times);
            let what = format!("{name} of {}, processor", size.name);
            Line::new(what, times.median(), "µs", times.n()).p95(times.p95())
        })
    };
    SIZES.into_iter().flat_map(lines).collect()
}
