//! Measuring several things side by side: in each round every arm once, in an order of chance, so
//! that a neighbour on the machine meets them all alike.

use std::path::Path;
use std::time::Instant;

use crate::Fallible;
use crate::clock::Chance;

/// Times in milliseconds, of one arm.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times(Vec<f64>);

impl From<Vec<f64>> for Times {
    fn from(millis: Vec<f64>) -> Self {
        Self(millis)
    }
}

impl Times {
    pub(crate) fn n(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.at(0.95)
    }

    /// The time that this share of all does not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into a few hundred times"
        )]
        let index = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
        sorted.get(index).copied().unwrap_or(f64::NAN)
    }
}

type Arm<'a> = Box<dyn FnMut() -> Fallible<f64> + 'a>;

/// The arms of one contest. An arm prepares what it needs, times only what counts, and gives
/// milliseconds.
pub(crate) struct Contest<'a> {
    arms: Vec<(String, Arm<'a>)>,
    between: Option<Box<dyn FnMut() -> Fallible<()> + 'a>>,
}

/// How often each arm runs before it counts.
const WARM: usize = 2;

impl<'a> Contest<'a> {
    pub(crate) fn new() -> Self {
        Self {
            arms: Vec::new(),
            between: None,
        }
    }

    pub(crate) fn arm(&mut self, name: impl Into<String>, arm: impl FnMut() -> Fallible<f64> + 'a) {
        self.arms.push((name.into(), Box::new(arm)));
    }

    /// Runs after each round, untimed.
    pub(crate) fn between(&mut self, work: impl FnMut() -> Fallible<()> + 'a) {
        self.between = Some(Box::new(work));
    }

    pub(crate) fn run(mut self, rounds: usize) -> Fallible<Outcome> {
        let chance = Chance::new(now_seed());
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        let mut times = vec![Times::default(); order.len()];
        for round in 0..rounds + WARM {
            chance.shuffle(&mut order);
            for &at in &order {
                let time = self.arms[at].1()?;
                if round >= WARM {
                    times[at].0.push(time);
                }
            }
            if let Some(between) = &mut self.between {
                between()?;
            }
        }
        let names = self.arms.into_iter().map(|(name, _)| name);
        Ok(Outcome(names.zip(times).collect()))
    }
}

fn now_seed() -> u64 {
    crate::clock::now().nanos().unsigned_abs()
}

/// The times of all arms.
pub(crate) struct Outcome(Vec<(String, Times)>);

impl Outcome {
    /// The times of one arm.
    pub(crate) fn arm(&self, name: &str) -> &Times {
        let found = self.0.iter().find(|(arm, _)| arm == name);
        &found.expect("because the caller named its arms itself").1
    }
}

/// Times `work` in milliseconds.
pub(crate) fn timed<T>(work: impl FnOnce() -> Fallible<T>) -> Fallible<(f64, T)> {
    let start = Instant::now();
    let done = work()?;
    Ok((millis(start), done))
}

pub(crate) fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// One write of a page with a sync, as a commit of the ledger makes one.
pub(crate) fn sync_once(path: &Path) -> Fallible<f64> {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(&[7; 4096])?;
    let start = Instant::now();
    file.sync_data()?;
    Ok(millis(start))
}
