//! Pull requests that are opened inside a session.

use std::path::PathBuf;

use serde_json::Value;
use siglum_agents::{AgentSpec, HookCall, TranscriptFile};
use siglum_domain::intake::{AgentMatter, Place};
use siglum_domain::link::Link;
use siglum_domain::observation::{Fact, Observation, Outcome, Source, StartKind, ToolClass};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, LedgerId, SessionId};
use siglum_ledger::{AuditFilter, Durability, write};

use super::stage::*;
use crate::commits::pull_requests;
use crate::identity::links;
use crate::identity::links::Change;
use crate::record::import;
use crate::worker;

const URL: &str = "https://github.com/o/r/pull/7";
const OPEN: &str = "git push -q && gh pr create --fill";
/// The command that every recording has, and what it printed.
const RECORDED: &str = "git add -A && git commit -q -m 'add hello' && git rev-parse HEAD";

/// An agent with a recorded session in which that command ran.
struct Recorded {
    agent: &'static str,
    session: &'static str,
    hooks: &'static str,
    transcript: &'static str,
    printed: &'static str,
}

const RECORDINGS: [Recorded; 3] = [
    Recorded {
        agent: "claude-code",
        session: "82d22249-95b9-4a69-be00-56b628d51d90",
        hooks: include_str!("../../../agents/src/claude_code/fixtures/2.1.329/hooks.jsonl"),
        transcript: include_str!(
            "../../../agents/src/claude_code/fixtures/2.1.329/write_commit.jsonl"
        ),
        printed: "a2e430eda264c05ac40491f4b1c4dba90a0b919f",
    },
    Recorded {
        agent: "codex",
        session: "01a1fc3f-a988-7340-9108-2bc0240cb46a",
        hooks: include_str!("../../../agents/src/codex/fixtures/0.169.0/hooks.jsonl"),
        transcript: include_str!(
            "../../../agents/src/codex/fixtures/0.169.0/write_commit_resume.jsonl"
        ),
        printed: "581ed88c019aa16870a4243f601b2e3703e29cdf",
    },
    Recorded {
        agent: "gemini",
        session: "4c96b0cf-8a69-45bd-85b8-5b8d8613b07e",
        hooks: include_str!("../../../agents/src/gemini/fixtures/0.61.0/hooks.jsonl"),
        transcript: include_str!("../../../agents/src/gemini/fixtures/0.61.0/resume.jsonl"),
        printed: "da622c643f6112e07d993d17cc905ba530f895f0",
    },
];

impl Recorded {
    fn spec(&self) -> &'static AgentSpec {
        siglum_agents::find(self.agent).unwrap()
    }

    /// A recording in which another command ran and printed something else.
    fn with(&self, text: &str, command: &str, printed: &str) -> String {
        let inside = |text: &str| {
            let quoted = Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        assert!(text.contains(RECORDED) && text.contains(self.printed));
        text.replace(RECORDED, &inside(command))
            .replace(self.printed, &inside(printed))
    }

    /// What the hooks of the session saw, one matter for each.
    fn hook_matters(&self, command: &str, printed: &str) -> Vec<AgentMatter> {
        let hooks = self.with(self.hooks, command, printed);
        let mut matters = Vec::new();
        for (second, line) in hooks.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["stdin"]["session_id"] != self.session {
                continue;
            }
            let payload = line["stdin"].to_string();
            let (delivery, dir) = (format!("d{second}"), PathBuf::from("/home/dev/agent"));
            let call = HookCall {
                payload: payload.as_bytes(),
                redactor: Redactor::shared(),
                digest_key: &[7; 32],
                now: at(second as i64),
                delivery: &delivery,
                agent_dir: &dir,
                worktree: None,
            };
            let reduced = (self.spec().reduce)(&call).unwrap();
            if !reduced.observations.is_empty() {
                matters.push(AgentMatter {
                    agent: AgentName::new(self.agent).unwrap(),
                    transcript: None,
                    ..says(self.session, reduced.observations)
                });
            }
        }
        assert!(matters.len() > 4, "{}", self.agent);
        matters
    }

    /// Reads the transcript of the session from a file, as an import does.
    fn import(&self, stage: &mut Stage, command: &str, printed: &str) {
        let text = self.with(self.transcript, command, printed);
        let path = stage.dir.path().join(format!("{}.jsonl", self.session));
        std::fs::write(&path, &text).unwrap();
        let file = TranscriptFile {
            path,
            stream: self.session.to_owned(),
            session: native(self.session),
            subagent: None,
            cwd: None,
            modified: at(0),
            bytes: text.len() as u64,
        };
        let found = import::ImportableTranscript {
            agent: self.spec(),
            file,
            subagents: Vec::new(),
            cwd: "/home/dev/main".to_owned(),
            place: None,
        };
        stage.play(|world, ledger| {
            import::import(world, ledger, &found, &mut |_| {}).unwrap();
        });
    }

    fn its(&self, stage: &mut Stage) -> SessionId {
        let agent = AgentName::new(self.agent).unwrap();
        let found = stage.read(|tx| tx.session_by_alias(&agent, &native(self.session)));
        found.unwrap()
    }
}

fn fold(stage: &mut Stage) {
    stage
        .play(|world, ledger| worker::fold_sessions(world, ledger, 99))
        .unwrap();
}

/// What is attached to a session, with who said so and where.
fn linked(stage: &mut Stage, session: SessionId) -> Vec<String> {
    let statements = stage.read(|tx| tx.statements_of_session(session));
    let attached = crate::identity::statements::attached(&statements).into_iter();
    attached
        .map(|(link, from)| format!("{link} by {}: {}", from.by, from.source))
        .collect()
}

const SEVEN: &str = "PR 7 by siglum: output of gh pr create";

#[test]
fn hooks_and_transcripts_of_all_agents_show_it_once() {
    for recorded in &RECORDINGS {
        let mut stage = Stage::new();
        for matter in recorded.hook_matters(OPEN, URL) {
            stage.hear(matter);
        }
        fold(&mut stage);
        let session = recorded.its(&mut stage);
        // The hooks of one agent do not tell whether a command failed: its transcript must.
        let tells_failure = recorded.spec().hooks_tell_failure;
        let expected: &[&str] = if tells_failure { &[SEVEN] } else { &[] };
        assert_eq!(linked(&mut stage, session), expected, "{}", recorded.agent);
        recorded.import(&mut stage, OPEN, URL);
        fold(&mut stage);
        assert_eq!(linked(&mut stage, session), [SEVEN], "{}", recorded.agent);
        for matter in recorded.hook_matters(OPEN, URL) {
            stage.hear(matter);
        }
        write(&mut stage.ledger, Durability::Process, |tx| tx.refold(None)).unwrap();
        fold(&mut stage);
        let stated = stage.read(|tx| tx.statements_of_session(session));
        assert_eq!(stated.len(), 1, "{}: {stated:?}", recorded.agent);
        let audited = stage.read(|tx| tx.audit(&AuditFilter::default()));
        assert_eq!(audited.len(), 1, "{}", recorded.agent);
    }
}

#[test]
fn transcripts_alone_show_it() {
    let long = format!("gh pr create --body '{}'", "x".repeat(9_000));
    for recorded in &RECORDINGS {
        for (command, expected) in [
            (OPEN, &[SEVEN][..]),
            (&long, &[SEVEN]),
            ("gh pr view 7", &[]),
        ] {
            let mut stage = Stage::new();
            recorded.import(&mut stage, command, URL);
            fold(&mut stage);
            let session = recorded.its(&mut stage);
            assert_eq!(linked(&mut stage, session), expected, "{}", recorded.agent);
        }
    }
}

#[test]
fn a_transcript_alone_shows_what_a_tool_with_an_api_opened() {
    let recorded = &RECORDINGS[0];
    let tool = "mcp__github__create_pull_request";
    let result = format!(r#"{{"number":7,"html_url":"{URL}"}}"#);
    let transcript = recorded
        .transcript
        .replace("\"name\":\"Bash\"", &format!("\"name\":\"{tool}\""));
    assert_ne!(transcript, recorded.transcript);
    let renamed = Recorded {
        transcript: transcript.leak(),
        ..RECORDINGS[0]
    };
    let mut stage = Stage::new();
    renamed.import(&mut stage, OPEN, &result);
    fold(&mut stage);
    let session = renamed.its(&mut stage);
    let expected = format!("PR 7 by siglum: result of {tool}");
    assert_eq!(linked(&mut stage, session), [expected]);
}

/// A call of a shell as hooks see it.
fn shell(id: &str, command: &str, output: &str) -> [Observation; 2] {
    let mut start = call(id, "t", 10, ToolClass::Shell);
    let Fact::ToolStarted { input, .. } = &mut start.fact else {
        unreachable!()
    };
    *input = text(command);
    [start, returned(id, "t", 11, ToolClass::Shell, output)]
}

fn with_outcome(mut end: Observation, how: Outcome) -> Observation {
    if let Fact::ToolEnded { outcome, .. } = &mut end.fact {
        *outcome = how;
    }
    end
}

/// The links of a session in which this was seen.
fn after(observations: Vec<Observation>) -> Vec<String> {
    let mut stage = Stage::new();
    let session = stage.hear(says("one", vec![started(0, StartKind::Startup)]));
    stage.hear(says("one", vec![prompt("t", 1)]));
    for observation in observations {
        stage.hear(says("one", vec![observation]));
    }
    fold(&mut stage);
    linked(&mut stage, session)
}

#[test]
fn only_a_call_that_ended_well_counts_in_any_order_and_in_sub_agents() {
    let [start, end] = shell("c", OPEN, URL);
    assert_eq!(after(vec![start.clone(), end.clone()]), [SEVEN]);
    assert_eq!(after(vec![end.clone(), start.clone()]), [SEVEN]);
    assert_eq!(after(vec![start.clone()]), [""; 0]);
    assert_eq!(after(vec![end.clone()]), [""; 0]);
    for bad in [Outcome::Failed, Outcome::Denied] {
        let failed = with_outcome(end.clone(), bad);
        assert_eq!(after(vec![start.clone(), failed.clone()]), [""; 0]);
        // A failure that any source tells of is one.
        let reported = Observation {
            source: Source::Transcript,
            key: "back".to_owned(),
            ..failed
        };
        assert_eq!(after(vec![start.clone(), end.clone(), reported]), [""; 0]);
    }
    let inner = [start, end].map(|o| Observation {
        subagent: Some("helper".to_owned()),
        ..o
    });
    assert_eq!(after(inner.to_vec()), [SEVEN]);
    // What is only said is no call.
    let mut prompted = prompt("u", 20);
    if let Fact::Prompt { text: body, .. } = &mut prompted.fact {
        *body = text(&format!("gh pr create\n{URL}"));
    }
    assert_eq!(after(vec![prompted]), [""; 0]);
}

#[test]
fn a_tool_that_opens_one_through_an_api_counts() {
    let result = format!(r#"[{{"type":"text","text":"{{\"number\":7,\"html_url\":\"{URL}\"}}"}}]"#);
    let tool = |name: &str| {
        let [mut start, mut end] = shell("c", "{}", &result);
        for fact in [&mut start.fact, &mut end.fact] {
            if let Fact::ToolStarted { tool, class, .. } | Fact::ToolEnded { tool, class, .. } =
                fact
            {
                (*tool, *class) = (name.to_owned(), ToolClass::Other);
            }
        }
        vec![start, end]
    };
    let name = "mcp__github__create_pull_request";
    let expected = format!("PR 7 by siglum: result of {name}");
    assert_eq!(after(tool(name)), [expected]);
    assert_eq!(after(tool("mcp__github__get_pull_request")), [""; 0]);
}

#[test]
fn what_was_stated_stays_and_what_was_detached_stays_detached() {
    let [start, end] = shell("c", OPEN, URL);
    let mut stage = Stage::new();
    let session = stage.hear(says("one", vec![started(0, StartKind::Startup)]));
    let change = |stage: &mut Stage, change: Change| {
        stage.play(|world, ledger| {
            let link = [Link::PrNumber(7)];
            links::change(world, ledger, session, &link, change, ("Ada", "link add")).unwrap();
        });
    };
    change(&mut stage, Change::Attach);
    stage.hear(says("one", vec![start, end]));
    fold(&mut stage);
    assert_eq!(linked(&mut stage, session), ["PR 7 by Ada: link add"]);
    change(&mut stage, Change::Detach);
    stage.hear(says("one", vec![prompt("u", 30)]));
    fold(&mut stage);
    assert_eq!(linked(&mut stage, session), [""; 0]);
}

#[test]
fn a_session_without_room_for_another_link_gets_none() {
    let [start, end] = shell("c", OPEN, URL);
    let mut stage = Stage::new();
    let session = stage.hear(says("one", vec![started(0, StartKind::Startup)]));
    let label = |n: usize| Link::Label {
        key: format!("k{n}"),
        value: "v".to_owned(),
    };
    let full: Vec<Link> = (0..links::LINKS_MOST).map(label).collect();
    stage.play(|world, ledger| {
        let by = ("Ada", "link add");
        links::change(world, ledger, session, &full, Change::Attach, by).unwrap();
    });
    stage.hear(says("one", vec![start, end]));
    fold(&mut stage);
    assert_eq!(linked(&mut stage, session).len(), links::LINKS_MOST);
}

#[test]
fn a_pull_request_of_another_repository_is_not_linked() {
    let settings = |remotes: &[&str]| {
        let one = |(n, url): (usize, &&str)| format!("[remote \"r{n}\"]\n\turl = {url}\n");
        remotes.iter().enumerate().map(one).collect::<String>()
    };
    for (remotes, linked_to) in [
        (&[][..], true),
        (&["/srv/git/other.git"], true),
        (&["git@github.com:O/R.git"], true),
        (&["git@github.com:me/r.git", "https://github.com/o/r"], true),
        (&["git@github.com:me/r.git"], false),
        (&["https://github.com/o/other"], false),
    ] {
        let mut stage = Stage::new();
        let common_dir = stage.dir.path().join(".git");
        std::fs::create_dir(&common_dir).unwrap();
        std::fs::write(common_dir.join("config"), settings(remotes)).unwrap();
        let place = Place {
            common_dir: common_dir.to_str().unwrap().to_owned(),
            worktree: stage.dir.path().to_str().unwrap().to_owned(),
        };
        let [start, end] = shell("c", OPEN, URL);
        let session = stage.hear(AgentMatter {
            place: Some(place),
            ..says("one", vec![prompt("t", 1), start, end])
        });
        fold(&mut stage);
        let expected: &[&str] = if linked_to { &[SEVEN] } else { &[] };
        assert_eq!(linked(&mut stage, session), expected, "{remotes:?}");
    }
}

#[test]
fn of_a_replica_its_home_says_so() {
    let mut stage = Stage::new();
    let [start, end] = shell("c", OPEN, URL);
    let session = stage.hear(says("one", vec![prompt("t", 1), start, end]));
    let other = LedgerId::from_uuid(uuid::Uuid::from_u128(9));
    for (home, expected) in [(other, &[][..]), (stage.session(session).home, &[SEVEN])] {
        stage.play(|world, ledger| {
            write(ledger, Durability::Process, |tx| {
                let (record, entries) = (tx.session(session)?, tx.entries(session, 0, 0)?);
                pull_requests::link(world, tx, home, &record.unwrap(), &entries)
            })
            .unwrap();
        });
        assert_eq!(linked(&mut stage, session), expected);
    }
}
