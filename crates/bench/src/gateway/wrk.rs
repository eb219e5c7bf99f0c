//! The same turns by a client that is not ours: wrk, where it is installed.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use super::served::{Client, Served};
use crate::Fallible;
use crate::clock::{Chance, children_cpu_ms};
use crate::filler::Filler;
use crate::run::Run;

const SCRIPT: &str = include_str!("turns.lua");

/// Commits turns for so many seconds in the sessions of a client that does nothing meanwhile.
pub(crate) fn turns(
    run: &Run,
    served: &Served,
    client: &mut Client,
    seconds: usize,
) -> Fallible<Option<Value>> {
    if Command::new("wrk").arg("-v").output().is_err() {
        eprintln!("nothing by wrk: it is not installed (`apt-get install wrk`)");
        return Ok(None);
    }
    let dir = run.dir("wrk")?;
    let handed = client.does("hand")?;
    let mut sessions = String::new();
    let mut count = 0;
    for one in handed["sessions"].as_array().into_iter().flatten() {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let (session, token) = (text("session"), text("token"));
        writeln!(
            sessions,
            "{session} {token} {} {}",
            one["epoch"], one["head"]
        )?;
        count += 1;
    }
    let (filler, chance) = (Filler::gather(1 << 20), Chance::new(5));
    let text = |bytes| json!(filler.text(&chance, bytes)).to_string();
    let texts = format!("{}\n{}", text(300), text(1_400));
    for (name, content) in [
        ("turns.lua", SCRIPT),
        ("sessions", &sessions),
        ("texts", &texts),
    ] {
        std::fs::write(dir.join(name), content)?;
    }
    let before = children_cpu_ms()?;
    let out = Command::new("wrk")
        .args([format!("-t{count}"), format!("-c{count}")])
        .arg(format!("-d{seconds}s"))
        .args(["--timeout", "30s", "-s", "turns.lua"])
        .arg(format!("http://{}", served.address))
        .args(["--", "sessions", "texts"])
        .current_dir(&dir)
        .output()?;
    let stdout = String::from_utf8_lossy(&out.stdout);
    let line = stdout.lines().rev().find(|line| line.starts_with('{'));
    let line = line.ok_or_else(|| format!("wrk: {}", String::from_utf8_lossy(&out.stderr)))?;
    let mut report: Value = serde_json::from_str(line)?;
    if report["failed"] != 0 {
        return Err(format!("requests of wrk failed: {report}").into());
    }
    report["cpu_ms"] = json!(children_cpu_ms()? - before);
    Ok(Some(report))
}
