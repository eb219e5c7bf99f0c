//! What an import shows: how long it takes still, and what it brought.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::{lines, project, set_age};
use crate::harness::{Repo, Terminal, World};

/// Sessions with these numbers, of which each is a minute older than the one before.
fn write_sessions(repo: &Repo<'_>, numbers: std::ops::Range<u64>) {
    for n in numbers {
        let native = format!("s{n:03}");
        let path = project(repo.world).join(format!("{native}.jsonl"));
        let then = format!("date -u -d '{n} minutes ago' +%Y-%m-%dT%H:%M:%S.000Z");
        let then = repo.sh(&then).ok();
        let mut text = String::new();
        for line in lines(repo, &native, None).lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["timestamp"] = json!(then);
            text.push_str(&format!("{line}\n"));
        }
        fs::write(&path, text).unwrap();
        set_age(&path, 60 * n);
    }
}

#[test]
fn an_import_shows_the_time_left_and_the_newest_sessions() {
    let world = World::new();
    let repo = world.repo();
    write_sessions(&repo, 2..27);
    let mut terminal = Terminal::open(&repo);
    terminal.run("stty rows 50 cols 80");
    let program = World::program();
    let shown = terminal.run(&format!(
        "NO_COLOR=1 TERM=xterm {} --no-pager import",
        program.display()
    ));
    assert!(shown.contains(" left"), "{shown}");
    let numbers: BTreeSet<&str> = shown
        .split("Please do the work of ")
        .skip(1)
        .map(|rest| &rest[..4])
        .collect();
    let newest: Vec<String> = (2..22).map(|n| format!("s{n:03}")).collect();
    assert_eq!(numbers, newest.iter().map(String::as_str).collect());
    assert!(shown.contains("… 5 more"), "{shown}");
    assert!(shown.contains("siglum session list --limit 0"), "{shown}");
}

#[test]
fn an_import_says_what_the_new_sessions_cost() {
    let world = World::new();
    let repo = world.repo();
    write_sessions(&repo, 2..4);
    let cost = || world.json(&repo.dir, &["cost", "--since", "all"])["total"]["cost"].clone();
    let report = world.json(&repo.dir, &["import"]);
    assert_eq!(report["cost"], cost());
    assert_eq!(report["cost"]["complete"], true);
    let of_two = report["cost"]["nano_usd"].as_u64().unwrap();
    assert!(of_two > 0, "{report}");
    // Of one that is new, not of all.
    write_sessions(&repo, 5..6);
    let again = world.json(&repo.dir, &["import"]);
    assert_eq!(again["cost"]["nano_usd"], json!(of_two / 2));
    let nothing = world.json(&repo.dir, &["import"]);
    assert_eq!(nothing["cost"], json!(null));

    write_sessions(&repo, 7..8);
    let ran = repo.siglum(&["import"]);
    assert!(ran.stderr.contains(", cost <$0.0001; "), "{ran:?}");
    // Prices that cannot be read keep nothing from being imported.
    let prices = world.home().join(".config/siglum/prices.json");
    fs::create_dir_all(prices.parent().unwrap()).unwrap();
    fs::write(&prices, "no prices").unwrap();
    write_sessions(&repo, 9..10);
    let ran = repo.siglum(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("prices.json"), "{ran:?}");
    assert!(ran.stderr.contains("Imported 1 session"), "{ran:?}");
}
