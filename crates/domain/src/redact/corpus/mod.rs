//! The corpus: what must go and what must stay, held against the rules.
//!
//! The data files hold no secret, only what secrets look like, so that nobody's scanner takes them for one; the signs
//! are drawn here, the same ones in every run. `--no-capture` shows the table of what was caught and spared.

mod draw;
mod kinds;
mod scanners;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Redactor;
use draw::Draw;

/// A text with the secret in its middle.
#[derive(Debug)]
struct Sample {
    kind: String,
    before: String,
    secret: String,
    after: String,
}

/// Where a secret that is known by its own form is put.
const DRESSES: &[&str] = &[
    "I used «S» for the test run, and it worked.",
    "$ curl -s -H 'X-Service: «S»' https://api.example.com/v1/items\n{\"items\":[]}",
    "{\"id\": 7, \"value\": \"«S»\", \"ok\": true}",
    "@@ -1,2 +1,2 @@\n-key: old\n+key: «S»\n context",
    "service:\n  endpoint: https://example.com\n  value: \"«S»\"\n  port: 8080",
    "# local settings\nSERVICE_ID=«S»\nPORT=8080",
];

fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let blocks = text.split("\n%% ").skip(1);
    blocks.filter_map(|block| block.split_once('\n'))
}

fn samples() -> Vec<Sample> {
    let mut draw = Draw::new();
    let mut samples = Vec::new();
    let mut add = |kind: &str, text: &str| {
        let (before, rest) = text
            .split_once('«')
            .expect("because a sample marks its secret");
        let (secret, after) = rest.rsplit_once('»').expect("because the mark ends");
        let unmarked = |text: &str| text.replace(['«', '»'], "");
        samples.push(Sample {
            kind: kind.to_owned(),
            before: unmarked(before),
            secret: unmarked(secret),
            after: unmarked(after),
        });
    };
    let kinds = include_str!("kinds.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    for (kind, form) in kinds.filter_map(|line| line.split_once('\t')) {
        for dress in DRESSES {
            // A form that ends behind a name is a secret only there.
            let (name, form) = form
                .rsplit_once(' ')
                .map_or(("", form), |(name, form)| (name, form));
            let marked = format!("{name}{}«{form}»", if name.is_empty() { "" } else { " " });
            add(kind, &draw.fill(&dress.replace("«S»", &marked)));
        }
    }
    for (kind, text) in blocks(include_str!("texts.txt")) {
        add(kind, &draw.fill(text));
    }
    samples
}

fn lookalikes() -> Vec<(String, String)> {
    let mut draw = Draw::new();
    let texts = blocks(include_str!("spared.txt"));
    texts
        .map(|(group, text)| (group.to_owned(), draw.fill(text.trim_end_matches('\n'))))
        .collect()
}

/// What is wrong with the redaction of a sample.
fn flaw(sample: &Sample) -> Option<String> {
    let Sample {
        before,
        secret,
        after,
        ..
    } = sample;
    let text = format!("{before}{secret}{after}");
    let redacted = Redactor::shared().redact_cow(&text);
    let pieces = pieces(secret);
    let left = |text: &str| {
        pieces
            .iter()
            .find(|piece| text.contains(piece.as_str()))
            .cloned()
    };
    if let Some(piece) = left(&redacted) {
        return Some(format!("`{piece}` is left in {redacted:?}"));
    }
    let is_apart = redacted.starts_with(before.as_str()) && redacted.ends_with(after.as_str());
    if !is_apart {
        return Some(format!(
            "what stands around it changed: {text:?} became {redacted:?}"
        ));
    }
    if redacted.matches('\n').count() != text.matches('\n').count() {
        return Some(format!("lines are gone: {redacted:?}"));
    }
    if let Ok(Value::Object(_)) = serde_json::from_str(&text)
        && serde_json::from_str::<Value>(&redacted).is_err()
    {
        return Some(format!("no JSON any more: {redacted}"));
    }
    let line = json!({ "content": text, "n": 1 }).to_string();
    let escaped = Redactor::shared().redact_cow(&line);
    if let Some(piece) = left(&escaped) {
        return Some(format!("`{piece}` is left inside JSON: {escaped}"));
    }
    match serde_json::from_str::<Value>(&escaped) {
        Ok(value) if value["n"] == 1 => None,
        _ => Some(format!("a line of JSON is none any more: {escaped}")),
    }
}

/// What may not survive of a secret: every line of it, and of long ones every part.
fn pieces(secret: &str) -> Vec<String> {
    let lines = secret
        .split(['\n', ' ', '→', '+', '>'])
        .flat_map(|line| line.split("\\n"));
    let lines = lines.filter(|line| line.len() >= 8 || line.len() == secret.len());
    lines
        .flat_map(|line| {
            let signs: Vec<char> = line.chars().collect();
            let size = signs.len().clamp(1, 16);
            signs
                .chunks(size)
                .filter(|c| c.len() == size)
                .map(String::from_iter)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Counts of good and all by kind, as a table.
fn table<'a>(title: &str, outcomes: impl Iterator<Item = (&'a str, bool)>) -> (usize, String) {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (kind, good) in outcomes {
        let count = counts.entry(kind).or_default();
        count.0 += usize::from(good);
        count.1 += 1;
    }
    let mut text = format!("\n{title}\n");
    for (kind, (good, all)) in &counts {
        let _ = writeln!(text, "  {kind:<40} {good:>3} of {all:>3}");
    }
    let sum = counts
        .values()
        .fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
    let _ = writeln!(
        text,
        "  {:<40} {:>3} of {:>3}",
        format!("{} kinds", counts.len()),
        sum.0,
        sum.1
    );
    (counts.len(), text)
}

#[test]
fn every_kind_of_secret_is_caught_and_no_lookalike_is_hurt() {
    let samples = samples();
    let flaws: Vec<_> = samples.iter().map(|s| (s.kind.as_str(), flaw(s))).collect();
    let (kinds, caught) = table(
        "caught",
        flaws.iter().map(|(kind, flaw)| (*kind, flaw.is_none())),
    );
    let lookalikes = lookalikes();
    let stays = |text: &str| Redactor::shared().redact_cow(text) == text;
    let hurt: Vec<_> = lookalikes
        .iter()
        .map(|(group, text)| (group.as_str(), text, stays(text)))
        .collect();
    let (_, spared) = table(
        "spared",
        hurt.iter().map(|(group, _, good)| (*group, *good)),
    );
    println!("{caught}{spared}");
    let mut wrong: Vec<String> = flaws
        .into_iter()
        .filter_map(|(kind, flaw)| Some(format!("{kind}: {}", flaw?)))
        .collect();
    let redacted = |text: &str| Redactor::shared().redact_cow(text).into_owned();
    wrong.extend(
        hurt.into_iter()
            .filter(|(_, _, good)| !good)
            .map(|(group, text, _)| format!("{group}: {text:?} became {:?}", redacted(text))),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        kinds >= 60 && lookalikes.len() >= 200,
        "{kinds} kinds, {} look-alikes",
        lookalikes.len()
    );
}

#[test]
fn every_kind_has_several_samples() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for sample in samples() {
        *counts.entry(sample.kind).or_default() += 1;
    }
    let few: Vec<_> = counts.iter().filter(|(_, n)| **n < 3).collect();
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn lookalikes_stay_readable_inside_json() {
    for (_, text) in lookalikes() {
        let line = json!({ "content": text }).to_string();
        assert_eq!(Redactor::shared().redact_cow(&line), line);
        let nested = json!({ "line": line }).to_string();
        assert_eq!(Redactor::shared().redact_cow(&nested), nested);
    }
}

/// A secret is found wherever it stands in a long text, and what stands before or after does not matter.
#[test]
fn a_secret_is_caught_at_every_place() {
    let filler = "the quick brown fox jumps over the lazy dog; let n = 12;\n";
    for sample in samples().iter().step_by(7) {
        for shift in [1_000, 4_090, 70_000] {
            let long = filler.repeat(shift / filler.len() + 1);
            let text = format!(
                "{long}\n{}{}{}\n{long}",
                sample.before, sample.secret, sample.after
            );
            let alone = format!("{}{}{}", sample.before, sample.secret, sample.after);
            let wanted = format!("{long}\n{}\n{long}", Redactor::shared().redact_cow(&alone));
            assert!(
                Redactor::shared().redact_cow(&text) == wanted,
                "{} at {shift}",
                sample.kind
            );
        }
    }
}
