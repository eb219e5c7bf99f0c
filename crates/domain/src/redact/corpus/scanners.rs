//! The kinds that other scanners know, held against the rules: what each is like is a fact, the rules are ours.

use std::collections::BTreeMap;

use super::draw::Draw;
use super::kinds::{Kind, kinds};
use crate::redact::Redactor;

/// How often each form is filled in.
const DRAWS: usize = 3;

/// Texts with one secret of a kind each, and the secret.
fn samples(kind: &Kind, draw: &mut Draw) -> Vec<(String, String)> {
    let near = |draw: &mut Draw, before: &str, after: &str| {
        let secret = draw.fill(kind.form);
        (format!("{before}{secret}{after}"), secret)
    };
    if kind.is_own {
        return vec![
            near(draw, "It is ", " for now."),
            near(draw, "{\"value\": \"", "\"}"),
            near(draw, "VALUE=", "\nPORT=8080"),
        ];
    }
    let name = kind.name.replace('-', "_");
    let shouted = name.to_uppercase();
    vec![
        near(draw, &format!("{shouted}_API_KEY="), "\nPORT=8080"),
        near(draw, &format!("{{\"{name}_secret\": \""), "\"}"),
        near(draw, &format!("  {name}_token: '"), "'\n"),
    ]
}

#[test]
fn every_kind_that_other_scanners_name_is_caught() {
    let mut draw = Draw::new();
    let (mut missed, mut hurt) = (Vec::new(), Vec::new());
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for kind in kinds() {
        let count = counts.entry(kind.scanner).or_default();
        // What is drawn decides, too: a form may have a sign in it, or not.
        let drawn: Vec<_> = (0..DRAWS).flat_map(|_| samples(&kind, &mut draw)).collect();
        let planted = drawn.len();
        let left: Vec<_> = drawn
            .into_iter()
            .filter(|(text, secret)| {
                Redactor::shared()
                    .redact_cow(text)
                    .contains(secret.as_str())
            })
            .collect();
        let caught = planted - left.len();
        count[0] += usize::from(left.is_empty());
        count[1] += 1;
        missed.extend(
            left.into_iter()
                .map(|(text, _)| (kind.scanner, kind.name, text)),
        );
        let lookalike = kind.lookalike(&mut draw);
        let spared = lookalike
            .as_ref()
            .map(|text| Redactor::shared().redact_cow(text) == text.as_str());
        println!(
            "{} {}: caught {caught} of {planted}, look-alike {}",
            kind.scanner,
            kind.name,
            spared.map_or("none", |spared| if spared { "spared" } else { "hurt" })
        );
        count[2] += usize::from(spared == Some(true));
        count[3] += usize::from(spared.is_some());
        if spared == Some(false) {
            hurt.push((kind.scanner, kind.name, lookalike));
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
