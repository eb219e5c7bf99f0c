//! Receipts as the gateway shows them, and as they must be there.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::gateway::client::Client;

/// The digest of each receipt, by its session and its number.
pub(super) type Receipts = BTreeMap<(String, i64), String>;

/// All items of a list that comes in pages.
pub(super) fn items(client: &Client, path: &str) -> Result<Vec<Value>, String> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let reply = client.get(&format!("{path}?limit=500{cursor}"));
        if reply.status != 200 {
            return Err(format!("{path}: {}", reply.text));
        }
        let page = reply.json();
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(items),
        }
    }
}

/// The receipts that the gateway has of a session. They are numbered without a gap, each once.
fn receipts_at(client: &Client, session: &str) -> Result<Receipts, String> {
    let listed = items(client, &format!("/v1/sessions/{session}/receipts"))?;
    let mut receipts = Receipts::new();
    for (number, receipt) in (1_i64..).zip(&listed) {
        if receipt["number"] != number {
            return Err(format!("{session}: receipt {number} is {receipt}"));
        }
        let digest = receipt["digest"].as_str().unwrap().to_owned();
        receipts.insert((session.to_owned(), number), digest);
    }
    Ok(receipts)
}

/// The receipts that the gateway has of the sessions of these, and what is wrong: those of a session cannot be read, or
/// one of these is not there as it is here.
pub(super) fn compared(client: &Client, wanted: &Receipts) -> (Receipts, Vec<String>) {
    let mut sessions: Vec<&String> = wanted.keys().map(|(session, _)| session).collect();
    sessions.dedup();
    let (mut there, mut problems) = (Receipts::new(), Vec::new());
    for session in sessions {
        match receipts_at(client, session) {
            Ok(receipts) => there.extend(receipts),
            Err(problem) => problems.push(problem),
        }
    }
    for (position, digest) in wanted {
        if there.get(position) != Some(digest) {
            let (session, number) = position;
            problems.push(format!(
                "receipt {number} of {session} is not at the gateway as it was given out"
            ));
        }
    }
    (there, problems)
}
