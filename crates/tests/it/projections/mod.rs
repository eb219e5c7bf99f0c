//! Whoever else gets what is committed: all of it, in order, once in effect, and nothing before its commit.

mod commands;
mod driven;
mod driver;
mod killed;
mod sinks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Agent, Repo, World, until};

/// The receipts of each session, by number, with what each is: its digest.
type Receipts = BTreeMap<String, Vec<(u64, String)>>;

fn sealed(world: &World) -> Receipts {
    let store = world.store();
    let mut query = store
        .prepare(
            "SELECT lower(hex(session)), number, digest FROM receipts ORDER BY session, number",
        )
        .unwrap();
    let mut found = Receipts::new();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    for row in rows.unwrap() {
        let (session, number, digest): (String, i64, String) = row.unwrap();
        let of = found.entry(format!("ses_{session}")).or_default();
        of.push((u64::try_from(number).unwrap(), digest));
    }
    found
}

/// The lines that a sink has of each session. A line that is not whole is a fault.
fn lines(dir: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for file in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some(session) = name.strip_suffix(".jsonl") else {
            continue;
        };
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        let lines = text.lines().map(|l| serde_json::from_str(l).expect(l));
        found.insert(session.to_owned(), lines.collect());
    }
    found
}

/// The receipts that a sink has, in the order in which it has them.
fn shown(dir: &Path) -> Receipts {
    let receipt = |line: &Value| {
        let receipt = &line["receipt"];
        let digest = receipt["digest"].as_str().unwrap().to_owned();
        (receipt["number"].as_u64().unwrap(), digest)
    };
    let all = lines(dir).into_iter();
    all.map(|(session, lines)| (session, lines.iter().map(receipt).collect()))
        .collect()
}

/// Waits until everything that was said is sealed. How many receipts that makes depends on how soon a worker came.
#[track_caller]
fn until_sealed(world: &World) {
    let open = "SELECT count(*) FROM sessions WHERE head > sealed";
    until("everything is sealed", || {
        world.spooled() == 0 && world.count(open) == 0
    });
}

/// Waits until everything that was said is sealed, and a sink has it.
#[track_caller]
fn until_all(world: &World, dir: &Path) {
    until_sealed(world);
    until("the sink has everything that is sealed", || {
        whole(dir) && shown(dir) == sealed(world)
    });
}

/// Whether no line is being written just now.
fn whole(dir: &Path) -> bool {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = files.filter(|f| f.path().extension().is_some_and(|e| e == "jsonl"));
    ours.into_iter().all(|file| {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        text.is_empty() || text.ends_with('\n')
    })
}

/// A projection into a directory of this world.
#[track_caller]
fn directory(repo: &Repo<'_>, name: &str) -> PathBuf {
    let dir = repo.world.root.join(name);
    let target = dir.to_str().unwrap();
    let add = ["projection", "add", name, "--directory", target];
    repo.siglum(&[&add[..], &["--all-repositories"]].concat())
        .ok();
    dir
}

/// A projection into a script of this world, which gets its root as `$1` and the line as `$line`.
#[track_caller]
fn program(repo: &Repo<'_>, name: &str, script: &str) -> PathBuf {
    let root = &repo.world.root;
    let dir = root.join(name);
    fs::create_dir(&dir).unwrap();
    let file = root.join(format!("{name}.sh"));
    let text = format!(
        "cd '{}' || exit 1\nto=\"{name}/$SIGLUM_SESSION.jsonl\"\n\
         if [ \"$SIGLUM_PROJECTION\" = reset ]; then rm -f \"$to\"; exit 0; fi\nline=$(cat)\n{script}\n",
        root.display()
    );
    fs::write(&file, text).unwrap();
    let command = format!("sh '{}'", file.display());
    let add = ["projection", "add", name, "--program", &command];
    repo.siglum(&[&add[..], &["--all-repositories"]].concat())
        .ok();
    dir
}

/// What a script of [`program`] does to keep the line.
const KEEP: &str = "printf '%s\\n' \"$line\" >> \"$to\"";

#[track_caller]
fn turn(agent: &mut Agent, text: &str) {
    agent.prompt(text);
    agent.stop();
}

/// The id of the session that an agent calls so.
#[track_caller]
fn session(repo: &Repo<'_>, agent: &Agent) -> String {
    let shown = repo
        .world
        .json(&repo.dir, &["session", "show", &agent.native]);
    shown["session"]["id"].as_str().unwrap().to_owned()
}

/// One projection as `siglum projection show` tells it.
#[track_caller]
fn standing(repo: &Repo<'_>, name: &str) -> Value {
    repo.world.json(&repo.dir, &["projection", "show", name])
}

fn workers(world: &World) -> Vec<u32> {
    let is_worker = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).nth(1) == Some(b"worker")
    };
    world.processes().into_iter().filter(is_worker).collect()
}
