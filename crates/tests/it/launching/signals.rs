//! Signals and the terminal, as whoever types at a shell expects them.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{Launch, is_stopped, launched, written};
use crate::harness::{Repo, Terminal, World, until};

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Launches a shell that says its pid in a file.
fn shell(repo: &Repo<'_>, before: &str, script: &str) -> (std::process::Child, u32) {
    let siglum = World::program();
    let file = repo.world.root.join("shell.sh");
    std::fs::write(&file, format!("{script}\n")).unwrap();
    let run = format!(
        "{before} exec '{}' run -- sh '{}'",
        siglum.display(),
        file.display()
    );
    let mut command = Launch::command(repo, &[], &run);
    let launch = command.stdout(Stdio::null()).spawn().unwrap();
    let pid = written(repo, "pid").trim().parse().unwrap();
    std::fs::remove_file(repo.world.root.join("pid")).unwrap();
    (launch, pid)
}

fn in_root(repo: &Repo<'_>, name: &str) -> String {
    repo.world.root.join(name).display().to_string()
}

#[test]
fn signals_are_handed_on() {
    let world = World::new();
    let repo = world.repo();
    for (name, signal) in [
        ("INT", Signal::INT),
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("WINCH", Signal::WINCH),
    ] {
        let pid = in_root(&repo, "pid");
        let script = format!(
            "trap 'exit 7' {name}; echo $$ > '{pid}.new'; mv '{pid}.new' '{pid}'\n\
             while :; do sleep 0.02; done"
        );
        let (mut launch, _) = shell(&repo, "", &script);
        send(launch.id(), signal);
        assert_eq!(launch.wait().unwrap().code(), Some(7), "{name}");
    }
}

#[test]
fn a_command_that_a_signal_ends_is_known_by_its_exit_code() {
    let world = World::new();
    let repo = world.repo();
    let pid = in_root(&repo, "pid");
    let script = format!("echo $$ > '{pid}.new'; mv '{pid}.new' '{pid}'; exec sleep 60");
    let (mut launch, _) = shell(&repo, "", &script);
    send(launch.id(), Signal::TERM);
    assert_eq!(launch.wait().unwrap().code(), Some(143));
    assert_eq!(launched(&repo)["launch"]["signal"], 15);
}

#[test]
fn what_the_caller_switched_off_stays_off() {
    let world = World::new();
    let repo = world.repo();
    let (pid, go) = (in_root(&repo, "pid"), in_root(&repo, "go"));
    let script = format!(
        "echo $$ > '{pid}.new'; mv '{pid}.new' '{pid}'\n\
         until test -e '{go}'; do sleep 0.02; done; exit 5"
    );
    let (mut launch, child) = shell(&repo, "trap '' HUP;", &script);
    send(launch.id(), Signal::HUP);
    send(child, Signal::HUP);
    std::fs::write(go, "").unwrap();
    assert_eq!(launch.wait().unwrap().code(), Some(5));
}

#[test]
fn a_stop_and_a_go_on_reach_the_command() {
    let world = World::new();
    let repo = world.repo();
    let (pid, go) = (in_root(&repo, "pid"), in_root(&repo, "go"));
    let script = format!(
        "echo $$ > '{pid}.new'; mv '{pid}.new' '{pid}'\n\
         until test -e '{go}'; do sleep 0.02; done; exit 5"
    );
    // A process group of its own has somebody outside it who could let it go on.
    let (mut launch, child) = shell(&repo, "", &script);
    send(launch.id(), Signal::TSTP);
    until("the command is stopped", || is_stopped(child));
    std::fs::write(go, "").unwrap();
    send(launch.id(), Signal::CONT);
    assert_eq!(launch.wait().unwrap().code(), Some(5));
}

#[test]
fn keys_of_the_terminal_interrupt_and_stop_the_command_once() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let siglum = World::program();
    let run = format!("'{}' run -- ", siglum.display());
    // It takes signals out of the queue one by one, so that none hides another.
    let script = repo.world.root.join("keys.py");
    let text = "import signal, sys\n\
                wanted = {signal.SIGINT}\n\
                signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n\
                print('up', flush=True)\n\
                taken = 0\n\
                while signal.sigtimedwait(wanted, 0.5 if taken else 15): taken += 1\n\
                sys.exit(10 + taken)\n";
    std::fs::write(&script, text).unwrap();
    let keys = format!("{run} python3 '{}'", script.display());
    let (code, shown) = terminal.press(&keys, "up", 0x03);
    assert_eq!(code, "11", "{shown}");
    // A shell that starts another program right then waits for it, and takes no key meanwhile.
    let waits = |name: &str, text: &str| {
        let script = repo.world.root.join(name);
        std::fs::write(&script, text).unwrap();
        format!("{run} python3 '{}'", script.display())
    };
    let text = "import signal, time\n\
                signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
                print('up', flush=True)\n\
                time.sleep(60)\n";
    let (code, shown) = terminal.press(&waits("interrupted.py", text), "up", 0x03);
    assert_eq!(code, "130", "{shown}");

    let text = "import sys, time; print('up', flush=True); time.sleep(1); sys.exit(6)";
    let (code, shown) = terminal.press(&waits("stopped.py", text), "up", 0x1a);
    assert!(
        ["146", "147", "148"].contains(&code.as_str()),
        "{code} {shown}"
    );
    assert_eq!(terminal.type_in("fg").0, "6");
}

#[test]
fn a_command_that_stops_itself_gives_the_terminal_back() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let siglum = World::program();
    let run = format!(
        "'{}' run -- sh -c 'kill -STOP $$; exit 6'",
        siglum.display()
    );
    let (code, shown) = terminal.type_in(&run);
    assert_eq!(code, "147", "{shown}");
    assert_eq!(terminal.type_in("fg").0, "6");
    assert_eq!(launched(&repo)["launch"]["code"], 6);
}

#[test]
fn the_command_has_the_terminal() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let siglum = World::program();
    let shown = terminal.run(&format!(
        "'{}' run -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo on $(tty)' && tty",
        siglum.display()
    ));
    let ttys: Vec<&str> = shown
        .split_whitespace()
        .filter(|w| w.starts_with("/dev/"))
        .collect();
    assert!(shown.contains("on /dev/"), "{shown}");
    assert!(ttys.len() == 2 && ttys[0] == ttys[1], "{shown}");
}
