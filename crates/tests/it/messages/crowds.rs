//! Many conversations at once.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::played::{send, serve, text, to};
use crate::gateway::client::Client;
use crate::gateway::server::on_a_file;

/// Says how often each of the ten asks, where that is to be more than usual: a thousand times takes minutes.
const ROUNDS: &str = "SIGLUM_CROWD_ROUNDS";

fn rounds() -> u32 {
    let setting = std::env::var(ROUNDS).ok();
    setting.map_or(20, |rounds| rounds.parse().unwrap())
}

#[test]
fn ten_conversations_at_once_have_no_byte_of_another_one() {
    let rounds = rounds();
    on_a_file(|store| {
        let gateway = serve(store, &["--rate", "1000000", "--creations", "1000000"]);
        let launcher = gateway.launcher();
        let answered = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for n in 0..10 {
                let (launcher, answered) = (&launcher, &answered);
                scope.spawn(move || {
                    let name = format!("crowd-{n}");
                    for round in 0..rounds {
                        let word = format!("word-{n}-{round}.");
                        let mut body = to(&json!(name), &format!("!say {word}"));
                        // The process of the one before is used again.
                        body["resume"] = json!(true);
                        let result = send(launcher, &body);
                        assert_eq!(result["run"]["conversation_id"], name);
                        assert_eq!(
                            (text(&result), &result["end"]["status"]),
                            (&*word, &json!("done"))
                        );
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(answered.into_inner(), 10 * rounds);
        for n in 0..10 {
            assert_eq!(
                words(&launcher, n),
                rounds,
                "prompts and answers of crowd-{n}"
            );
        }
    });
}

/// Reads the whole log of a conversation: each word in it is its own. Gives how many turns there are.
fn words(launcher: &Client, n: u32) -> u32 {
    let result = send(launcher, &to(&json!(format!("crowd-{n}")), "the last one"));
    let session = result["run"]["session"].as_str().unwrap();
    let (mut after, mut prompts) = (0, 0);
    loop {
        let path = format!("/v1/sessions/{session}/events?limit=1000&cursor={after}");
        let page = launcher.get(&path).is(200);
        let entries = page["items"].as_array().unwrap();
        for entry in entries {
            let text = entry.to_string();
            let own = format!("{n}-");
            assert!(
                text.split("word-")
                    .skip(1)
                    .all(|word| word.starts_with(&own)),
                "{text}"
            );
            prompts += u32::from(entry["fact"]["fact"] == "prompt" && text.contains("word-"));
        }
        match entries.last() {
            Some(last) => after = last["sequence"].as_u64().unwrap(),
            None => return prompts,
        }
    }
}
