//! Starting programs: with no stdin, with output shown while it is also searched for summary lines.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::summary::{self, Failures, Runner};
use crate::{Failure, workspace};

/// Variables that `cargo run` gives this program and that would be wrong for another cargo.
const OF_CARGO_RUN: &[&str] = &[
    "CARGO_BIN_",
    "CARGO_CRATE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_",
];

/// Returns cargo, to be run in the workspace.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(workspace::root())
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let inherited = name.to_string_lossy();
        if OF_CARGO_RUN.iter().any(|p| inherited.starts_with(p)) {
            command.env_remove(&name);
        }
    }
    command
}

/// What builds for tests begin with: whoever builds less of the workspace, or with fewer features, builds all
/// dependencies once more.
pub(crate) const WHOLE: [&str; 4] = ["--workspace", "--all-features", CONFIG[0], CONFIG[1]];

/// The settings that tests are built with.
pub(crate) const CONFIG: [&str; 2] = ["--config", "crates/xtask/checks.toml"];

/// Makes a dev build of one of our programs, and says where it is.
pub(crate) fn dev_build(name: &str) -> Result<PathBuf, Failure> {
    let mut build = cargo(&["build"]);
    run(build.args(WHOLE).args(["--bin", name]))?;
    Ok(workspace::dev_dir()?.join(name))
}

/// Returns another program, to be run in the workspace.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(workspace::root()).stdin(Stdio::null());
    command
}

/// Looks a program up in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|candidate| candidate.is_file())
}

/// Puts a directory before those in which a command looks for programs.
pub(crate) fn look_first_in<'a>(command: &'a mut Command, dir: &Path) -> &'a mut Command {
    let own = command.get_envs().find(|(name, _)| *name == "PATH");
    let own = own.and_then(|(_, path)| path.map(OsStr::to_owned));
    let path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let dirs = std::iter::once(dir.to_owned()).chain(std::env::split_paths(&path));
    match std::env::join_paths(dirs) {
        Ok(path) => command.env("PATH", path),
        // A directory whose name has a colon.
        Err(_) => command,
    }
}

/// Lets tests start Python itself. What is in `PATH` may be a script that looks for it each time, as that of pyenv, which
/// takes longer than most of what Python is started for.
pub(crate) fn without_python_shim(tests: &mut Command) -> &mut Command {
    let mut python = program("python3");
    let output = python
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let output = output.map(|out| out.stdout).unwrap_or_default();
    let program = PathBuf::from(OsStr::from_bytes(output.trim_ascii()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Where the system has Python, other programs of the system would come before those that are meant.
    let is_in_path = |dir: &Path| std::env::split_paths(&path).any(|known| known == dir);
    match program.parent() {
        Some(dir) if program.is_file() && !is_in_path(dir) => look_first_in(tests, dir),
        _ => tests,
    }
}

/// A port of this machine that nobody listens on.
pub(crate) fn free_port() -> Result<u16, Failure> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| Failure::new(format!("no free port: {e}")))
}

/// Runs a program to its end and requires success.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    announce(command);
    let status = command.status().map_err(|e| not_started(command, &e))?;
    succeeded(command, status)
}

/// What a test runner printed, and how it ended.
#[derive(Default)]
pub(crate) struct Tested {
    /// Its own summary lines.
    pub(crate) summaries: Vec<String>,
    pub(crate) failures: Failures,
    pub(crate) succeeded: bool,
}

/// Runs a test runner, shows what it prints, and picks out what the report repeats.
pub(crate) fn run_tests(runner: Runner, command: &mut Command) -> Result<Tested, Failure> {
    announce(command);
    let mut child = without_python_shim(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| not_started(command, &e))?;
    let mut tested = show_both(&mut child);
    tested
        .summaries
        .retain(|l| summary::parse(l).is_some_and(|c| c.runner == runner));
    let status = child.wait().map_err(|e| not_started(command, &e))?;
    tested.succeeded = status.success();
    Ok(tested)
}

fn show_both(child: &mut Child) -> Tested {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let err = scope.spawn(|| err.map(|s| show(s, |l| eprintln!("{l}"))));
        let mut tested = out
            .map(|s| show(s, |l| println!("{l}")))
            .unwrap_or_default();
        let other = err.join().ok().flatten().unwrap_or_default();
        tested.summaries.extend(other.summaries);
        tested.failures.shown.extend(other.failures.shown);
        tested
    })
}

/// Shows each line, and keeps those that summarise a run and what failed tests printed.
fn show(stream: impl Read, print: impl Fn(&str)) -> Tested {
    let mut tested = Tested::default();
    for bytes in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&bytes);
        print(&line);
        let plain = summary::without_colour(&line);
        tested.failures.read(&plain);
        if summary::parse(&plain).is_some() {
            tested.summaries.push(plain.trim().to_owned());
        }
    }
    tested
}

fn announce(command: &Command) {
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    eprintln!("+ {} {}", name(command), args.join(" "));
}

/// The program's name and its first argument, as in "cargo clippy".
fn short(command: &Command) -> String {
    let first = command.get_args().next().unwrap_or_default();
    format!("{} {}", name(command), first.to_string_lossy())
}

fn name(command: &Command) -> String {
    let path = Path::new(command.get_program());
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", name(command)))
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{} ended with {status}",
        short(command)
    )))
}
