//! The kinds that other scanners know, held against the rules: what each is like is a fact, the rules are ours.

use std::collections::BTreeMap;

use super::draw::Draw;
use crate::redact::Redactor;

/// How often each form is filled in.
const DRAWS: usize = 3;

/// A kind of secret that a scanner names.
struct Kind {
    scanner: &'static str,
    name: &'static str,
    /// Whether it is known by its own form; else by a name before it.
    is_own: bool,
    form: &'static str,
}

impl Kind {
    /// Texts with one secret each, and the secret.
    fn samples(&self, draw: &mut Draw) -> Vec<(String, String)> {
        let near = |draw: &mut Draw, before: &str, after: &str| {
            let secret = draw.fill(self.form);
            (format!("{before}{secret}{after}"), secret)
        };
        if self.is_own {
            return vec![
                near(draw, "It is ", " for now."),
                near(draw, "{\"value\": \"", "\"}"),
                near(draw, "VALUE=", "\nPORT=8080"),
            ];
        }
        let name = self.name.replace('-', "_");
        let shouted = name.to_uppercase();
        vec![
            near(draw, &format!("{shouted}_API_KEY="), "\nPORT=8080"),
            near(draw, &format!("{{\"{name}_secret\": \""), "\"}"),
            near(draw, &format!("  {name}_token: '"), "'\n"),
        ]
    }

    /// A text that looks like it and is no secret: the form cut short, or the same signs without a name.
    fn lookalike(&self, draw: &mut Draw) -> Option<String> {
        let is_bare = self.form.starts_with('{') && self.form.ends_with('}');
        if self.form.contains("://") {
            return None;
        }
        if self.is_own {
            let literal = self.form.split('{').next().unwrap_or_default();
            return (literal.len() >= 2).then(|| format!("It begins with {literal} as a rule."));
        }
        (is_bare && self.form.matches('{').count() == 1)
            .then(|| draw.fill(&format!("build {} is done", self.form)))
    }
}

fn kinds() -> Vec<Kind> {
    let lines = include_str!("scanners.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [scanner, name, known, form] = columns[..] else {
            panic!("not four columns: {line}");
        };
        Kind {
            scanner,
            name,
            is_own: known == "own",
            form,
        }
    })
    .collect()
}

#[test]
fn every_kind_that_other_scanners_name_is_caught() {
    let mut draw = Draw::new();
    let (mut missed, mut hurt) = (Vec::new(), Vec::new());
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for kind in kinds() {
        let count = counts.entry(kind.scanner).or_default();
        // What is drawn decides, too: a form may have a sign in it, or not.
        let samples =
            (0..DRAWS).flat_map(|_| kind.samples(&mut draw).into_iter().collect::<Vec<_>>());
        let left: Vec<_> = samples
            .filter(|(text, secret)| {
                Redactor::shared()
                    .redact_cow(text)
                    .contains(secret.as_str())
            })
            .collect();
        count[0] += usize::from(left.is_empty());
        count[1] += 1;
        missed.extend(
            left.into_iter()
                .map(|(text, _)| (kind.scanner, kind.name, text)),
        );
        let Some(text) = kind.lookalike(&mut draw) else {
            continue;
        };
        let stays = Redactor::shared().redact_cow(&text) == text;
        count[2] += usize::from(stays);
        count[3] += 1;
        if !stays {
            hurt.push((kind.scanner, kind.name, text));
        }
    }
    for (scanner, [caught, kinds, spared, lookalikes]) in &counts {
        println!(
            "{scanner:<16} caught {caught:>4} of {kinds:>4}, spared {spared:>4} of {lookalikes:>4}"
        );
    }
    assert!(missed.is_empty(), "{} are left: {missed:#?}", missed.len());
    assert!(hurt.is_empty(), "{} are hurt: {hurt:#?}", hurt.len());
}
