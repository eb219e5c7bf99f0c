//! People at terminals, and others who type there.

use super::BUSY;
use crate::case::{Case, NOBODY, PERSON, has_program, in_shell};
use crate::parts::PART_ARGUMENT;
use crate::terminal::Terminal;
use crate::world::quoted;

pub(super) fn play(case: &mut Case<'_>) {
    match case.dice.below(11) {
        0 => typed(case),
        1 => typed_while_a_call_runs(case),
        2 => through_another_program(case),
        3 | 4 => in_tmux(case),
        5 | 6 => agent_sends_keys(case),
        7 => agent_holds_a_terminal(case),
        8 => robot_holds_a_terminal(case),
        9 => agent_in_the_terminal(case),
        _ => by_ssh(case),
    }
}

fn typed(case: &mut Case<'_>) {
    let commit = case.commit();
    case.person_types(&commit);
}

fn typed_while_a_call_runs(case: &mut Case<'_>) {
    let bystander = case.agent();
    let (commit, busy) = (case.commit(), case.dice.pick(BUSY));
    let call = case.begin_call(bystander, busy);
    case.person_types(&commit);
    let ran = case.run(bystander, "true");
    case.end_call(call, &ran);
}

fn through_another_program(case: &mut Case<'_>) {
    let subject = case.subject();
    let commit = format!("git commit -q --allow-empty -m '{subject}'");
    let number = case.number;
    let line = match case.dice.below(8) {
        0 => {
            let file = case.world.root.join(format!("make{number}"));
            std::fs::write(&file, format!("save:\n\t@{commit}\n")).unwrap();
            format!("make -s -f {} save", file.display())
        }
        1 => format!("git -c alias.save='commit -q --allow-empty -m \"{subject}\"' save"),
        2 => format!("{commit} & wait"),
        3 => format!("GIT_EDITOR=\"sed -i '1i{subject}'\" git commit -q --allow-empty"),
        4 => in_shell(&commit),
        5 if has_program("vim") => {
            let order = quoted(&format!("!{commit}"));
            format!("vim -u NONE -es -c {order} -c quit </dev/null >/dev/null 2>&1")
        }
        6 => format!("printf '%s\\n' '{subject}' | git commit -q --allow-empty -F - | cat"),
        _ => {
            let orders = case.world.root.join(format!("orders{number}"));
            std::fs::write(&orders, format!("!{commit}\nq\n")).unwrap();
            format!("ed -s <{}", orders.display())
        }
    };
    case.person_types(&line);
}

/// Types a line at a terminal of its own, and waits until it is done.
fn type_at(case: &mut Case<'_>, terminal: &mut Terminal, line: &str) {
    let done = case.mark();
    let dir = case.world.repo.display().to_string();
    terminal.type_line(&format!("cd {dir}; {line}; {}", done.making()));
    done.wait();
}

fn in_tmux(case: &mut Case<'_>) {
    let commit = case.commit();
    let bystander = case.dice.one_in(2).then(|| {
        let (agent, busy) = (case.agent(), case.dice.pick(BUSY));
        case.begin_call(agent, busy)
    });
    let line = case.stamped(PERSON, &commit);
    let done = case.mark();
    let dir = case.world.repo.display().to_string();
    let Some(multiplexer) = case.multiplexer() else {
        return typed(case);
    };
    multiplexer
        .client
        .type_line(&format!("cd {dir}; {line}; {}", done.making()));
    done.wait();
    case.tell(format!("a person types in tmux: {line}"));
    if let Some(call) = bystander {
        let ran = case.run(call.agent, "true");
        case.end_call(call, &ran);
    }
}

/// `tmux send-keys`: the shell in the pane is the person's, the words are the agent's.
fn agent_sends_keys(case: &mut Case<'_>) {
    let agent = case.agent();
    let native = case.native(agent);
    let commit = case.commit();
    let line = case.stamped(&native, &commit);
    let (mut gate, done) = (case.gate(), case.mark());
    let Some(multiplexer) = case.multiplexer() else {
        return typed(case);
    };
    let socket = multiplexer.socket.clone();
    let later = case.dice.one_in(3);
    let wait = if later {
        gate.waiting()
    } else {
        ":".to_owned()
    };
    let dir = case.world.repo.display().to_string();
    let keys = format!("{wait}; cd {dir}; {line}; {}", done.making());
    // A file, so that the keys need no quoting in three shells.
    let file = case.world.root.join(format!("typing{}", case.number));
    std::fs::write(&file, keys).unwrap();
    let file = file.display();
    let send = match case.dice.below(3) {
        0 => format!("tmux -S {socket} send-keys -t work \"$(cat {file})\" Enter"),
        1 => format!("tmux -S {socket} send-keys -t work '. {file}' Enter"),
        _ => format!(
            "tmux -S {socket} load-buffer {file} \\; paste-buffer -t work \\; send-keys -t work Enter"
        ),
    };
    case.tell(format!(
        "{file} has: {}",
        std::fs::read_to_string(file.to_string()).unwrap()
    ));
    let call = case.begin_call(agent, &send);
    let ran = case.run(agent, &send);
    if later {
        case.end_call(call, &ran);
        gate.open();
        done.wait();
    } else {
        done.wait();
        case.end_call(call, &ran);
    }
}

/// An agent starts a program that holds a terminal, leaves it behind, and types there.
fn agent_holds_a_terminal(case: &mut Case<'_>) {
    let agent = case.agent();
    let native = case.native(agent);
    let commit = case.commit();
    let line = case.stamped(&native, &commit);
    let done = case.mark();
    let holder = case.world.bin("robot").display().to_string();
    let name = case.world.fresh_name("keys");
    let keys = case.world.root.join(name).display().to_string();
    let clean = case.dice.pick(&["", super::CLEAN]);
    let open = format!(
        "mkfifo {keys}; PS1= {clean} setsid -f {holder} {PART_ARGUMENT} hold bash --norc --noprofile -i \
         <>{keys} >/dev/null 2>&1"
    );
    case.call(agent, &open);
    let script = format!("{line}; {}", done.making());
    let file = case.world.root.join(format!("typing{}", case.number));
    std::fs::write(&file, &script).unwrap();
    case.tell(format!("{} has: {script}", file.display()));
    let typing = format!("echo '. {}' >{keys}", file.display());
    let call = case.begin_call(agent, &typing);
    let ran = case.run(agent, &typing);
    done.wait();
    case.end_call(call, &ran);
    let leave = format!("echo exit >{keys}");
    case.run(agent, &leave);
}

/// A program that is nobody's holds a terminal and types there, as `expect` does.
fn robot_holds_a_terminal(case: &mut Case<'_>) {
    let commit = case.commit();
    let line = case.stamped(NOBODY, &commit);
    let bystander = case.dice.one_in(2).then(|| {
        let (agent, busy) = (case.agent(), case.dice.pick(BUSY));
        case.begin_call(agent, busy)
    });
    case.tell(format!("a program that holds a terminal types: {line}"));
    let mut terminal = Terminal::open(case.world, "robot");
    type_at(case, &mut terminal, &line);
    if let Some(call) = bystander {
        let ran = case.run(call.agent, "true");
        case.end_call(call, &ran);
    }
}

/// The agent is a job of the person's shell; each commits.
fn agent_in_the_terminal(case: &mut Case<'_>) {
    let agent = super::started_in_a_terminal(case);
    let (theirs, own) = (case.commit(), case.commit());
    let call = case.begin_call(agent, &own);
    case.person_types(&theirs);
    let ran = case.run(agent, &own);
    case.end_call(call, &ran);
    let last = case.commit();
    case.kill(agent);
    case.person_types(&last);
}

fn by_ssh(case: &mut Case<'_>) {
    let commit = case.commit();
    let line = case.stamped(PERSON, &commit);
    case.tell(format!("a person types over ssh: {line}"));
    let mut terminal = Terminal::open(case.world, "sshd");
    type_at(case, &mut terminal, &line);
}
