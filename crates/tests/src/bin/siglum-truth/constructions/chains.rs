//! Git far below whoever started it.

use super::{CLEAN, started_by_agent};
use crate::agent::Kind;
use crate::case::{Case, PERSON};
use crate::parts::PART_ARGUMENT;
use crate::terminal::Terminal;
use crate::world::quoted;

pub(super) fn play(case: &mut Case<'_>) {
    match case.dice.below(7) {
        0 | 1 => shell_below_many(case),
        2 => many_below_agent(case),
        3 => namespace_below_agent(case),
        4 => agent_below_many_below_agent(case),
        5 => many_below_person(case),
        _ => shell_in_namespace(case),
    }
}

/// So many programs above a command.
fn deep(case: &mut Case<'_>, count: usize, command: &str) -> String {
    let task = case.world.bin("task").display().to_string();
    format!("{task} {PART_ARGUMENT} deep {count} {}", quoted(command))
}

fn depth(case: &mut Case<'_>) -> usize {
    case.dice
        .pick(&[20, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 40])
}

/// Words that run a command in an interactive shell in a terminal of its own.
fn in_terminal(case: &Case<'_>, holder: &str, command: &str) -> String {
    let holder = case.world.bin(holder).display().to_string();
    let shell = format!(
        "bash --norc --noprofile -ic {}",
        quoted(&format!("{command}\n:"))
    );
    format!("PS1= {holder} {PART_ARGUMENT} wrap {shell}")
}

/// An agent, many programs, a terminal with a shell: no walk that is cut sees the agent.
fn shell_below_many(case: &mut Case<'_>) {
    let agent = case.agent();
    let commit = case.commit();
    let holder = case.dice.pick(&["robot", "xterm"]);
    let inner = in_terminal(case, holder, &commit);
    let count = depth(case);
    let clean = case.dice.pick(&[CLEAN, ""]);
    let command = format!("{clean} {}", deep(case, count, &inner));
    if case.dice.one_in(2) {
        case.call(agent, &command);
    } else {
        case.run(agent, &command);
    }
}

fn many_below_agent(case: &mut Case<'_>) {
    let agent = case.agent();
    let commit = case.commit();
    let count = depth(case);
    let clean = case.dice.pick(&[CLEAN, "", ""]);
    let command = format!("{clean} {}", deep(case, count, &commit));
    case.call(agent, &command);
}

const CONTAINER: &str = "unshare --user --map-root-user --pid --fork --mount-proc";

fn may_unshare(case: &Case<'_>) -> bool {
    case.world.sh(&format!("{CONTAINER} true")).code == Some(0)
}

fn namespace_below_agent(case: &mut Case<'_>) {
    if !may_unshare(case) {
        return many_below_agent(case);
    }
    let agent = case.agent();
    let commit = case.commit();
    let clean = case.dice.pick(&[CLEAN, ""]);
    case.call(
        agent,
        &format!("{clean} {CONTAINER} sh -c {}", quoted(&commit)),
    );
}

/// A shell at a terminal inside a namespace: an agent's, or a person's.
fn shell_in_namespace(case: &mut Case<'_>) {
    if !may_unshare(case) {
        return shell_below_many(case);
    }
    let commit = case.commit();
    let inner = in_terminal(case, "robot", &commit);
    if case.dice.one_in(3) {
        let bystander = case.agent();
        let call = case.begin_call(bystander, "docker ps");
        case.person_types(&format!("{CONTAINER} sh -c {}", quoted(&commit)));
        let ran = case.run(bystander, "true");
        case.end_call(call, &ran);
        return;
    }
    let agent = case.agent();
    let clean = case.dice.pick(&[CLEAN, ""]);
    case.call(
        agent,
        &format!("{clean} {CONTAINER} sh -c {}", quoted(&inner)),
    );
}

fn agent_below_many_below_agent(case: &mut Case<'_>) {
    let outer = case.agent();
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let inner = started_by_agent(case, outer, kind, "");
    let commit = case.commit();
    let count = depth(case);
    let command = deep(case, count, &commit);
    case.call(inner, &command);
    case.kill(inner);
}

fn many_below_person(case: &mut Case<'_>) {
    let commit = case.commit();
    let count = depth(case);
    let bystander = case.agent();
    let call = case.begin_call(bystander, "make");
    let command = deep(case, count, &commit);
    if case.dice.one_in(2) {
        case.person_types(&command);
    } else {
        let line = case.stamped(PERSON, &command);
        case.tell(format!("a person types over ssh: {line}"));
        let mut terminal = Terminal::open(case.world, "sshd");
        let done = case.mark();
        terminal.type_line(&line);
        terminal.type_line(&done.making());
        done.wait();
    }
    let ran = case.run(bystander, "true");
    case.end_call(call, &ran);
}
