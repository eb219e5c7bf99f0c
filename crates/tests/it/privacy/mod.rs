//! What leaves: of three repositories in one ledger one is in scope, and no byte of the others arrives anywhere.

mod launches;
mod scopes;
mod ways;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Agent, Gateway, OtlpSink, Repo, World, until};
use crate::launching::Launch;

/// What stands in each text of the repository that is in scope.
const INSIDE: &str = "goes-with-it";
/// What stands in those of the others.
const OUTSIDE: [&str; 2] = ["kept-secret-one", "kept-secret-two"];

/// A repository whose path has the mark, with Siglum switched on.
fn marked_repo<'w>(world: &'w World, mark: &str) -> Repo<'w> {
    let dir = world.root.join(format!("{mark}-repo"));
    fs::create_dir(&dir).unwrap();
    let script = "git init -q -b main . && git commit -q --allow-empty -m base";
    world.sh(&dir, script).ok();
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    repo
}

/// A session that does something in a checkout, with the mark in each text that it leaves.
fn play(mut agent: Agent, mark: &str) {
    agent.begin("startup");
    agent.prompt(&format!("{mark}-prompt"));
    agent.write(&format!("{mark}-file.txt"), &format!("{mark}-text\n"));
    agent.sh(&format!(
        "echo {mark}-output; git add . && git commit -q -m {mark}-subject"
    ));
    agent.stop();
    agent.end("exit");
    agent.quit();
}

/// A session of its own in each of three repositories, all of it sealed. The first repository is the one in scope.
fn three(world: &World) -> [Repo<'_>; 3] {
    let marks = [INSIDE, OUTSIDE[0], OUTSIDE[1]];
    let repos = marks.map(|mark| marked_repo(world, mark));
    for (repo, mark) in repos.iter().zip(marks) {
        play(
            Agent::process(repo, &format!("{mark}-session"), &Agent::program()),
            mark,
        );
        let label = format!("label=mark={mark}-label");
        repo.siglum(&["link", "add", &format!("{mark}-session"), &label])
            .ok();
    }
    until("the worker has left", || world.processes().is_empty());
    repos[0].siglum(&["worker", "--once"]).ok();
    repos
}

fn all_files(dir: &Path) -> Vec<u8> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        found.extend(entry.file_name().to_string_lossy().bytes());
        match entry.path().is_dir() {
            true => found.extend(all_files(&entry.path())),
            false => found.extend(fs::read(entry.path()).unwrap_or_default()),
        }
    }
    found
}

/// All that a gateway got, as it came, unpacked and stored.
fn received(gateway: &Gateway) -> Vec<u8> {
    let mut all = all_files(gateway.home());
    for request in gateway.requests() {
        all.extend(request.path.bytes());
        all.extend(zstd::decode_all(&*request.body).unwrap_or_default());
        all.extend(&request.body);
    }
    all
}

/// All that a server of telemetry got.
fn exported(sink: &OtlpSink) -> Vec<u8> {
    let requests = sink.requests().into_iter();
    requests
        .flat_map(|request| [request.request.to_string().into_bytes(), request.sent].concat())
        .collect()
}

fn has(all: &[u8], mark: &str) -> bool {
    all.windows(mark.len())
        .any(|window| window == mark.as_bytes())
}

/// The marks inside are there, and those outside are not.
#[track_caller]
fn is_private(way: &str, all: &[u8], wanted: &[&str]) {
    for end in wanted {
        let mark = format!("{INSIDE}{end}");
        assert!(has(all, &mark), "{way}: {mark} is missing");
    }
    for mark in OUTSIDE {
        assert!(!has(all, mark), "{way}: {mark} left");
    }
}

#[test]
fn no_byte_of_a_repository_outside_leaves_by_a_gateway() {
    let world = World::new();
    let [inside, ..] = three(&world);
    for more in [&[][..], &["--once"]] {
        let gateway = Gateway::start(&world);
        let planned = ["sync", "--to", &gateway.url, "--dry-run"];
        let planned = world.json(&inside.dir, &planned);
        let reach = &planned["destinations"][0]["reach"];
        assert_eq!(*reach, json!({"sessions": 1, "outside": 2}), "{planned}");
        let sync = [&["sync", "--to", &gateway.url], more].concat();
        let text = inside.siglum(&sync).ok();
        assert!(text.contains("up to date"), "{text}");
        assert!(text.contains("1 session in scope, 2 outside"), "{text}");
        let all = received(&gateway);
        let wanted = [
            "-prompt",
            "-file.txt",
            "-output",
            "-subject",
            "-repo",
            "-label",
        ];
        is_private(&format!("sync {more:?}"), &all, &wanted);
        fs::remove_dir_all(gateway.home()).unwrap();
    }
}

#[test]
fn no_byte_of_a_repository_outside_reaches_an_agent() {
    let world = World::new();
    let [inside, one, _] = three(&world);
    let other = one.dir.to_str().unwrap();
    let kept = format!("{}-session", OUTSIDE[0]);
    let commit = one.id("HEAD");
    let calls = [
        ("search", json!({"words": "prompt"})),
        ("cost", json!({"by": "session"})),
        ("why", json!({"commit": "HEAD"})),
        (
            "show",
            json!({"session": format!("{INSIDE}-session"), "full": true}),
        ),
        ("search", json!({"words": "prompt", "all": true})),
        ("cost", json!({"by": "session", "all": true})),
        ("why", json!({"commit": commit})),
    ];
    let answers = crate::mcp::ask(&inside, &calls, |command| inside.sh(command).ok());
    let all = json!(answers).to_string().into_bytes();
    is_private("mcp", &all, &["-prompt", "-file.txt", "-session"]);
    // Whoever names what is outside gets back no more than what he said.
    let named = [
        ("show", json!({"session": kept, "full": true})),
        ("cost", json!({"session": kept})),
        ("link", json!({"session": kept, "links": ["issue=42"]})),
        ("why", json!({"commit": "HEAD", "directory": other})),
        ("search", json!({"words": "prompt", "directory": other})),
        ("cost", json!({"directory": other})),
    ];
    for answer in crate::mcp::ask(&inside, &named, |command| inside.sh(command).ok()) {
        assert_eq!(answer["result"]["isError"], Value::Bool(true), "{answer}");
        let text = answer.to_string();
        for end in ["-prompt", "-file.txt", "-text", "-subject", "-output"] {
            assert!(!text.contains(&format!("{}{end}", OUTSIDE[0])), "{text}");
        }
    }
}
