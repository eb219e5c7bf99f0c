//! What was measured, beside the same rows by hand, and whether it grows.

use std::cell::RefCell;

use super::{Arm, SIZES, Size, Sync, Took, WAYS, Way};
use crate::contest::Times;
use crate::report::Line;

/// What two medians of the same thing differ by on a busy machine: this share, or so many ms.
const FLAT_SHARE: f64 = 1.15;
const FLAT_MS: f64 = 0.1;
/// The same for processor time.
const FLAT_CPU_MS: f64 = 0.02;

/// What it says, and whether a ratio keeps it.
type Bound = (&'static str, fn(f64) -> bool);

/// Something that turns take.
struct Kind {
    name: &'static str,
    unit: &'static str,
    sync: Sync,
    of: fn(&Took) -> &Vec<f64>,
    shown: fn(f64) -> f64,
    /// Of turns that come with one call, against the same rows by hand.
    bound: Option<Bound>,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "sync on",
        unit: "turns/s",
        sync: Sync::On,
        of: |took| &took.wall_ms,
        shown: |ms| 1000.0 / ms,
        bound: Some(("≥ 0.7 × by hand", |ratio| ratio >= 0.7)),
    },
    Kind {
        name: "sync off",
        unit: "turns/s",
        sync: Sync::Off,
        of: |took| &took.wall_ms,
        shown: |ms| 1000.0 / ms,
        bound: None,
    },
    Kind {
        name: "processor, sync off",
        unit: "µs",
        sync: Sync::Off,
        of: |took| &took.cpu_ms,
        shown: |ms| 1000.0 * ms,
        bound: Some(("≤ 2.5 × by hand", |ratio| ratio <= 2.5)),
    },
    Kind {
        name: "bytes written",
        unit: "kB",
        sync: Sync::On,
        of: |took| &took.bytes,
        shown: |bytes| bytes / 1000.0,
        bound: Some(("≤ 2 × by hand", |ratio| ratio <= 2.0)),
    },
];

pub(super) fn lines(arms: &[(Arm, RefCell<Took>)], histories: &[usize]) -> Vec<Line> {
    let mut lines = Vec::new();
    for size in SIZES {
        for kind in &KINDS {
            for way in WAYS {
                let line = |events: &usize| beside(arms, *events, size, way, kind);
                lines.extend(histories.iter().map(line));
            }
        }
        let flat = |(kind, allowed)| flat(arms, histories, size, kind, allowed);
        lines.extend([(&KINDS[0], FLAT_MS), (&KINDS[2], FLAT_CPU_MS)].map(flat));
    }
    lines
}

fn times(arms: &[(Arm, RefCell<Took>)], events: usize, size: Size, way: Way, kind: &Kind) -> Times {
    let arm = Arm {
        events,
        size,
        way,
        sync: kind.sync,
    };
    let found = arms.iter().find(|(a, _)| *a == arm);
    let took = &found.expect("because all arms were run").1;
    Times::from((kind.of)(&took.borrow()).clone())
}

fn beside(arms: &[(Arm, RefCell<Took>)], events: usize, size: Size, way: Way, kind: &Kind) -> Line {
    let of = |way| times(arms, events, size, way, kind);
    let value = |way| (kind.shown)(of(way).median());
    let what = format!("{}, {}: {}", size.name, kind.name, way.name());
    let line =
        Line::new(what, value(way), kind.unit, of(way).n()).column(format!("{events} events"));
    if way.is_by_hand() {
        return line;
    }
    let by_hand = value(Way::Raw);
    let line = line.against("by hand", by_hand);
    match kind.bound {
        Some((text, kept)) if way == Way::Commit => line.bound(text, kept(value(way) / by_hand)),
        _ => line,
    }
}

fn flat(
    arms: &[(Arm, RefCell<Took>)],
    histories: &[usize],
    size: Size,
    kind: &Kind,
    allowed_ms: f64,
) -> Line {
    let few = histories.first().copied().unwrap_or_default();
    let many = histories.last().copied().unwrap_or_default();
    let of = |events| times(arms, events, size, Way::Commit, kind);
    let (short, long) = (of(few).median(), of(many).median());
    let most = (short * FLAT_SHARE).max(short + allowed_ms);
    let what = format!("{}, {}: {many} events against {few}", size.name, kind.name);
    Line::new(what, long * 1000.0, "µs", of(many).n())
        .against(format!("{few} events"), short * 1000.0)
        .bound(
            format!("flat ({FLAT_SHARE} × or {allowed_ms} ms)"),
            long <= most,
        )
}
