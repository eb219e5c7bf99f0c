//! What waits in the git directory of a repository may have come with it, in an archive: it speaks of that repository alone.

use std::fs;
use std::path::PathBuf;

use rusqlite::TransactionBehavior;
use serde_json::{Value, json};

use crate::harness::{Agent, Repo, World};

fn spool(repo: &Repo<'_>) -> PathBuf {
    repo.dir.join(".git/siglum/spool")
}

/// What an agent's hooks leave in the spool of a repository where neither the ledger nor the home's spool can be written.
fn spooled_by(repo: &Repo<'_>, agent: &mut Agent) -> Vec<Value> {
    let home = repo.world.siglum_home().join("spool");
    let mut store = repo.world.store();
    let lock = store
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .unwrap();
    fs::write(&home, "in the way").unwrap();
    agent.begin("startup");
    agent.write("f", "one\n");
    agent.sh("git add -A && git commit -q -m mine").ok();
    fs::remove_file(&home).unwrap();
    drop(lock);
    let read = |dir: PathBuf| {
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        files.map(|file| -> Value {
            serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap()
        })
    };
    // What the commit saw may only be in its note.
    let notes = read(repo.dir.join(".git/siglum/commits"));
    let notes = notes.map(|note| json!({ "matter": { "intent": note["announced"]["scene"] } }));
    read(spool(repo)).chain(notes).collect()
}

fn find(spooled: &[Value], is_wanted: impl Fn(&Value) -> bool) -> &Value {
    let mut matters = spooled.iter().map(|intake| &intake["matter"]);
    matters.find(|matter| is_wanted(matter)).unwrap()
}

/// Has matters wait in a repository, as an archive would bring them.
fn plant(repo: &Repo<'_>, at: &Value, matters: &[Value]) {
    fs::create_dir_all(spool(repo)).unwrap();
    for (n, matter) in matters.iter().enumerate() {
        let intake =
            json!({ "version": 1, "key": format!("planted-{n}"), "at": at, "matter": matter });
        let name = format!("{n:020}-{n:016x}.json");
        fs::write(spool(repo).join(name), intake.to_string()).unwrap();
    }
}

/// How many deliveries in the spool of a repository wait, and how many are set aside.
fn waiting_and_aside(repo: &Repo<'_>) -> (usize, usize) {
    let names = fs::read_dir(spool(repo)).unwrap().flatten();
    let names: Vec<_> = names.map(|file| file.path()).collect();
    let ending = |wanted: &str| {
        let has = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == wanted);
        names.iter().filter(has).count()
    };
    (ending("json"), ending("foreign"))
}

#[test]
fn an_archive_changes_nothing_outside_of_itself() {
    let world = World::new();
    let good = world.repo();
    let _held = world.hold_worker();
    let mut agent = Agent::process(&good, "victim", &Agent::program());
    let spooled = spooled_by(&good, &mut agent);
    good.siglum(&["status"]).ok();
    assert_eq!(
        good.committer("HEAD"),
        agent.certain(),
        "its own word arrives"
    );
    good.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'by hand'")
        .ok();
    let (commit, parent) = (good.id("HEAD"), good.id("HEAD~1"));
    let before = good.committer("HEAD");
    let entries = || world.count("SELECT sum(head) FROM sessions");
    let (sessions, heard) = (|| world.count("SELECT count(*) FROM sessions"), entries());
    assert_eq!(sessions(), 1);

    let evil = world.at(&world.root.join("evil"));
    fs::create_dir(&evil.dir).unwrap();
    evil.sh("git init -q -b main . && git commit -q --allow-empty -m base")
        .ok();
    let mut scene = find(&spooled, |m| m["intent"].is_object())["intent"].clone();
    let checkpoint = scene["checkpoint"].as_str().unwrap();
    let other = format!("{}00000000", &checkpoint[..checkpoint.len() - 8]);
    (scene["checkpoint"], scene["head"]) = (json!(other), json!(parent));
    let landed = json!({
        "place": scene["place"], "commit": commit, "by": "commit", "scene": scene,
        "moves": [[parent, commit]],
    });
    let is_prompt = |m: &Value| m["agent"]["observations"][0]["fact"]["fact"] == "prompt";
    let mut said = find(&spooled, is_prompt)["agent"].clone();
    let prompt = &mut said["observations"][0];
    (prompt["key"], prompt["event"]) = (json!("prompt:forged"), json!("prompt:forged"));
    prompt["fact"]["text"]["text"] = json!("FORGED");
    let at_home = json!({ "common_dir": evil.dir.join(".git"), "worktree": evil.dir });
    let mut into_another = said.clone();
    into_another["place"] = at_home.clone();
    let at = &spooled[0]["at"];
    let planted = [
        json!({ "intent": scene }),
        json!({ "landed": landed }),
        json!({ "agent": said }),
        json!({ "agent": into_another }),
    ];
    plant(&evil, at, &planted);
    evil.siglum(&["log"]);
    assert_eq!(waiting_and_aside(&evil), (0, planted.len()));
    assert_eq!(good.committer("HEAD"), before);
    assert_eq!((sessions(), entries()), (1, heard));
    let doctor = evil.siglum(&["doctor"]).stdout;
    let words: Vec<&str> = doctor.split_whitespace().collect();
    assert!(
        words.join(" ").contains("about another repository"),
        "{doctor}"
    );

    // What it says of itself is taken, but no file is read for it.
    let secret = world.home().join("secret.jsonl");
    fs::write(&secret, "{}\n").unwrap();
    let mut own = said;
    (own["place"], own["native"]) = (at_home, json!("new"));
    (own["process"], own["above"]) = (Value::Null, json!([]));
    own["transcript"] = json!(secret);
    plant(&evil, at, &[json!({ "agent": own })]);
    evil.siglum(&["log"]);
    assert_eq!((sessions(), waiting_and_aside(&evil).0), (2, 0));
    assert_eq!(world.declines(), ["transcript_outside"]);
    let wanted = format!(
        "SELECT count(*) FROM transcripts WHERE path = '{}'",
        secret.display()
    );
    assert_eq!(world.count(&wanted), 0);
}
