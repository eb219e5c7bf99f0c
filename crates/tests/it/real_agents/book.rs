//! What the ledger holds, once everything that can wait is done.
//!
//! The ledger's file is read with Python's own SQLite, so that what is compared has not gone through
//! the code under test. Payloads that are stored compressed are passed over; those of the scripts
//! are small.

use std::collections::BTreeMap;

use serde_json::Value;

use super::lab::Lab;
use super::model::{Sum, Tokens};
use super::programs::{stdout, wait_for};

/// Everything, read at once.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) sessions: Vec<Session>,
    pub(super) checkpoints: Vec<Checkpoint>,
    pub(super) declines: Vec<String>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// The agent's ids for it.
    pub(super) natives: Vec<String>,
    pub(super) conversation: String,
    /// The relation and the parent's id.
    pub(super) parent: Option<(String, String)>,
    pub(super) state: String,
    pub(super) ended: bool,
    pub(super) subagents: u64,
    /// The summary's number of turns and of tool calls.
    pub(super) counts: (usize, usize),
    pub(super) tokens: Tokens,
    pub(super) prompts: Vec<Prompt>,
    pub(super) calls: Vec<Call>,
    pub(super) compactions: usize,
    /// When a turn of the session's own came to its stop, in nanoseconds.
    pub(super) stops: Vec<i64>,
    /// Entries of the log that no receipt covers, and tool calls that are held to run.
    open: (u64, u64),
}

/// What opened a turn.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) text: String,
    /// Whether the agent wrote it itself.
    pub(super) synthetic: bool,
}

/// One tool call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    /// `ok`, `failed`, `denied`; empty if nobody saw the end.
    pub(super) outcome: String,
    pub(super) subagent: bool,
}

/// One checkpoint.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) commit: Option<String>,
    /// When it was made, in nanoseconds.
    pub(super) at: i64,
    /// The sessions that it pins.
    pub(super) pins: Vec<String>,
}

/// Reads all tables that matter into one JSON value.
const READ: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)
one = lambda sql, *a: db.execute(sql, a).fetchall()
ses = lambda b: b and "ses_" + b.hex()
def facts(session, *kinds):
    marks = ",".join("?" * len(kinds))
    rows = one(f"select event, kind, subagent, payload from observations where session = ? and kind in ({marks}) "
               "order by at, sequence", session, *kinds)
    for event, kind, subagent, payload in rows:
        payload = payload or b""
        payload = payload.encode() if isinstance(payload, str) else payload
        yield event, kind, subagent, json.loads(payload) if payload[:1] == b"{" else {}
def calls(session):
    found = {}
    for event, kind, subagent, fact in facts(session, "tool_started", "tool_ended"):
        fact = fact.get("fact", fact) if isinstance(fact.get("fact"), dict) else fact
        call = found.setdefault(event, {"tool": "", "outcome": "", "subagent": bool(subagent)})
        call["tool"] = call["tool"] or fact.get("tool", "")
        call["outcome"] = call["outcome"] or fact.get("outcome", "")
    return list(found.values())
def prompts(session):
    found = {}
    for event, _, _, fact in facts(session, "prompt"):
        fact = fact.get("fact", fact) if isinstance(fact.get("fact"), dict) else fact
        text = (fact.get("text") or {}).get("text", "")
        # Hooks of some agents do not name the turn that the transcript names after them.
        found.setdefault(event.removeprefix("prompt:"), {"text": text, "synthetic": fact.get("synthetic", False)})
    return list(found.values())
def session(row):
    id, conversation, relation, parent, ended, unsealed = row
    summary = one("select state, turns, tool_calls, subagents, input, output, cache_read, cache_write "
                  "from summaries where session = ?", id)
    return {"id": ses(id), "conversation": conversation, "relation": relation, "parent": ses(parent),
            "ended": ended is not None, "summary": summary[0] if summary else None,
            "natives": [n for n, in one("select native from aliases where session = ? order by first_at", id)],
            "compactions": one("select count(distinct event) from observations where session = ? and kind = 'compacted'", id)[0][0],
            "stops": [at for at, in one("select at from observations where session = ? and kind = 'stopped' and subagent is null order by at", id)],
            "unsealed": unsealed, "running": one("select count(*) from running_calls where session = ?", id)[0][0],
            "prompts": prompts(id), "calls": calls(id)}
def checkpoint(row):
    id, kind, commit, at = row
    pins = [ses(s) for s, in one("select session from pins where checkpoint = ?", id)]
    return {"id": "chk_" + id.hex(), "kind": kind, "commit": commit, "at": at, "pins": pins}
waiting = sum(one(sql)[0][0] for sql in (
    "select count(*) from transcripts where wanted = 1", "select count(*) from sessions where head > folded",
    "select count(*) from commits where facts is null"))
print(json.dumps({
    "waiting": waiting,
    "sessions": [session(r) for r in one("select id, conversation_id, parent_relation, parent, ended_at, head - sealed from sessions order by created_at")],
    "checkpoints": [checkpoint(r) for r in one('select id, kind, "commit", at from checkpoints')],
    "declines": [f"{e}: {r}: {d}" for e, r, d in one("select edge, reason, detail from declines")]}))
"#;

impl Lab {
    /// The ledger after the worker's work.
    #[track_caller]
    pub(super) fn book(&self) -> Book {
        self.book_when("the worker to finish", |_| true)
    }

    /// The ledger once the worker's work is done and it says what is waited for.
    #[track_caller]
    pub(super) fn book_when(&self, what: &str, ready: impl Fn(&Book) -> bool) -> Book {
        wait_for(what, || {
            self.siglum(&["worker", "--once"]);
            let (waiting, book) = self.read();
            (waiting == 0 && ready(&book)).then_some(book)
        })
    }

    #[track_caller]
    fn read(&self) -> (u64, Book) {
        let ledger = self.siglum_home().join("ledger.db");
        let text = stdout(self.command("python3").args(["-c", READ]).arg(ledger));
        let all: Value = serde_json::from_str(&text).expect("JSON");
        let list = |name: &str| all[name].as_array().cloned().unwrap_or_default();
        let book = Book {
            sessions: list("sessions").iter().map(session).collect(),
            checkpoints: list("checkpoints").iter().map(checkpoint).collect(),
            declines: list("declines").iter().map(text_of).collect(),
        };
        (all["waiting"].as_u64().expect("a number"), book)
    }

    /// Compares the ledger with the model's log: the same sessions, and for each the same tool
    /// calls and the same tokens. What has ended is sealed and runs no more; nothing was refused on
    /// the way.
    #[track_caller]
    pub(super) fn agrees_with_the_model(&self, book: &Book) {
        let known: Vec<&str> = book.sessions.iter().map(Session::native).collect();
        let mut sorted = known.clone();
        sorted.sort_unstable();
        let served = self.model.sessions();
        assert_eq!(sorted, served.iter().collect::<Vec<_>>(), "sessions");
        for session in &book.sessions {
            let expected = self.model.counted(session.native());
            assert_eq!(session.sum(), expected, "{session:#?}");
            let calls: usize = expected.calls.values().sum();
            assert_eq!(
                session.counts,
                (session.prompts.len(), calls),
                "{session:#?}"
            );
            assert_eq!(session.conversation, session.natives[0]);
            assert!(!session.ended || session.open == (0, 0), "{session:#?}");
        }
        assert_eq!(book.declines, Vec::<String>::new());
    }

    /// The ledger, of agents that do not tell their model which session asks: as many calls as the model asked for, and its
    /// tokens, also after the transcripts were imported. What went into a cache is not told.
    #[track_caller]
    pub(super) fn book_in_sum(&self) -> Book {
        self.book();
        self.siglum(&["import"]);
        let book = self.book();
        let answers = self.model.answers();
        let steps = answers.iter().filter(|answer| answer.why == "turn");
        let calls: usize = steps.map(|answer| answer.calls.len()).sum();
        let known: usize = book.sessions.iter().map(|s| s.calls.len()).sum();
        assert_eq!(known, calls, "{book:#?}");
        let tokens = book.sessions.iter().map(|s| s.tokens);
        let known = tokens.fold(Tokens::default(), |sum, tokens| sum + tokens);
        let counted = Tokens {
            cache_write: 0,
            ..self.model.all_counted(&["turn"])
        };
        assert_eq!(known, counted, "{book:#?}");
        assert_eq!(book.declines, Vec::<String>::new());
        book
    }
}

impl Book {
    /// The checkpoint of a commit.
    pub(super) fn of_commit(&self, commit: &str) -> Option<&Checkpoint> {
        let of = |c: &&Checkpoint| c.commit.as_deref() == Some(commit);
        self.checkpoints.iter().find(of)
    }

    /// The session with an id of the agent's.
    #[track_caller]
    pub(super) fn session(&self, native: &str) -> &Session {
        let found = self
            .sessions
            .iter()
            .find(|s| s.natives.iter().any(|n| n == native));
        found.unwrap_or_else(|| panic!("no session {native} in {self:#?}"))
    }
}

impl Prompt {
    fn script(&self) -> &str {
        let named = self.text.split_once("[[scenario:");
        match named.and_then(|(_, rest)| rest.split_once("]]")) {
            Some((name, _)) => name,
            None if self.synthetic => "-",
            None => &self.text,
        }
    }
}

impl Session {
    /// The agent's id; these scripts give each session one.
    #[track_caller]
    pub(super) fn native(&self) -> &str {
        assert_eq!(self.natives.len(), 1, "{self:#?}");
        &self.natives[0]
    }

    /// The names of the scripts in its prompts; `-` for those that the agent wrote.
    pub(super) fn scripts(&self) -> Vec<&str> {
        self.prompts.iter().map(Prompt::script).collect()
    }

    /// The outcomes of its calls of a tool.
    pub(super) fn outcomes(&self, tool: &str) -> Vec<&str> {
        let calls = self.calls.iter().filter(|c| c.tool == tool);
        calls.map(|c| c.outcome.as_str()).collect()
    }

    fn sum(&self) -> Sum {
        let mut calls = BTreeMap::new();
        for call in &self.calls {
            *calls.entry(call.tool.clone()).or_default() += 1;
        }
        Sum {
            calls,
            tokens: self.tokens,
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn session(value: &Value) -> Session {
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let summary = |at: usize| value["summary"][at].as_u64().unwrap_or(0);
    let count = |at: usize| usize::try_from(summary(at)).expect("a small number");
    let truth = |value: &Value| value.as_bool().unwrap_or_default();
    Session {
        id: text_of(&value["id"]),
        natives: list("natives").iter().map(text_of).collect(),
        conversation: text_of(&value["conversation"]),
        parent: value["parent"]
            .as_str()
            .map(|parent| (text_of(&value["relation"]), parent.to_owned())),
        state: text_of(&value["summary"][0]),
        ended: truth(&value["ended"]),
        subagents: summary(3),
        counts: (count(1), count(2)),
        tokens: Tokens {
            input: summary(4),
            output: summary(5),
            cache_read: summary(6),
            cache_write: summary(7),
        },
        prompts: list("prompts")
            .iter()
            .map(|p| Prompt {
                text: text_of(&p["text"]),
                synthetic: truth(&p["synthetic"]),
            })
            .collect(),
        calls: list("calls")
            .iter()
            .map(|c| Call {
                tool: text_of(&c["tool"]),
                outcome: text_of(&c["outcome"]),
                subagent: truth(&c["subagent"]),
            })
            .collect(),
        compactions: usize::try_from(value["compactions"].as_u64().unwrap_or(0))
            .expect("a small number"),
        stops: list("stops").iter().map(time).collect(),
        open: (whole(&value["unsealed"]), whole(&value["running"])),
    }
}

fn whole(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn time(value: &Value) -> i64 {
    value.as_i64().expect("a time")
}

fn checkpoint(value: &Value) -> Checkpoint {
    let pins = value["pins"].as_array().cloned().unwrap_or_default();
    Checkpoint {
        id: text_of(&value["id"]),
        kind: text_of(&value["kind"]),
        commit: value["commit"].as_str().map(str::to_owned),
        at: time(&value["at"]),
        pins: pins.iter().map(text_of).collect(),
    }
}
