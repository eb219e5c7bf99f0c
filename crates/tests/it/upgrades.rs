//! What `siglum upgrade --check` says, and that it only looks.

use serde_json::Value;

use crate::harness::World;

fn check(world: &World) -> Value {
    world.json(&world.root, &["upgrade", "--check"])
}

fn pretend(world: &World, schema: u32) {
    world
        .store()
        .execute_batch(&format!(
            "PRAGMA user_version = {schema}; UPDATE meta SET value = {schema} WHERE key IN ('min_reader', 'min_writer');"
        ))
        .unwrap();
}

#[test]
fn a_ledger_is_looked_at_and_stays_as_it_is() {
    let world = World::new();
    world.repo();
    let known = u32::try_from(world.count("PRAGMA user_version")).unwrap();
    for (schema, state) in [
        (known, "ready"),
        (known - 1, "waits"),
        (known + 1, "too-new"),
    ] {
        pretend(&world, schema);
        let ledger = &check(&world)["ledger"];
        assert_eq!(ledger["schema"], schema, "{ledger}");
        assert_eq!(ledger["known"], known, "{ledger}");
        assert_eq!(ledger["state"], state, "{ledger}");
        assert_eq!(world.count("PRAGMA user_version"), i64::from(schema));
    }
}

#[test]
fn nothing_is_begun_where_there_is_no_ledger() {
    let world = World::new();
    assert!(check(&world)["ledger"].is_null());
    assert!(!world.siglum_home().join("ledger.db").exists());
}

#[test]
fn a_release_says_whether_it_migrates() {
    let world = World::new();
    let repo = world.repo();
    let known = world.count("PRAGMA user_version");
    let release = |schema: i64| {
        let text = format!(
            r#"{{"release": 1, "version": "999.0.0", "schema": {{"sqlite": {schema}, "postgres": 1}}}}"#
        );
        std::fs::write(repo.dir.join("release.json"), text).unwrap();
        world.json(
            &repo.dir,
            &["upgrade", "--check", "--release", "release.json"],
        )
    };
    for (schema, migrates) in [(known, false), (known + 1, true)] {
        let answer = &release(schema)["release"];
        assert_eq!(answer["migrates"], migrates, "{answer}");
        assert_eq!(answer["is_newer"], true, "{answer}");
    }
    let ran = repo.siglum(&["upgrade", "--check", "--release", "file"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(repo.siglum(&["upgrade"]).code, Some(2));
}
