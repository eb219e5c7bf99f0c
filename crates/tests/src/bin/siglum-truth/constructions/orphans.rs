//! Work that its parent left behind, while a tool call of somebody else runs.

use super::{BUSY, CLEAN};
use crate::agent::Kind;
use crate::case::{Case, PERSON, has_program, in_shell};
use crate::terminal::Terminal;
use crate::world::quoted;

/// How a namespace of its own is made, as containers have one.
const CONTAINER: &str = "unshare --user --map-root-user --pid --fork --mount-proc";

pub(super) fn play(case: &mut Case<'_>) {
    match case.dice.below(9) {
        0 => left_by_person(case),
        1 => left_by_closed_terminal(case),
        2 => older_than_the_call(case),
        3 => in_a_container(case),
        4 => scheduled(case),
        5 | 6 => left_by_agent(case),
        7 => left_by_agent_without_variables(case),
        _ => left_by_ended_agent(case),
    }
}

/// Someone waits at a gate and commits; a call of a bystander runs while it is opened.
fn under_a_call(case: &mut Case<'_>, launch: impl FnOnce(&mut Case<'_>, &str)) {
    let commit = case.commit();
    let (mut gate, done) = (case.gate(), case.mark());
    let script = format!("{}; {commit}; {}", gate.waiting(), done.making());
    let bystander = case.agent();
    let busy = case.dice.pick(BUSY);
    let early = case.dice.one_in(2);
    let mut call = None;
    if early {
        call = Some(case.begin_call(bystander, busy));
    }
    launch(case, &script);
    let call = match call {
        Some(call) => call,
        None => case.begin_call(bystander, busy),
    };
    gate.open();
    done.wait();
    case.tell("now it commits");
    let ran = case.run(bystander, "true");
    case.end_call(call, &ran);
}

fn left_by_person(case: &mut Case<'_>) {
    let form = case.dice.below(4);
    under_a_call(case, |case, script| {
        let inside = in_shell(script);
        let line = match form {
            0 => format!("(setsid {inside} &)"),
            1 => format!("setsid -f {inside}"),
            2 => format!("(nohup {inside} >/dev/null 2>&1 &)"),
            _ => format!("({inside} &)"),
        };
        case.person_types(&line);
    });
}

fn left_by_closed_terminal(case: &mut Case<'_>) {
    let word = case.dice.pick(&["nohup", "setsid"]);
    under_a_call(case, |case, script| {
        let inside = in_shell(script);
        let begun = case.mark();
        let line = case.stamped(PERSON, &format!("{word} {inside} >/dev/null 2>&1 & disown"));
        case.tell(format!(
            "a person types in another xterm, and closes it: {line}"
        ));
        let mut terminal = Terminal::open(case.world, "xterm");
        terminal.type_line(&line);
        terminal.type_line(&format!("{}; exit", begun.making()));
        begun.wait();
    });
}

fn older_than_the_call(case: &mut Case<'_>) {
    under_a_call(case, |case, script| {
        case.start_script(&format!("while :; do {script}; break; done"));
    });
}

fn in_a_container(case: &mut Case<'_>) {
    if !has_program("unshare") || case.world.sh(&format!("{CONTAINER} true")).code != Some(0) {
        return scheduled(case);
    }
    let by_person = case.dice.one_in(3);
    under_a_call(case, |case, script| {
        let line = format!(
            "{CONTAINER} sh -c {} </dev/null >/dev/null 2>&1",
            quoted(script)
        );
        if by_person {
            case.person_types(&format!("(setsid {line} &)"));
        } else {
            case.start_script(&line);
        }
    });
}

fn scheduled(case: &mut Case<'_>) {
    let bystander = case.agent();
    let busy = case.dice.pick(BUSY);
    let commit = case.commit();
    let call = case.begin_call(bystander, busy);
    case.script_runs(&commit);
    let ran = case.run(bystander, "true");
    case.end_call(call, &ran);
}

/// An agent's command leaves something behind that commits later.
fn left_by_agent(case: &mut Case<'_>) {
    let maker = case.agent();
    let commit = case.commit();
    let (mut gate, done) = (case.gate(), case.mark());
    let script = format!("{}; {commit}; {}", gate.waiting(), done.making());
    let inside = in_shell(&script);
    let line = match case.dice.below(3) {
        0 => format!("setsid -f {inside} >/dev/null 2>&1"),
        // Codex of a version that names the thread alone.
        1 if case.world.agents[maker].kind == Kind::Codex => {
            format!("env -u CODEX_SESSION_ID nohup {inside} >/dev/null 2>&1 &")
        }
        1 => format!("nohup {inside} >/dev/null 2>&1 &"),
        _ => format!("(setsid {inside} >/dev/null 2>&1 &)"),
    };
    let call = case.begin_call(maker, &line);
    let ran = case.run(maker, &line);
    let inside_call = case.dice.one_in(3);
    if inside_call {
        gate.open();
        done.wait();
    }
    case.end_call(call, &ran);
    if inside_call {
        return;
    }
    let other = case.dice.one_in(2).then(|| {
        let kind = case.world.agents[maker].kind;
        let other = case.agent_but(kind, &[maker]);
        let busy = case.dice.pick(BUSY);
        case.begin_call(other, busy)
    });
    gate.open();
    done.wait();
    case.tell("now it commits");
    if let Some(call) = other {
        let ran = case.run(call.agent, "true");
        case.end_call(call, &ran);
    }
}

fn left_by_agent_without_variables(case: &mut Case<'_>) {
    let maker = case.agent();
    let commit = case.commit();
    let (mut gate, done) = (case.gate(), case.mark());
    let script = format!("{}; {commit}; {}", gate.waiting(), done.making());
    let line = format!("{CLEAN} setsid -f {} >/dev/null 2>&1", in_shell(&script));
    let call = case.begin_call(maker, &line);
    let ran = case.run(maker, &line);
    let own_call_runs = case.dice.one_in(2);
    if own_call_runs {
        gate.open();
        done.wait();
        case.end_call(call, &ran);
        return;
    }
    case.end_call(call, &ran);
    let kind = case.world.agents[maker].kind;
    let other = case.agent_but(kind, &[maker]);
    let busy = case.dice.pick(BUSY);
    let call = case.begin_call(other, busy);
    gate.open();
    done.wait();
    case.tell("now it commits");
    let ran = case.run(other, "true");
    case.end_call(call, &ran);
}

fn left_by_ended_agent(case: &mut Case<'_>) {
    let kind = case
        .dice
        .pick(&[crate::agent::Kind::Claude, crate::agent::Kind::Codex]);
    let maker = case.fresh_agent(kind);
    let commit = case.commit();
    let (mut gate, done) = (case.gate(), case.mark());
    let script = format!("{}; {commit}; {}", gate.waiting(), done.making());
    case.call(
        maker,
        &format!("setsid -f {} >/dev/null 2>&1", in_shell(&script)),
    );
    case.stop(maker);
    if case.dice.one_in(2) {
        case.end(maker, "other");
    }
    case.kill(maker);
    gate.open();
    done.wait();
    case.tell("now it commits");
}
