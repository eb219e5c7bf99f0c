//! The machine's own numbers, without which no other number means anything.

use crate::Fallible;
use crate::contest::{Contest, sync_once};
use crate::run::Run;

/// What this machine is and does.
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) memory_gb: u64,
    pub(crate) system: String,
    pub(crate) git: String,
    pub(crate) load: String,
    pub(crate) empty_ms: f64,
    pub(crate) sync_ms: f64,
}

pub(crate) fn measure(run: &Run) -> Fallible<Machine> {
    let file = run.dir("machine")?.join("sync");
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    contest.arm("sync", || sync_once(&file));
    let times = contest.run(run.much(200, 50))?;
    Ok(Machine {
        cores: std::thread::available_parallelism()?.get(),
        memory_gb: memory_kb() >> 20,
        system: first_line("/proc/sys/kernel/osrelease"),
        git: git_version()?,
        load: first_line("/proc/loadavg")
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
        empty_ms: times.arm("empty").median(),
        sync_ms: times.arm("sync").median(),
    })
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn memory_kb() -> u64 {
    let line = first_line("/proc/meminfo");
    let number = line.split_ascii_whitespace().nth(1);
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn git_version() -> Fallible<String> {
    let out = std::process::Command::new("git")
        .arg("--version")
        .output()?;
    let text = String::from_utf8(out.stdout)?;
    Ok(text.trim().trim_start_matches("git version ").to_owned())
}
