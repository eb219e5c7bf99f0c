//! Somebody whose page asks every few seconds for what goes on.

use std::ops::Range;
use std::time::Instant;

use super::journal::Span;
use super::{Team, pause};

/// How long is waited between two looks, in milliseconds.
const BETWEEN_LOOKS: Range<u64> = 1_000..3_000;

const LISTS: [&str; 5] = [
    "/v1/sessions?limit=50",
    "/v1/sessions?state=open&limit=50",
    "/v1/cost?by=model",
    "/v1/pipelines?limit=20",
    "/v1/checkpoints?limit=50",
];

/// Asks for each list, and for the newest commit.
pub(super) fn work(team: &Team, number: usize, until: Instant) {
    let mut dice = team.options.dice("pages", number);
    let client = team.client(&team.launcher);
    let read = |path: &str| {
        let begun = Instant::now();
        let reply = client.ask("GET", path, None);
        let Some(reply) = reply.filter(|reply| reply.status == 200) else {
            team.journal.count("reads refused");
            return None;
        };
        let took = Span::since(begun);
        team.journal.records().reads.push(took);
        Some(reply.json())
    };
    while Instant::now() < until {
        let [.., checkpoints] = LISTS.map(&read);
        let items = checkpoints
            .as_ref()
            .and_then(|page| page["items"].as_array());
        let commits = items
            .into_iter()
            .flatten()
            .map(|item| item["commit"].as_str());
        if let Some(commit) = commits.flatten().next() {
            read(&format!("/v1/commits/{commit}"));
        }
        pause(&mut dice, BETWEEN_LOOKS, until);
    }
}
