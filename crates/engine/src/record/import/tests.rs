use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, LedgerId, Oid};
use siglum_gitstore::ObjectStore;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{SeenBy, SqliteLedger};

use super::*;
use crate::Here;

const SESSION: &str = "82d22249-95b9-4a69-be00-56b628d51d90";
const MADE: i64 = 1_795_000_000;

struct Counted(std::sync::atomic::AtomicU64);

impl IdSource for Counted {
    fn fresh(&self) -> uuid::Uuid {
        let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        uuid::Uuid::from_u64_pair(1, n + 1)
    }
}

/// A repository with a commit of a session, one of a person, and one that a person made of what the
/// session left; and the transcript.
struct Machine {
    dir: tempfile::TempDir,
    ids: Counted,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
            ids: Counted(std::sync::atomic::AtomicU64::new(0)),
        };
        std::fs::create_dir(machine.repo()).unwrap();
        machine.git(&["init", "-q", "-b", "main"], 0);
        machine
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    #[expect(clippy::disallowed_methods, reason = "the test plays a person at git")]
    fn git(&self, args: &[&str], at: i64) -> String {
        let date = format!("{} +0000", MADE + at);
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b"])
            .args(args)
            .current_dir(self.repo())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, file: &str, content: &str, at: i64) -> Oid {
        std::fs::write(self.repo().join(file), content).unwrap();
        self.git(&["add", "-A"], at);
        self.git(&["commit", "-q", "-m", file], at);
        Oid::new(self.git(&["rev-parse", "HEAD"], at)).unwrap()
    }

    fn transcript(&self, lines: &[Value]) {
        let project = self.dir.path().join("agent/projects/-repo");
        std::fs::create_dir_all(&project).unwrap();
        let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
        std::fs::write(project.join(format!("{SESSION}.jsonl")), text).unwrap();
    }

    fn line(&self, at: i64, kind: &str, content: &Value, result: &Value) -> Value {
        let time = Timestamp::from_seconds(MADE + at).to_string();
        json!({"type": kind, "sessionId": SESSION, "cwd": self.repo(), "timestamp": time,
            "uuid": format!("u{at}"), "promptId": "p", "isSidechain": false, "version": "2.1.329",
            "message": {"id": format!("msg_{at}"), "role": kind, "content": content},
            "toolUseResult": result})
    }

    fn write_call(&self, at: i64, file: &str, content: &str) -> [Value; 2] {
        let (path, id) = (self.repo().join(file), format!("toolu_{at}"));
        let input = json!({"file_path": path, "content": content});
        let call = json!([{"type": "tool_use", "id": id, "name": "Write", "input": input}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
        let result =
            json!({"type": "create", "filePath": path, "content": content, "originalFile": null});
        [
            self.line(at, "assistant", &call, &Value::Null),
            self.line(at + 1, "user", &answer, &result),
        ]
    }

    fn shell_call(&self, at: i64, output: &str) -> [Value; 2] {
        let id = format!("toolu_{at}");
        let input = json!({"command": "git commit -m a"});
        let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": input}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": id, "content": output}]);
        [
            self.line(at, "assistant", &call, &Value::Null),
            self.line(
                at + 2,
                "user",
                &answer,
                &json!({"stdout": output, "stderr": ""}),
            ),
        ]
    }

    /// Imports all, and gives how many commits were linked.
    fn import(&self, ledger: &mut SqliteLedger) -> u64 {
        let world = World {
            here: Here {
                ids: &self.ids,
                clock: &|| Timestamp::from_seconds(MADE + 10_000),
                alive: &|_| None,
                redactor: Redactor::shared(),
            },
            git: PathBuf::from("git"),
            objects: ObjectStore::open(self.dir.path().join("objects")).unwrap(),
        };
        let dir = self.dir.path().join("agent");
        let found = transcripts_on_disk(&|_| dir.clone(), None, None)
            .unwrap()
            .found;
        for found in &found {
            let imported = import(&world, ledger, found, &mut |_| {}).unwrap();
            close(&world, ledger, imported.session).unwrap();
        }
        let read_all = |unread: &u64| *unread == 0;
        assert!(unread(ledger, &found).unwrap().iter().all(read_all));
        let repository = read(ledger, |tx| tx.repositories()).unwrap().remove(0);
        link_commits(&world, ledger, &repository, &mut |_, _| {})
            .unwrap()
            .commits
    }

    fn ledger(&self) -> SqliteLedger {
        let id = LedgerId::mint(&self.ids);
        let path = self.dir.path().join("ledger.db");
        SqliteLedger::open(&path, Open::Command { id, key: [7; 32] }).unwrap()
    }
}

#[test]
fn commits_are_linked_by_content_and_by_what_commands_name() {
    let machine = Machine::new();
    let human = machine.commit("human", "typed\n", 5);
    let named = machine.commit("a", "by the agent\n", 20);
    let later = machine.commit("b", "left by the agent\n", 500);
    // The same content at another path is nobody's, and so is content from before the edit.
    let elsewhere = machine.commit("c", "left by the agent\n", 600);
    let prompt = json!("Write a and b");
    let mut lines = vec![machine.line(1, "user", &prompt, &Value::Null)];
    lines.extend(machine.write_call(10, "a", "by the agent\n"));
    lines.extend(machine.shell_call(19, &format!("[main {}] a", named.short())));
    lines.extend(machine.write_call(30, "b", "left by the agent\n"));
    lines.extend(machine.write_call(40, "human", "typed\n"));
    machine.transcript(&lines);

    let mut ledger = machine.ledger();
    assert_eq!(machine.import(&mut ledger), 2);
    let (repository, session) = read(&mut ledger, |tx| {
        let session = tx.sessions(&siglum_ledger::SessionFilter::default())?;
        Ok((tx.repositories()?.remove(0).id, session[0].record.clone()))
    })
    .unwrap();
    assert_eq!(session.created_at, Timestamp::from_seconds(MADE + 1));
    assert_eq!(session.ended_at, Some(session.last_at));
    let mut commit = |oid: &Oid| read(&mut ledger, |tx| tx.commit(repository, oid)).unwrap();
    let made = commit(&named).unwrap();
    assert_eq!(made.seen_by, SeenBy::Import);
    let by_session = Committer::Session {
        session: session.id,
    };
    assert_eq!(
        (made.judgement.committer, made.judgement.verdict),
        (by_session, Verdict::Certain)
    );
    assert_eq!(
        commit(&later).unwrap().judgement.committer,
        Committer::Unknown
    );
    assert_eq!((commit(&human), commit(&elsewhere)), (None, None));
    let counts = read(&mut ledger, |tx| commits_with(tx, session.id)).unwrap();
    assert_eq!(counts, (1, 1));

    // Nothing is new: nothing is looked at again.
    assert_eq!(machine.import(&mut ledger), 0);
}

#[test]
fn the_head_of_a_transcript_that_was_read_to_its_end_is_not_read_again() {
    let machine = Machine::new();
    machine.commit("human", "typed\n", 5);
    machine.transcript(&[machine.line(1, "user", &json!("Look"), &Value::Null)]);
    let mut ledger = machine.ledger();
    machine.import(&mut ledger);

    // The same file with as many bytes, whose head names no directory any more.
    let dir = machine.dir.path().join("agent");
    let path = dir.join(format!("projects/-repo/{SESSION}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"cwd\"", "\"dir\"");
    fs::write(&path, &text).unwrap();
    let dir_of = |_: &AgentSpec| dir.clone();
    let by_its_head = transcripts_on_disk(&dir_of, None, None).unwrap().found;
    assert!(by_its_head.is_empty(), "{by_its_head:?}");
    let known = transcripts_on_disk(&dir_of, None, Some(&mut ledger)).unwrap();
    let known: Vec<&str> = known.found.iter().map(|f| f.cwd.as_str()).collect();
    assert_eq!(known, [machine.repo().to_str().unwrap()]);

    // Something is new: the head says where it was written, or nothing does.
    fs::write(&path, format!("{text}{{}}\n")).unwrap();
    let found = transcripts_on_disk(&dir_of, None, Some(&mut ledger)).unwrap();
    assert!(found.found.is_empty(), "{found:?}");
}

#[test]
fn a_session_whose_head_does_not_say_when_it_began_has_its_first_commits() {
    let machine = Machine::new();
    let first = machine.commit("a", "by the agent\n", 20);
    // Whose a prompt is, the answer behind it tells.
    let prompt = json!("x".repeat(9 << 20));
    let mut lines = vec![
        json!({"type": "file-history-snapshot", "cwd": machine.repo()}),
        machine.line(1, "user", &prompt, &Value::Null),
    ];
    lines.extend(machine.write_call(10, "a", "by the agent\n"));
    machine.transcript(&lines);
    let path = machine
        .dir
        .path()
        .join(format!("agent/projects/-repo/{SESSION}.jsonl"));
    let much_later = std::time::Duration::from_secs(u64::try_from(MADE).unwrap() + 90_000);
    let file = File::options().append(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + much_later)
        .unwrap();

    let mut ledger = machine.ledger();
    assert_eq!(machine.import(&mut ledger), 1);
    let (commit, session) = read(&mut ledger, |tx| {
        let session = tx.sessions(&siglum_ledger::SessionFilter::default())?;
        let repository = tx.repositories()?.remove(0).id;
        Ok((tx.commit(repository, &first)?, session[0].record.clone()))
    })
    .unwrap();
    assert!(commit.is_some());
    assert_eq!(session.created_at, Timestamp::from_seconds(MADE + 1));
}

#[test]
fn only_a_transcript_that_was_looked_at_whole_names_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let agent = siglum_agents::find("claude-code").unwrap();
    let path = dir.path().join("s.jsonl");
    let directory = |text: &str| {
        fs::write(&path, text).unwrap();
        head::directory(agent, &path)
    };
    assert_eq!(directory("{\"type\":\"summary\"}\n").unwrap(), None);
    let long = |bytes: usize| format!("{{\"x\":\"{}\",\"cwd\":\"/repo\"}}\n", "x".repeat(bytes));
    assert_eq!(directory(&long(7 << 20)).unwrap().as_deref(), Some("/repo"));
    let refused = directory(&long(8 << 20)).unwrap_err().to_string();
    assert!(refused.contains("8 MiB"), "{refused}");
}
