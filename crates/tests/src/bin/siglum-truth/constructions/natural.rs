//! Everyday work: nothing is false here today, and nothing may become so.

use super::{CLEAN, agent_words, pipes, started_by_agent, take_up};
use crate::agent::Kind;
use crate::case::Case;

pub(super) fn play(case: &mut Case<'_>) {
    match case.dice.below(10) {
        0 => plain(case),
        1 => nested(case),
        2 => resumed(case),
        3 => cleared(case),
        4 => interleaved(case),
        5 => in_worktrees(case),
        6 => burst(case),
        7 => without_variables(case),
        8 => merged(case),
        _ => everyone_in_turn(case),
    }
}

fn plain(case: &mut Case<'_>) {
    let agent = if case.dice.one_in(4) {
        case.agent_but(Kind::Gemini, &[])
    } else {
        case.agent()
    };
    let commit = case.commit();
    case.call(agent, &commit);
}

fn without_variables(case: &mut Case<'_>) {
    let agent = case.agent();
    let commit = case.commit();
    case.call(
        agent,
        &format!("{CLEAN} sh -c {}", crate::world::quoted(&commit)),
    );
}

fn nested(case: &mut Case<'_>) {
    let outer = case.agent();
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let call = case.begin_call(outer, "claude -p 'do the work'");
    let inner = started_by_agent(case, outer, kind, "");
    let commit = case.commit();
    case.call(inner, &commit);
    case.kill(inner);
    let ran = case.run(outer, "true");
    case.end_call(call, &ran);
    let commit = case.commit();
    case.call(outer, &commit);
}

/// The session goes on in another process.
fn resumed(case: &mut Case<'_>) {
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let first = case.fresh_agent(kind);
    let commit = case.commit();
    case.call(first, &commit);
    let native = case.native(first);
    if case.dice.one_in(2) {
        case.end(first, "other");
    }
    case.kill(first);
    let pipes = pipes(case);
    let words = agent_words(case, kind);
    let launch = format!("exec env {words} {}", pipes.words);
    let mut script = case.world.detached("/bin/sh");
    script.args(["-c", &launch]).status().unwrap();
    let second = take_up(case, kind, pipes);
    case.world.agents[second].rename(native);
    case.begin(second, "resume");
    let commit = case.commit();
    case.call(second, &commit);
}

fn cleared(case: &mut Case<'_>) {
    let kind = case.dice.pick(&[Kind::Claude, Kind::Codex]);
    let agent = case.fresh_agent(kind);
    let commit = case.commit();
    case.call(agent, &commit);
    case.stop(agent);
    case.end(agent, "clear");
    let fresh = case.world.fresh_name("cleared");
    case.tell(format!("the same process goes on as {fresh}"));
    case.world.agents[agent].rename(fresh);
    case.begin(agent, "clear");
    let commit = case.commit();
    if case.dice.one_in(2) {
        case.call(agent, &commit);
    } else {
        case.run(agent, &commit);
    }
}

fn interleaved(case: &mut Case<'_>) {
    let one = case.agent();
    let kind = case.world.agents[one].kind;
    let two = case.agent_but(kind, &[one]);
    for _ in 0..2 {
        let (first, second) = (case.commit(), case.commit());
        let call = case.begin_call(one, &first);
        let other = case.begin_call(two, &second);
        let ran = case.run(one, &first);
        let and = case.run(two, &second);
        case.end_call(call, &ran);
        case.end_call(other, &and);
    }
}

fn in_worktrees(case: &mut Case<'_>) {
    let side = case.world.root.join(format!("side{}", case.number));
    let branch = format!("side{}", case.number);
    let add = format!("git worktree add -q -b {branch} {}", side.display());
    case.world.sh(&add).ok();
    let (here, there) = (case.agent(), case.fresh_agent(Kind::Claude));
    case.world.agents[there].cwd.clone_from(&side);
    case.prompt(there);
    let (main, other) = (case.commit(), case.commit());
    let call = case.begin_call(here, &main);
    case.call(there, &other);
    let ran = case.run(here, &main);
    case.end_call(call, &ran);
    case.kill(there);
}

/// Several commit at once in one checkout.
fn burst(case: &mut Case<'_>) {
    let one = case.agent();
    let kind = case.world.agents[one].kind;
    let two = case.agent_but(kind, &[one]);
    let mut gates = Vec::new();
    let mut marks = Vec::new();
    let mut calls = Vec::new();
    for agent in [one, two] {
        let (commit, gate, done) = (retried(case), case.gate(), case.mark());
        let call = case.begin_call(agent, &commit);
        case.start(
            agent,
            &format!("{}; {commit}; {}", gate.waiting(), done.making()),
        );
        calls.push(call);
        gates.push(gate);
        marks.push(done);
    }
    let (commit, gate) = (retried(case), case.gate());
    let script = case.start_script(&format!("{}; {commit}", gate.waiting()));
    gates.push(gate);
    marks.push(script);
    for gate in &mut gates {
        gate.open();
    }
    for mark in &marks {
        mark.wait();
    }
    for call in calls {
        let ran = case.run(call.agent, "true");
        case.end_call(call, &ran);
    }
}

/// A commit that is tried again while somebody else's is in the way.
fn retried(case: &mut Case<'_>) -> String {
    let subject = case.subject();
    format!(
        "for n in 1 2 3 4 5 6 7 8; do git commit -q --allow-empty -m '{subject}' 2>/dev/null && break; \
         sleep 0.0$n; done"
    )
}

fn everyone_in_turn(case: &mut Case<'_>) {
    let agent = case.agent();
    for _ in 0..3 {
        let commit = case.commit();
        match case.dice.below(4) {
            0 => case.person_types(&commit),
            1 => case.script_runs(&commit),
            2 => {
                case.run(agent, &commit);
            }
            _ => {
                case.call(agent, &commit);
            }
        }
    }
}

/// One makes a branch, another merges it.
fn merged(case: &mut Case<'_>) {
    let (maker, merger) = (case.agent(), case.agent());
    let branch = format!("topic{}", case.number);
    let (commit, other) = (case.commit(), case.commit());
    case.call(maker, &format!("git checkout -q -b {branch} && {commit}"));
    case.call(maker, &format!("git checkout -q main && {other}"));
    let subject = case.subject();
    let merge = format!("git merge -q --no-ff -m '{subject}' {branch}");
    if case.dice.one_in(3) {
        case.person_types(&merge);
    } else {
        case.call(merger, &merge);
    }
}
