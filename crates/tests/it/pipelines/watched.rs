//! A pipeline that is watched: on a terminal, and by a program.

use std::io::Read as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use super::Runner;
use crate::harness::{Terminal, World, until};

#[test]
fn a_program_gets_one_answer_for_each_change_until_the_end() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    runner.start("build");
    let mut command = world.command(World::program());
    command.args(["pipeline", "show", "p", "--watch", "--json"]);
    let mut child = command
        .current_dir(&runner.repo.dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let text = Arc::new(Mutex::new(String::new()));
    let reader = std::thread::spawn({
        let text = Arc::clone(&text);
        move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                text.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        }
    });
    let lines = || text.lock().unwrap().lines().count();
    until("the first answer", || lines() == 1);
    runner.says(&["check"], &["unit", "skipped"]).ok();
    until("the second answer", || lines() == 2);
    runner.says(&["end"], &[]).ok();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap();
    let text = text.lock().unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["data"]["end_recorded"], true);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn at_a_terminal_it_stops_with_a_key_and_leaves_the_last_drawing() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    runner.start("build");
    let mut terminal = Terminal::open(&runner.repo);
    let watch = format!(
        "TERM=xterm '{}' pipeline show p --watch",
        World::program().display()
    );
    let (code, shown) = terminal.press(&watch, "no session is at work", 0x03);
    assert_eq!(code, "130", "{shown}");
    let (before, after) = shown.split_once("\u{1b}[?1049l").expect(&shown);
    assert!(before.contains("\u{1b}[?25h"), "{shown}");
    assert!(after.contains("▶ build"), "{shown}");
    runner.says(&["end"], &[]).ok();
    let shown = terminal.run(&watch);
    assert!(shown.contains("1 phase over"), "{shown}");
}
