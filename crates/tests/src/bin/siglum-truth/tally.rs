//! The table of what came of all cases.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::constructions::CONSTRUCTIONS;
use crate::judge::Worth;

/// The counts of one construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) cases: u64,
    pub(crate) counts: BTreeMap<Worth, u64>,
}

impl Row {
    pub(crate) fn count(&self, worth: Worth) -> u64 {
        self.counts.get(&worth).copied().unwrap_or(0)
    }

    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        for (worth, count) in &other.counts {
            *self.counts.entry(*worth).or_default() += count;
        }
    }

    fn falses(&self) -> u64 {
        self.count(Worth::FalseLikely) + self.count(Worth::FalseCertain)
    }

    fn statements(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// All counts, and the cases that could not be played.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) rows: BTreeMap<String, Row>,
    pub(crate) broken: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        for (name, row) in other.rows {
            self.rows.entry(name).or_default().add(&row);
        }
        self.broken.extend(other.broken);
    }

    pub(crate) fn count_case(&mut self, construction: &str) {
        self.rows.entry(construction.to_owned()).or_default().cases += 1;
    }

    pub(crate) fn count(&mut self, row: &str, worth: Worth) {
        let row = self.rows.entry(row.to_owned()).or_default();
        *row.counts.entry(worth).or_default() += 1;
    }

    pub(crate) fn total(&self) -> Row {
        let mut total = Row::default();
        for row in self.rows.values() {
            total.add(row);
        }
        total
    }

    /// Whether nothing was false and all was played.
    pub(crate) fn is_good(&self) -> bool {
        self.total().falses() == 0 && self.broken.is_empty()
    }

    fn ordered(&self) -> impl Iterator<Item = (&str, &Row)> {
        let place = |name: &str| CONSTRUCTIONS.iter().position(|c| c.name == name);
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(name, _)| (place(name).unwrap_or(usize::MAX), (*name).clone()));
        rows.into_iter().map(|(name, row)| (name.as_str(), row))
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![format!(
            "{:16} {:>7} {:>10} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8}",
            "construction",
            "cases",
            "statements",
            "certain",
            "likely",
            "ambiguous",
            "unknown",
            "silent",
            "false-l",
            "false-c"
        )];
        let total = self.total();
        for (name, row) in self.ordered().chain([("total", &total)]) {
            lines.push(format!(
                "{name:16} {:7} {:10} {:8} {:8} {:9} {:8} {:8} {:8} {:8}",
                row.cases,
                row.statements(),
                row.count(Worth::Certain),
                row.count(Worth::Likely),
                row.count(Worth::Ambiguous),
                row.count(Worth::Unknown),
                row.count(Worth::Silent),
                row.count(Worth::FalseLikely),
                row.count(Worth::FalseCertain),
            ));
        }
        lines.join("\n")
    }

    pub(crate) fn summary(&self) -> String {
        let total = self.total();
        let named = total.count(Worth::Certain) + total.count(Worth::Likely);
        format!(
            "truth: {} cases, {} statements: {named} right, {} ambiguous, {} unknown, {} rightly silent, {} false ({} certain), {} not played",
            total.cases,
            total.statements(),
            total.count(Worth::Ambiguous),
            total.count(Worth::Unknown),
            total.count(Worth::Silent),
            total.falses(),
            total.count(Worth::FalseCertain),
            self.broken.len(),
        )
    }

    pub(crate) fn json(&self, seed: u64) -> Value {
        let row = |name: &str, row: &Row| {
            let mut value =
                json!({ "name": name, "cases": row.cases, "statements": row.statements() });
            for worth in Worth::ALL {
                value[worth.name()] = json!(row.count(worth));
            }
            value
        };
        let rows: Vec<Value> = self.ordered().map(|(name, r)| row(name, r)).collect();
        json!({
            "seed": seed, "constructions": rows, "total": row("total", &self.total()),
            "not_played": self.broken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_false_statement_or_one_case_left_out_is_too_much() {
        let mut tally = Tally::default();
        tally.count_case("orphans");
        tally.count("orphans", Worth::Certain);
        tally.count("orphans", Worth::Unknown);
        assert!(tally.is_good());
        let mut wrong = tally.clone();
        wrong.count("orphans (lines)", Worth::FalseLikely);
        assert!(!wrong.is_good());
        let line = "truth: 1 cases, 3 statements: 1 right, 0 ambiguous, 1 unknown, 0 rightly silent, 1 false (0 certain), 0 not played";
        assert_eq!(wrong.summary(), line);
        tally.broken.push("it hung".to_owned());
        assert!(!tally.is_good());
    }
}
