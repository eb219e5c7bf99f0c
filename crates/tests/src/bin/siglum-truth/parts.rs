//! What this program plays under other names: an agent, whoever holds a terminal, a chain of programs.
//!
//! Rules that look at processes see a program by its name and its place in the tree. So the parts are
//! this very file, linked to the name that the story needs.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// The variable that makes an agent of this program: one whose arguments are those of the real agent
/// has no room for another.
pub(crate) const PART: &str = "TRUTH_PART";
/// The argument that names any other part.
pub(crate) const PART_ARGUMENT: &str = "--part";

/// Plays a part, if this process is started as one.
pub(crate) fn play() -> bool {
    if std::env::var_os(PART).is_some_and(|part| part == "agent") {
        play_agent();
        return true;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flag, part, rest @ ..] = arguments.as_slice() else {
        return false;
    };
    if flag != PART_ARGUMENT {
        return false;
    }
    match part.as_str() {
        "hold" => hold_terminal(rest, Keys::Typed),
        "wrap" => hold_terminal(rest, Keys::Nobody),
        "terminal" => enter_terminal(rest),
        "deep" => run_deep(rest),
        "serve" => serve(),
        other => panic!("no such part: {other}"),
    }
    true
}

/// Does one step for each line that it reads, and answers each with a line.
fn play_agent() {
    let mut children: Vec<Child> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let answer = match step["do"].as_str().unwrap() {
            "hello" => json!({ "pid": std::process::id() }),
            "title" => {
                let title = std::ffi::CString::new(step["title"].as_str().unwrap()).unwrap();
                rustix::thread::set_name(&title).unwrap();
                json!({})
            }
            "run" => run(&mut shell(&step), &step),
            "start" => {
                let mut shell = shell(&step);
                shell.stdin(Stdio::null()).stdout(Stdio::null());
                children.push(shell.stderr(Stdio::null()).spawn().unwrap());
                json!({})
            }
            other => panic!("no such step: {other}"),
        };
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}

/// Agents give each command a POSIX session of its own; their hooks they run as plain children.
fn shell(step: &Value) -> Command {
    let command = step["command"].as_str().unwrap();
    let mut shell = if step["hook"] == true {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]);
        shell
    } else {
        let mut shell = Command::new("setsid");
        shell.args(["/bin/bash", "-c", command]);
        shell
    };
    shell
        .env_remove(PART)
        .current_dir(step["cwd"].as_str().unwrap());
    for (name, value) in step["env"].as_object().into_iter().flatten() {
        shell.env(name, value.as_str().unwrap());
    }
    shell
}

fn run(shell: &mut Command, step: &Value) -> Value {
    let input = step["stdin"].as_str().unwrap_or_default();
    shell.stdin(if input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    });
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    if let Some(mut pipe) = child.stdin.take() {
        // A hook that died does not read; that is its business.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().unwrap();
    json!({
        "code": output.status.code(),
        "stdout": String::from_utf8_lossy(&output.stdout),
        "stderr": String::from_utf8_lossy(&output.stderr),
    })
}

/// Who types at a terminal that is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// What comes on standard input.
    Typed,
    /// Nobody: the program in it does its work and ends.
    Nobody,
}

/// Holds the master of a new terminal with a program in it; what the terminal shows is thrown away.
fn hold_terminal(command: &[String], keys: Keys) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave: OwnedFd = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    let side = || Stdio::from(slave.try_clone().unwrap());
    let mut inside = Command::new("/proc/self/exe");
    inside
        .args([PART_ARGUMENT, "terminal"])
        .args(command)
        .stdin(side())
        .stdout(side())
        .stderr(side());
    let mut child = inside.spawn().unwrap();
    drop((inside, slave));
    let mut typed = File::from(master.try_clone().unwrap());
    if keys == Keys::Typed {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut typed);
            // The window was closed: the system hangs up whoever is in it.
            std::process::exit(0);
        });
    }
    let (mut screen, mut shown) = (File::from(master), [0; 4096]);
    while screen.read(&mut shown).is_ok_and(|count| count > 0) {}
    let _ = child.wait();
}

/// Makes standard input the terminal of a new session, and becomes the program in it.
fn enter_terminal(command: &[String]) {
    rustix::process::setsid().unwrap();
    rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).unwrap();
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    panic!("{command:?}: {error}");
}

/// Stands so many times above a shell command.
fn run_deep(arguments: &[String]) {
    let left: u32 = arguments[0].parse().unwrap();
    let mut below = if left > 1 {
        // By the name under which this program was found, so that all of the chain have it.
        let mut own = Command::new(Path::new(&std::env::args().next().unwrap()));
        own.args([
            PART_ARGUMENT,
            "deep",
            &(left - 1).to_string(),
            &arguments[1],
        ]);
        own
    } else {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("{}\n:", arguments[1])]);
        shell
    };
    let status = below.status().unwrap();
    std::process::exit(status.code().unwrap_or(1));
}

/// Runs each line that it reads, as the buttons of an editor do.
fn serve() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        if line == "exit" {
            return;
        }
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]).stdin(Stdio::null());
        shell.status().unwrap();
    }
}
