//! Programs that an agent opened, that outlive its session, and that a person goes on with.

use std::path::PathBuf;

use super::CLEAN;
use crate::agent::Kind;
use crate::case::{Case, PERSON, has_program};
use crate::parts::PART_ARGUMENT;
use crate::terminal::Terminal;

/// What the agent opened, and how it is given orders.
enum Server {
    /// A window of an editor with a terminal in it: only a person types there.
    Window(PathBuf),
    /// A program that does what its buttons and its own command line ask for.
    Buttons(PathBuf),
    /// A multiplexer, by its socket: agents send keys, people attach to it.
    Multiplexer(String),
}

pub(super) fn play(case: &mut Case<'_>) {
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let agent = case.fresh_agent(kind);
    let server = open(case, agent);
    // While the session goes on, what comes from there is the agent's own.
    if case.dice.one_in(2) {
        agent_uses(case, agent, &server);
    }
    end_session(case, agent);
    let bystander = case.dice.one_in(3).then(|| {
        let other = case.agent();
        case.begin_call(other, "npm test")
    });
    for _ in 0..=case.dice.below(2) {
        person_uses(case, &server);
    }
    if let Some(call) = bystander {
        let ran = case.run(call.agent, "true");
        case.end_call(call, &ran);
    }
    match &server {
        Server::Window(keys) | Server::Buttons(keys) => std::fs::write(keys, "exit\n").unwrap(),
        Server::Multiplexer(socket) => {
            case.world.sh(&format!("tmux -S {socket} kill-server"));
        }
    }
}

/// The agent opens a program that goes on by itself.
fn open(case: &mut Case<'_>, agent: usize) -> Server {
    let clean = if case.dice.one_in(4) { CLEAN } else { "" };
    let code = case.world.bin("code").display().to_string();
    let name = case.world.fresh_name("keys");
    let keys = case.world.root.join(name);
    let (pipe, shell) = (keys.display(), "bash --norc --noprofile -i");
    let background = format!("<>{pipe} >/dev/null 2>&1");
    let form = case.dice.below(if has_program("tmux") { 3 } else { 2 });
    let (server, command) = match form {
        0 => (
            Server::Window(keys.clone()),
            format!(
                "mkfifo {pipe}; PS1= {clean} setsid -f {code} {PART_ARGUMENT} hold {shell} {background}"
            ),
        ),
        1 => (
            Server::Buttons(keys.clone()),
            format!("mkfifo {pipe}; {clean} setsid -f {code} {PART_ARGUMENT} serve {background}"),
        ),
        _ => (
            Server::Multiplexer(pipe.to_string()),
            format!(
                "{clean} tmux -S {pipe} -f /dev/null new-session -d -s work 'PS1= exec {shell}'"
            ),
        ),
    };
    case.call(agent, &command);
    server
}

/// A file with a command for somebody's shell to read, and the mark that it makes at its end.
fn orders(case: &mut Case<'_>, who: &str) -> (String, crate::world::Mark) {
    let commit = case.commit();
    let done = case.mark();
    let dir = case.world.repo.display().to_string();
    let text = format!(
        "cd {dir}; {}; {}",
        case.stamped(who, &commit),
        done.making()
    );
    let name = case.world.fresh_name("line");
    let path = case.world.root.join(name).display().to_string();
    std::fs::write(&path, &text).unwrap();
    case.tell(format!("{path} has: {text}"));
    (format!(". {path}"), done)
}

fn agent_uses(case: &mut Case<'_>, agent: usize, server: &Server) {
    let native = case.native(agent);
    let (line, done) = match server {
        Server::Window(_) => return,
        _ => orders(case, &native),
    };
    let command = match server {
        Server::Multiplexer(socket) => format!("tmux -S {socket} send-keys -t work '{line}' Enter"),
        Server::Window(keys) | Server::Buttons(keys) => {
            format!("echo '{line}' >{}", keys.display())
        }
    };
    let call = case.begin_call(agent, &command);
    let ran = case.run(agent, &command);
    done.wait();
    case.end_call(call, &ran);
}

fn person_uses(case: &mut Case<'_>, server: &Server) {
    let (line, done) = orders(case, PERSON);
    match server {
        Server::Window(keys) | Server::Buttons(keys) => {
            case.tell(format!(
                "a person types or clicks in what the agent opened: {line}"
            ));
            std::fs::write(keys, format!("{line}\n")).unwrap();
            done.wait();
        }
        Server::Multiplexer(socket) => {
            case.tell(format!(
                "a person attaches to the agent's tmux from an xterm: {line}"
            ));
            let mut terminal = Terminal::open(case.world, "xterm");
            terminal.type_line(&format!("TERM=xterm tmux -S {socket} attach -t work"));
            terminal.type_line(&line);
            done.wait();
        }
    }
}

fn end_session(case: &mut Case<'_>, agent: usize) {
    case.stop(agent);
    match case.dice.below(3) {
        0 => {
            case.end(agent, "other");
            case.kill(agent);
        }
        1 => case.kill(agent),
        _ => {
            case.end(agent, "clear");
            let fresh = case.world.fresh_name("cleared");
            case.tell(format!("the same process goes on as {fresh}"));
            case.world.agents[agent].rename(fresh);
            case.begin(agent, "clear");
        }
    }
}
