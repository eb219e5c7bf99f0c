//! Somebody who writes through the balancer, and asks again with the same key until it is acknowledged.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Team;
use super::journal::Span;
use crate::gateway::client::Client;

/// How long is asked again before a write counts as refused.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long is waited before it is asked again.
const PAUSE: Duration = Duration::from_millis(50);
/// What is refused for now: the body came too slowly, there are too many requests, or the store does not answer.
const FOR_NOW: [u16; 3] = [408, 429, 503];

/// The writer.
pub(super) struct Writer<'t> {
    team: &'t Team,
    client: Client,
}

impl<'t> Writer<'t> {
    pub(super) fn new(team: &'t Team, token: &str) -> Self {
        Self {
            team,
            client: team.client(token),
        }
    }

    /// Writes, and gives the answer once it is acknowledged. Nothing where it was refused for good or for too long, which
    /// is a problem.
    pub(super) fn write(&self, method: &str, path: &str, body: &Value) -> Option<Value> {
        let journal = &self.team.journal;
        let first = Instant::now();
        loop {
            let begun = Instant::now();
            let reply = self.client.ask(method, path, Some(body));
            let refusal = match reply {
                Some(reply) if matches!(reply.status, 200 | 201) => {
                    let took = Span::since(begun);
                    journal.records().writes.push(took);
                    return Some(reply.json());
                }
                Some(reply) if FOR_NOW.contains(&reply.status) => reply.text,
                Some(reply) => {
                    journal.problem(format!("{method} {path}: {} {}", reply.status, reply.text));
                    return None;
                }
                None => "no answer".to_owned(),
            };
            if first.elapsed() > PATIENCE {
                journal.problem(format!("{method} {path} is never acknowledged: {refusal}"));
                return None;
            }
            journal.count("writes repeated");
            thread::sleep(PAUSE);
        }
    }
}
