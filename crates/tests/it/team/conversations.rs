//! Conversations that a program drives over the API: each thread begins one a minute.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::receipts::Receipts;
use super::writer::Writer;
use super::{Team, pause};
use crate::harness::Dice;

/// How long is waited between turns, in milliseconds.
const BETWEEN_TURNS: Range<u64> = 200..2_000;
const MINUTE: Duration = Duration::from_secs(60);

/// A conversation under way.
struct Conversation<'t> {
    team: &'t Team,
    writer: Writer<'t>,
    session: String,
    epoch: u64,
    /// The end of the log.
    head: u64,
}

/// Drives one conversation after the other.
pub(super) fn work(team: &Team, number: usize, until: Instant) {
    let mut dice = team.options.dice("conversations", number);
    for round in 0.. {
        let next = Instant::now() + MINUTE;
        let name = format!("conversation-{number}-{round}");
        let Some(mut conversation) = Conversation::begin(team, &name) else {
            return;
        };
        for turn in 0..10 + dice.roll(20) {
            // A writer that was refused has said so.
            if conversation.turn(&name, turn, &mut dice).is_none() {
                return;
            }
            pause(&mut dice, BETWEEN_TURNS, until.min(next));
            if Instant::now() >= until.min(next) {
                break;
            }
        }
        thread::sleep(until.min(next).saturating_duration_since(Instant::now()));
        if Instant::now() >= until {
            return;
        }
    }
}

impl<'t> Conversation<'t> {
    fn begin(team: &'t Team, name: &str) -> Option<Self> {
        let launcher = Writer::new(team, &team.launcher);
        let wanted = json!({ "agent": "house", "conversation_id": name });
        let created = launcher.write("POST", "/v1/sessions", &wanted)?;
        let session = created["session"]["id"].as_str().unwrap().to_owned();
        let writer = Writer::new(team, created["token"]["secret"].as_str().unwrap());
        let wanted = json!({ "holder": "team", "nonce": name, "term_ms": 3_600_000 });
        let lease = writer.write("POST", &format!("/v1/sessions/{session}/lease"), &wanted)?;
        team.journal
            .records()
            .conversations
            .insert(session.clone(), name.to_owned());
        Some(Self {
            team,
            writer,
            session,
            epoch: lease["epoch"].as_u64().unwrap(),
            head: lease["head"].as_u64().unwrap(),
        })
    }

    fn events(&self, events: &[Value]) -> Value {
        json!({ "epoch": self.epoch, "expected_head": self.head, "events": events })
    }

    /// Commits a turn: as a whole, or opened and appended to, with a call of a tool in it.
    fn turn(&mut self, name: &str, turn: u64, dice: &mut Dice) -> Option<()> {
        let key = format!("{name}.{turn:03}");
        let path = format!("/v1/sessions/{}/turns/{key}", self.session);
        let message = format!("Answer {key} is complete.");
        let prompt = json!({ "type": "prompt", "key": format!("{key}.p"), "text": format!("Question {key}?") });
        let answer = json!({
            "type": "message", "key": format!("{key}.m"), "text": message, "model": "claude-opus-4-5",
            "tokens": { "input": 1_000, "output": 100 },
        });
        let stop = json!({ "type": "stop", "key": format!("{key}.p") });
        let last = if dice.once_in(2) {
            let (call, tool) = (format!("{key}.c"), "search");
            let opened = self.events(&[prompt]);
            self.writer
                .write("POST", &format!("{path}/open"), &opened)?;
            let called = json!({ "type": "tool_call", "call": call, "tool": tool, "input": "{}" });
            let append = format!("{path}/append");
            self.writer
                .write("POST", &append, &self.events(&[called]))?;
            let returned =
                json!({ "type": "tool_result", "call": call, "tool": tool, "output": "nothing" });
            self.writer
                .write("POST", &append, &self.events(&[returned]))?;
            self.events(&[answer, stop])
        } else {
            self.events(&[prompt, answer, stop])
        };
        let committed = self.writer.write("PUT", &path, &last)?;
        let receipt = &committed["receipt"];
        self.head = receipt["last"].as_u64().unwrap();
        let position = (self.session.clone(), receipt["number"].as_i64().unwrap());
        let digest = receipt["digest"].as_str().unwrap().to_owned();
        let journal = &self.team.journal;
        journal.acknowledge(Receipts::from([(position, digest)]));
        let mut records = journal.records();
        let said = records.messages.entry(self.session.clone()).or_default();
        said.push(message);
        Some(())
    }
}
