//! What an import cannot read, or only with effort: it says so, and goes on with the rest.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::{deleted_soon, lines, natives, project, set_age};
use crate::harness::{Repo, World, until};

/// The first prompt of a session with a pasted image, as Claude Code 2.1.329 writes it: its directory and its time stand
/// behind the message. Then its answer.
fn begins_with_image(repo: &Repo<'_>, native: &str, bytes: usize) -> String {
    let plain = lines(repo, native, None);
    let (prompt, answer) = plain.split_once('\n').unwrap();
    let mut prompt: Value = serde_json::from_str(prompt).unwrap();
    let data = "iVBORw0KGgo".repeat(bytes / 11);
    let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
    let content = json!([
        { "type": "image", "source": source },
        { "type": "text", "text": "What is wrong in this screenshot?" },
    ]);
    let mut behind = Vec::new();
    for key in ["cwd", "timestamp"] {
        let value = prompt.as_object_mut().unwrap().remove(key).unwrap();
        behind.push(format!(",\"{key}\":{value}"));
    }
    prompt["message"]["content"] = content;
    let head = prompt.to_string();
    let head = head.strip_suffix('}').unwrap();
    format!("{head}{}}}\n{answer}", behind.concat())
}

#[test]
fn a_session_that_begins_with_an_image_is_imported() {
    let world = World::new();
    let repo = world.repo();
    let path = project(&world).join("shot.jsonl");
    fs::write(&path, begins_with_image(&repo, "shot", 400 << 10)).unwrap();
    set_age(&path, 40 * 24 * 60 * 60);
    assert!(deleted_soon(&repo).is_some(), "it is deleted soon");
    let report = world.json(&repo.dir, &["import"]);
    assert_eq!(report["refused"], json!([]));
    assert_eq!(report["sessions"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(natives(&repo), ["shot"]);
    let shown = repo.siglum(&["show", "--full"]).ok();
    assert!(shown.contains("What is wrong in this screenshot?"));
    assert_eq!(deleted_soon(&repo), None);
}

#[test]
fn a_session_that_names_no_directory_in_much_is_refused() {
    let world = World::new();
    let repo = world.repo();
    let path = project(&world).join("long.jsonl");
    fs::write(&path, begins_with_image(&repo, "long", 9 << 20)).unwrap();
    // Nothing happened in it.
    fs::write(project(&world).join("empty.jsonl"), "{}\n").unwrap();
    let ran = repo.siglum(&["import"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let why = "long.jsonl was not imported: its first 8 MiB do not name the directory";
    assert!(ran.stderr.contains(why), "{ran:?}");
    assert!(!ran.stderr.contains("empty"), "{ran:?}");
    let doctor = repo.siglum(&["doctor"]).stdout;
    assert!(doctor.contains("transcript_unreadable"), "{doctor}");
}

/// The notes of `siglum doctor` about transcripts of which lines were skipped.
fn skipped(repo: &Repo<'_>) -> Vec<Value> {
    let ran = repo.siglum(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    let checks = answer["data"]["checks"].as_array().unwrap().iter();
    let is_it = |check: &&Value| check["text"].as_str().unwrap().starts_with("skipped ");
    checks.filter(is_it).cloned().collect()
}

/// Writes a line of zeros that takes no room on the disk.
fn write_long_line(file: &mut File, bytes: i64) {
    file.seek(SeekFrom::Current(bytes)).unwrap();
    file.write_all(b"\n").unwrap();
}

/// A prompt and an answer that follow those of a session.
fn later_lines(repo: &Repo<'_>, native: &str) -> String {
    lines(repo, native, None)
        .replace("user-", "later-")
        .replace("assistant-", "after-")
        .replace("msg_", "msg2_")
}

#[test]
fn lines_that_are_not_understood_are_told() {
    let world = World::new();
    let repo = world.repo();
    let path = project(&world).join("torn.jsonl");
    let whole = lines(&repo, "torn", None);
    let later = later_lines(&repo, "torn");
    let cut = &whole[..60];
    let mut file = File::create(&path).unwrap();
    writeln!(file, "{whole}{cut}").unwrap();
    file.write_all(b"{\"type\":\"user\xff\"}\n\n").unwrap();
    write_long_line(&mut file, 70 << 20);
    write!(file, "{later}").unwrap();
    drop(file);

    let first_at = whole.len();
    let report = world.json(&repo.dir, &["import"]);
    assert_eq!(
        report["skipped_lines"],
        json!([{ "path": path, "malformed": 1, "not_utf8": 1, "too_long": 1, "first_at": first_at }])
    );
    let cost = world.json(&repo.dir, &["cost"]);
    assert_eq!(cost["total"]["messages"], 2, "what follows them is read");
    let again = world.json(&repo.dir, &["import"]);
    assert_eq!(again["skipped_lines"], json!([]));

    // The same at a terminal, of another transcript.
    let other = project(&world).join("other.jsonl");
    fs::write(&other, lines(&repo, "other", None) + "{\n").unwrap();
    let ran = repo.siglum(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let at = fs::read(&other).unwrap().len() - 2;
    let said = format!("other.jsonl: 1 malformed; the first at byte {at}");
    assert!(
        ran.stderr.contains("warning: skipped 1 line of "),
        "{ran:?}"
    );
    assert!(ran.stderr.replace("\n", " ").contains(&said), "{ran:?}");
    let notes = skipped(&repo);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let text = "skipped 4 lines of 2 transcripts: 2 malformed, 1 not UTF-8, 1 longer than 64 MiB";
    assert_eq!(notes[0]["text"], text);
    let details = notes[0]["details"].as_array().unwrap();
    assert!(details[0].as_str().unwrap().ends_with(&said), "{details:?}");
    let all =
        format!("1 malformed, 1 not UTF-8, 1 longer than 64 MiB; the first at byte {first_at}");
    assert!(details[1].as_str().unwrap().ends_with(&all), "{details:?}");
}

/// Adds a prompt and an answer to a transcript, as of so many seconds ago.
fn go_on(repo: &Repo<'_>, path: &Path, native: &str, seconds: u64) {
    let before = fs::read_to_string(path).unwrap();
    fs::write(path, before + &later_lines(repo, native)).unwrap();
    set_age(path, seconds);
}

#[test]
fn a_damaged_session_holds_up_no_import() {
    const ALL: [&str; 3] = ["damaged", "second", "third"];
    let world = World::new();
    let repo = world.repo();
    let path = |native: &str| project(&world).join(format!("{native}.jsonl"));
    for native in ALL {
        fs::write(path(native), lines(&repo, native, None)).unwrap();
    }
    repo.siglum(&["import"]).ok();
    until("the worker is done", || world.worker_is_done());
    let _worker = world.hold_worker();
    let sql = "UPDATE observations SET payload = x'28b52ffd00' \
               WHERE session = (SELECT session FROM aliases WHERE native = 'damaged')";
    assert!(world.store().execute(sql, []).unwrap() > 0);
    // The damaged one is the newest, and comes first.
    for (native, seconds) in ALL.into_iter().zip([10, 1_000, 2_000]) {
        go_on(&repo, &path(native), native, seconds);
    }
    let ran = repo.siglum(&["import", "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    let report = &report["data"];
    let imported = report["sessions"].as_array().unwrap().iter();
    let imported: Vec<&str> = imported.map(|s| s["native_id"].as_str().unwrap()).collect();
    assert_eq!(imported, ["second", "third"], "{report}");
    let refused = report["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{report}");
    assert_eq!(refused[0]["path"], json!(path("damaged")));
    let reason = refused[0]["reason"].as_str().unwrap();
    assert!(reason.contains("damaged in the ledger"), "{reason}");
}

#[test]
fn init_says_what_it_could_not_import() {
    const SECRET: &str = "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi";
    let world = World::new();
    let dir = world.root.join("repo");
    fs::create_dir(&dir).unwrap();
    world
        .sh(
            &dir,
            "git init -q -b main . && git commit -q --allow-empty -m base",
        )
        .ok();
    let repo = world.at(&dir);
    let project = project(&world);
    let named = project.join(format!("ghp_{SECRET}.jsonl"));
    fs::write(&named, lines(&repo, "named", None)).unwrap();
    let init = || {
        let ran = repo.siglum(&["init", "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = ran.stderr.replace('\n', " ");
        assert!(
            said.contains("was not imported: the path of the transcript has a secret"),
            "{ran:?}"
        );
        assert!(!said.contains(SECRET), "{ran:?}");
        said
    };
    // With nothing else to import, and with something of which a line cannot be read.
    assert!(init().contains("let an agent commit"));
    fs::write(
        project.join("good.jsonl"),
        lines(&repo, "good", None) + "{\n",
    )
    .unwrap();
    let said = init();
    assert!(said.contains("Imported 1 session"), "{said}");
    assert!(said.contains("skipped 1 line of"), "{said}");
    let doctor = repo.siglum(&["doctor"]).stdout;
    assert!(doctor.contains("transcript_unreadable"), "{doctor}");
}
