//! Sessions that were stored before there were links to ask for.

use serde_json::json;

use super::property::attached_links;
use crate::harness::World;

/// The first schema, as it was shipped.
const FIRST: &str = include_str!("../../../ledger/migrations/sqlite/0001_spine.sql");

#[test]
fn a_session_of_the_first_schema_is_brought_over_and_linked() {
    let world = World::new();
    let repo = world.at(&world.root);
    std::fs::create_dir(world.siglum_home()).unwrap();
    let store = world.store();
    store.execute_batch(FIRST).unwrap();
    store.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
         INSERT INTO meta VALUES ('ledger', x'01930000000070008000000000000001');
         INSERT INTO meta VALUES ('key', zeroblob(32));
         INSERT INTO meta VALUES ('min_reader', 1);
         INSERT INTO meta VALUES ('min_writer', 1);
         INSERT INTO repositories VALUES (x'01930000000070008000000000000002', 'github.com/o/r', 5);
         INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, created_at, last_at, ended_at, repository)
             VALUES (x'01930000000070008000000000000003', 'codex', 'old', x'01930000000070008000000000000001',
                     'observed', 'live', 5, 6, 7, x'01930000000070008000000000000002');
         INSERT INTO aliases VALUES ('codex', 'old', x'01930000000070008000000000000003', 5);
         INSERT INTO checkpoints (id, kind, repository, at)
             VALUES (x'01930000000070008000000000000004', 'manual', x'01930000000070008000000000000002', 6);
         INSERT INTO pins (checkpoint, session, sequence)
             VALUES (x'01930000000070008000000000000004', x'01930000000070008000000000000003', 0);",
    )
    .unwrap();
    drop(store);
    let session = "ses_01930000000070008000000000000003";
    let shown = world.json(&repo.dir, &["session", "show", session]);
    assert_eq!(shown["session"]["links"], json!([]));
    repo.siglum(&["link", "add", "old", "issue=42", "pr=7"])
        .ok();
    let wanted = ["issue_number=42", "pr_number=7"].map(str::to_owned).into();
    let shown = world.json(&repo.dir, &["session", "show", session]);
    assert_eq!(attached_links(&shown["session"]), wanted);
    let listed = world.json(
        &repo.dir,
        &["session", "list", "--all", "--link", "issue=42"],
    );
    assert_eq!(listed["items"][0]["id"], session, "{listed}");
    // The gateway that serves this ledger says so, too, also of the checkpoint that was there before.
    let served = super::served::Served::over(&world, &world.siglum_home());
    let checkpoint = served.get("/v1/checkpoints/chk_01930000000070008000000000000004");
    assert_eq!(
        attached_links(&checkpoint["pins"][0]),
        wanted,
        "{checkpoint}"
    );
    let found = served.get("/v1/sessions?issue_number=42&pr_number=7");
    assert_eq!(found["items"][0]["id"], session, "{found}");
    let audit = served.get(&format!("/v1/audit?session={session}"));
    assert_eq!(audit["items"][0]["action"], "link.attached", "{audit}");
}
