//! What was measured against what, and whether it is within its bound.

use serde_json::{Value, json};

use crate::args::Args;
use crate::machine::Machine;

/// One line of the report.
#[derive(Default)]
pub(crate) struct Line {
    /// What was measured.
    pub(crate) what: String,
    /// The median, or the only value.
    pub(crate) value: f64,
    /// `ms`, `MB`, `MB/s`, `s`.
    pub(crate) unit: &'static str,
    /// The 95th percentile, where a bound speaks of it.
    pub(crate) p95: Option<f64>,
    /// How often it was measured.
    pub(crate) n: usize,
    /// What it is measured against, in the same unit.
    pub(crate) against: Option<(String, f64)>,
    /// Lines of the same name with a column each stand side by side.
    pub(crate) column: Option<String>,
    /// The bounds, each with whether it was kept. A line without any is for reading.
    pub(crate) bounds: Vec<(String, bool)>,
}

impl Line {
    /// A line about times, or anything else with a unit.
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: &'static str, n: usize) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
            n,
            ..Self::default()
        }
    }

    pub(crate) fn against(mut self, what: impl Into<String>, value: f64) -> Self {
        self.against = Some((what.into(), value));
        self
    }

    pub(crate) fn p95(mut self, p95: f64) -> Self {
        self.p95 = Some(p95);
        self
    }

    pub(crate) fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    pub(crate) fn bound(mut self, text: impl Into<String>, kept: bool) -> Self {
        self.bounds.push((text.into(), kept));
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.against
            .as_ref()
            .map(|(_, against)| self.value / against)
    }

    fn kept(&self) -> bool {
        self.bounds.iter().all(|(_, kept)| *kept)
    }

    fn verdict(&self) -> String {
        let over: Vec<&str> = self
            .bounds
            .iter()
            .filter(|(_, kept)| !kept)
            .map(|(text, _)| text.as_str())
            .collect();
        match (self.bounds.is_empty(), over.is_empty()) {
            (true, _) => String::new(),
            (false, true) => "ok".to_owned(),
            (false, false) if self.bounds.len() == 1 => "over".to_owned(),
            (false, false) => format!("over: {}", over.join(", ")),
        }
    }

    fn cells(&self) -> [String; 8] {
        let bounds: Vec<&str> = self.bounds.iter().map(|(text, _)| text.as_str()).collect();
        [
            self.what.clone(),
            self.n.to_string(),
            format!("{} {}", number(self.value), self.unit),
            self.p95.map(number).unwrap_or_default(),
            self.against
                .as_ref()
                .map(|(what, value)| format!("{what} {}", number(*value)))
                .unwrap_or_default(),
            self.ratio().map(|r| format!("{r:.2}")).unwrap_or_default(),
            bounds.join(", "),
            self.verdict(),
        ]
    }

    fn json(&self, row: &str) -> Value {
        let bounds = self
            .bounds
            .iter()
            .map(|(text, kept)| json!({"bound": text, "kept": kept}));
        json!({
            "row": row, "what": self.what, "column": self.column, "n": self.n, "value": self.value, "unit": self.unit,
            "p95": self.p95, "ratio": self.ratio(),
            "against": self.against.as_ref().map(|(what, value)| json!({"what": what, "value": value})),
            "bounds": bounds.collect::<Vec<_>>(),
        })
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

const HEADS: [&str; 8] = [
    "what", "n", "median", "p95", "against", "ratio", "bound", "",
];

/// All lines of one run.
pub(crate) struct Report {
    json: bool,
    machine: Machine,
    lines: Vec<(&'static str, Line)>,
}

impl Report {
    /// Begins a report: the machine comes first.
    pub(crate) fn new(args: &Args, machine: Machine) -> Self {
        if !args.json {
            println!("{}\n", machine_line(&machine));
        }
        Self {
            json: args.json,
            machine,
            lines: Vec::new(),
        }
    }

    /// Takes the lines of a row and prints them.
    pub(crate) fn take(&mut self, row: &'static str, lines: Vec<Line>) {
        if !self.json {
            let (grid, list): (Vec<&Line>, Vec<&Line>) =
                lines.iter().partition(|line| line.column.is_some());
            println!("### {row}\n");
            if !list.is_empty() {
                println!("{}", table(&list));
            }
            if !grid.is_empty() {
                println!("{}", side_by_side(&grid));
            }
        }
        self.lines.extend(lines.into_iter().map(|line| (row, line)));
    }

    /// Tells whether every bound was kept.
    pub(crate) fn kept(&self) -> bool {
        self.lines.iter().all(|(_, line)| line.kept())
    }

    /// Prints the end: the object, or what is over its bound.
    pub(crate) fn finish(&self) {
        if self.json {
            return println!("{}", self.object());
        }
        let over: Vec<String> = self
            .lines
            .iter()
            .filter(|(_, line)| !line.kept())
            .map(|(_, line)| match &line.column {
                Some(column) => format!("{}, {column}", line.what),
                None => line.what.clone(),
            })
            .collect();
        if over.is_empty() {
            println!("Every bound was kept.");
        } else {
            println!("Over the bound: {}.", over.join("; "));
        }
    }

    fn object(&self) -> Value {
        let m = &self.machine;
        let lines: Vec<Value> = self.lines.iter().map(|(row, l)| l.json(row)).collect();
        json!({"schema": "siglum.bench.run/1", "data": {
            "machine": {
                "cores": m.cores, "memory_gb": m.memory_gb, "system": m.system, "git": m.git,
                "load": m.load, "empty_process_ms": m.empty_ms, "sync_ms": m.sync_ms,
            },
            "lines": lines,
        }})
    }
}

fn machine_line(m: &Machine) -> String {
    format!(
        "Machine: {} cores, {} GB, Linux {}, git {}, load {}; empty process {:.2} ms, fdatasync {:.2} ms (medians).",
        m.cores, m.memory_gb, m.system, m.git, m.load, m.empty_ms, m.sync_ms
    )
}

/// Lines one below the other.
fn table(lines: &[&Line]) -> String {
    let mut rows: Vec<Vec<String>> = vec![HEADS.map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(|line| line.cells().to_vec()));
    markdown(&rows)
}

/// Lines of the same name side by side: the median of each column, and the ratio of each to what it
/// is measured against.
fn side_by_side(lines: &[&Line]) -> String {
    let (mut names, mut columns): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in lines {
        let column = line.column.as_deref().unwrap_or_default();
        if !names.contains(&line.what.as_str()) {
            names.push(&line.what);
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let mut heads = vec!["what".to_owned(), "n".to_owned()];
    heads.extend(columns.iter().map(|c| (*c).to_owned()));
    heads.extend(["ratios", "bound", ""].map(str::to_owned));
    let mut rows = vec![heads];
    for name in names {
        let of: Vec<&&Line> = lines.iter().filter(|l| l.what == name).collect();
        rows.push(beside(name, &of, &columns));
    }
    markdown(&rows)
}

fn beside(name: &str, lines: &[&&Line], columns: &[&str]) -> Vec<String> {
    let at = |column: &str| lines.iter().find(|l| l.column.as_deref() == Some(column));
    let n = lines.first().map_or(0, |l| l.n);
    let mut row = vec![name.to_owned(), n.to_string()];
    row.extend(columns.iter().map(|column| {
        at(column).map_or_else(String::new, |l| format!("{} {}", number(l.value), l.unit))
    }));
    let ratios = columns.iter().filter_map(|c| at(c)?.ratio());
    let ratios: Vec<String> = ratios.map(|r| format!("{r:.2}")).collect();
    row.push(ratios.join(" "));
    let mut bounds: Vec<&str> = Vec::new();
    for (text, _) in lines.iter().flat_map(|l| &l.bounds) {
        if !bounds.contains(&text.as_str()) {
            bounds.push(text);
        }
    }
    row.push(bounds.join(", "));
    let over: Vec<&str> = lines
        .iter()
        .filter(|l| !l.kept())
        .filter_map(|l| l.column.as_deref())
        .collect();
    row.push(match (bounds.is_empty(), over.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "ok".to_owned(),
        (false, false) => format!("over: {}", over.join(", ")),
    });
    row
}

/// A Markdown table that also reads well as text.
fn markdown(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| {
        let cells = rows.iter().map(|r| r[at].chars().count());
        cells.max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}"));
        text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
        if number == 0 {
            let rules = widths.iter().map(|w| "-".repeat(*w));
            text.push_str(&format!("| {} |\n", rules.collect::<Vec<_>>().join(" | ")));
        }
    }
    text
}
