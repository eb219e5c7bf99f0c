//! Plays a driver of turns, step by step: `played-driver <store> <home>`.
//!
//! It is a process of its own, so that it can be killed and stopped. It reads one step per line, such as
//! `{"do": "commit", "session": "ses_…", "key": "t1", "said": [{"prompt": "…"}]}`, and answers each with one line,
//! `{"error": code, "fate": …}` where it was refused. [`faulty`] makes it die, stop or fail at a transaction that
//! a step names. With a third argument it reads no steps: see [`load`].

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests, which speaks on standard output and stops at the first surprise"
)]

mod check;
mod faulty;
mod load;
mod machine;
mod observations;
mod show;
mod steps;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (store, home) = (arguments.next().unwrap(), arguments.next().unwrap());
    if let Some(how) = arguments.next() {
        load::run(&store, &home, &serde_json::from_str(&how).unwrap());
        return;
    }
    let ledger = match machine::open(&store) {
        Ok(ledger) => ledger,
        Err(error) => {
            answer(&json!({ "error": "store", "text": machine::whole(&error) }));
            return;
        }
    };
    answer(&json!({ "pid": std::process::id() }));
    let name = std::process::id().to_string();
    let mut player = steps::Player::new(ledger, &home, store.starts_with("postgres"), &name);
    for line in std::io::stdin().lock().lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        answer(&player.play(&step).unwrap_or_else(|refusal| refusal));
    }
}

fn answer(value: &Value) {
    println!("{value}");
    std::io::stdout().flush().unwrap();
}
