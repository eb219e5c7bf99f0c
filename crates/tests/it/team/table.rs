//! How long writes took, what the gateways used, and the table of it all.

use std::fmt::Write as _;
use std::time::Duration;

use super::Team;
use super::journal::{Records, Span};
use super::options::Bounds;
use super::promises::Outcome;

/// The most that 99 of 100 writes may take while nothing is broken.
const WRITES_MOST: Duration = Duration::from_millis(250);
/// How much a gateway may use at the end beyond a quarter more than after a third of the time, in kilobytes.
const MEMORY_MORE: u64 = 8 << 10;
/// How many problems are listed.
const PROBLEMS: usize = 20;

/// How long something took, in the order of length.
struct Lengths(Vec<Duration>);

impl Lengths {
    fn new(spans: impl Iterator<Item = Span>) -> Self {
        let mut lengths: Vec<Duration> = spans.map(Span::length).collect();
        lengths.sort_unstable();
        Self(lengths)
    }

    /// So many of a hundred took no longer.
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(at).copied().unwrap_or_default()
    }

    fn text(&self) -> String {
        let [half, most] = [50, 99].map(|percent| self.percentile(percent).as_secs_f64() * 1e3);
        format!("{:6}  p50 {half:7.1} ms  p99 {most:7.1} ms", self.0.len())
    }
}

/// What happened while nothing was broken, and the rest.
fn divided(records: &Records, spans: &[Span]) -> [Lengths; 2] {
    let is_calm = |span: &Span| {
        !records
            .faults
            .iter()
            .any(|(_, fault)| fault.overlaps(*span))
    };
    let (calm, disturbed): (Vec<Span>, Vec<Span>) = spans.iter().copied().partition(is_calm);
    [calm, disturbed].map(|spans| Lengths::new(spans.into_iter()))
}

/// Compares times and memory with their bounds, where that is wanted.
pub(super) fn judge(team: &Team, memory: &[Vec<u64>]) {
    if team.options.bounds == Bounds::Printed {
        return;
    }
    let most = {
        let records = team.journal.records();
        let [calm, _] = divided(&records, &records.writes);
        calm.percentile(99)
    };
    if most > WRITES_MOST {
        let text = format!("p99 of writes is {most:?}, and {WRITES_MOST:?} at most");
        team.journal.problem(text);
    }
    // The others were killed, and begin small.
    let first: Vec<u64> = memory.iter().map(|all| all[0]).collect();
    if let [third, .., end] = first[..]
        && end > third + third / 4 + MEMORY_MORE
    {
        let text = format!("memory grew from {third} to {end} kB");
        team.journal.problem(text);
    }
}

/// All of it in lines.
pub(super) fn table(team: &Team, memory: &[Vec<u64>], outcome: &Outcome) -> String {
    let records = team.journal.records();
    let mut table = format!("\n{}\n", team.options);
    let mut row = |what: &str, text: &str| {
        let _ = writeln!(table, "{what:28}{text}");
    };
    for (what, count) in &records.counts {
        row(what, &count.to_string());
    }
    for (what, spans) in [("writes", &records.writes), ("reads", &records.reads)] {
        let [calm, disturbed] = divided(&records, spans);
        row(what, &calm.text());
        row(&format!("{what} beside faults"), &disturbed.text());
    }
    for (name, fault) in &records.faults {
        row(name, &format!("{:.1} s", fault.length().as_secs_f64()));
    }
    for (part, gateways) in ["after a third", "after two thirds", "at the end"]
        .iter()
        .zip(memory)
    {
        let megabytes: Vec<String> = gateways
            .iter()
            .map(|kb| format!("{} MB", kb >> 10))
            .collect();
        row(&format!("memory {part}"), &megabytes.join(", "));
    }
    for (what, text) in &outcome.rows {
        row(what, text);
    }
    for problem in records.problems.iter().take(PROBLEMS) {
        row("broken", problem);
    }
    let _ = write!(table, "team: {} promises broken", records.problems.len());
    table
}

#[test]
fn percentiles_are_of_what_was_measured() {
    let lengths = Lengths((1..=200).map(Duration::from_millis).collect());
    let millis = [50, 99, 100].map(|percent| lengths.percentile(percent).as_millis());
    assert_eq!(millis, [100, 198, 200]);
    assert_eq!(Lengths(Vec::new()).percentile(99), Duration::ZERO);
}
