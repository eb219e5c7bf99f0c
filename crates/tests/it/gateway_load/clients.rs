//! The clients that are given as examples do what they say: over a wire on which answers are lost, they create a session,
//! commit turns, read them back, follow them and end it, and the program itself shows the same.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::lossy::Lossy;
use super::served::Served;
use crate::harness::World;

/// What is in the requests whose first answer is lost: the creation, the lease, a turn, the stream, the end.
const LOST: [&str; 5] = ["nightly", "/lease ", "/turns/turn-2 ", "/stream ", "/end "];

fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../../examples")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// Runs a client in a new world, and compares what it tells with what the program shows.
#[track_caller]
fn check(client: impl FnOnce(&World) -> Command) {
    let world = World::new();
    let token = world.json(&world.root, &["token", "create"]);
    let served = Served::start(&world, &[]);
    let wire = Lossy::before(&served.address, &LOST);
    let mut client = client(&world);
    client
        .arg("a-conversation")
        .env("SIGLUM_GATEWAY", format!("http://{}", wire.address))
        .env("SIGLUM_GATEWAY_TOKEN", token["secret"].as_str().unwrap());
    let output = client.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(wire.lost.load(Ordering::SeqCst), 5, "answers were lost");
    read_as_written(&report);
    let id = report["session"].as_str().unwrap();
    let shown = world.json(&world.root, &["session", "show", id, "--full"]);
    same_as_shown(&report, &shown);
    let listed = world.json(&world.root, &["session", "list", "--all"]);
    assert_eq!(
        listed["sessions"].as_array().unwrap().len(),
        1,
        "one session was created"
    );
}

/// What it read is what it wrote, once.
#[track_caller]
fn read_as_written(report: &Value) {
    let receipts = report["receipts"].as_array().unwrap();
    assert_eq!(receipts.len(), 3);
    assert_eq!(report["again"], receipts[2]);
    assert_eq!(report["streamed"], report["receipts"]);
    assert_eq!(report["resumed"], json!(receipts[1..]));
    assert_eq!(report["entries"].as_array().unwrap().len(), 12);
    let refusals = report["refusals"].as_array().unwrap();
    let of = |at: usize, name: &str| refusals[at][name].clone();
    assert_eq!(
        (of(0, "status"), of(0, "code"), of(0, "field")),
        (
            json!(400),
            json!("invalid-field"),
            json!("links.issue_number")
        )
    );
    assert_eq!(
        (of(1, "status"), of(1, "code")),
        (json!(409), json!("conflict"))
    );
    assert!(
        refusals
            .iter()
            .all(|r| r["detail"].as_str().unwrap().len() > 10)
    );
}

/// The program shows what the client was told, and what it said.
#[track_caller]
fn same_as_shown(report: &Value, shown: &Value) {
    let of_gateway = &report["shown"];
    let same = "agent conversation_id head sealed created_at last_at ended_at origin";
    for name in same.split(' ') {
        assert_eq!(shown[name], of_gateway[name], "{name}");
    }
    assert_eq!(shown["session"], report["session"]);
    assert_eq!(
        (&shown["state"], &of_gateway["end"]),
        (&json!("ended"), &json!("completed"))
    );
    // The program says of each link where it came from, too.
    let links = |of: &Value| -> Vec<(Value, Value)> {
        let links = of["links"].as_array().unwrap().iter();
        links
            .map(|l| (l["field"].clone(), l["value"].clone()))
            .collect()
    };
    assert_eq!(links(shown), links(of_gateway));
    assert_eq!(links(shown)[3], (json!("label"), json!("team=parts")));
    let turns: Vec<Value> = shown["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            json!([
                t["state"],
                t["prompt"],
                t["last_message"],
                t["tools"][0]["output"]
            ])
        })
        .collect();
    let expected_turn = |n: u32| {
        let (prompt, answer) = (
            format!("Please sort list {n}."),
            format!("List {n} is sorted ✓."),
        );
        json!(["sealed", prompt, answer, "ok"])
    };
    assert_eq!(
        turns,
        [expected_turn(1), expected_turn(2), expected_turn(3)]
    );
}

#[test]
fn the_python_client_keeps_its_word() {
    check(|world| {
        let mut python = world.command("python3");
        python
            .args(["-B", "-W", "error"])
            .arg(example("client-python").join("demo.py"));
        python
    });
}

#[test]
fn the_typescript_client_is_checked_and_keeps_its_word() {
    let (Some(modules), Some(node)) = (
        std::env::var_os("SIGLUM_LAB_TYPESCRIPT"),
        std::env::var_os("SIGLUM_LAB_NODE"),
    ) else {
        eprintln!("not shown: SIGLUM_LAB_TYPESCRIPT and SIGLUM_LAB_NODE are not set");
        return;
    };
    let node = PathBuf::from(node).join("node");
    check(|world| {
        let dir = world.root.join("client");
        std::fs::create_dir(&dir).unwrap();
        for file in std::fs::read_dir(example("client-typescript")).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), dir.join(file.file_name())).unwrap();
            }
        }
        std::os::unix::fs::symlink(&modules, dir.join("node_modules")).unwrap();
        let mut tsc = world.command(&node);
        tsc.arg("node_modules/typescript/bin/tsc").current_dir(&dir);
        let built = tsc.output().unwrap();
        let output = String::from_utf8_lossy(&built.stdout);
        assert!(built.status.success(), "{output}");
        let mut demo = world.command(&node);
        demo.arg(dir.join("out/demo.js"));
        demo
    });
}
