//! Calls that print a commit which somebody else made without hooks, and calls that made one.

use crate::agent::Kind;
use crate::case::Case;

/// Commands that show what HEAD is, and make nothing.
const SHOWING: &[&str] = &[
    "git log -3",
    "git rev-parse HEAD",
    "git show --stat",
    "git log --oneline -5",
    "git reflog -3",
    "git status && git log -1 --format=%H",
    "git rev-parse --short HEAD",
    "tail -n 2 .git/logs/HEAD",
    "echo 'I will git commit later'; git log -2",
    "git commit -q -m 'nothing to do' ; git log -1",
];

pub(super) fn play(case: &mut Case<'_>) {
    match case.dice.below(8) {
        0..=2 => others_commit(case),
        3 => own_line_in_a_file(case),
        4 => silent_beside_a_printer(case),
        5 => loud_or_silent(case),
        6 => in_two_calls(case),
        _ => gemini(case),
    }
}

/// Somebody who is not the printer commits while its call runs.
fn others_commit(case: &mut Case<'_>) {
    let printer = case.agent();
    let showing = case.dice.pick(SHOWING);
    let hookless = case.dice.below(4) > 0;
    let commit = if hookless {
        case.hookless_commit()
    } else {
        case.commit()
    };
    let call = case.begin_call(printer, showing);
    if case.dice.one_in(2) {
        case.script_runs(&commit);
    } else {
        case.person_types(&commit);
    }
    let ran = case.run(printer, showing);
    case.end_call(call, &ran);
}

/// Git's own line of making a commit, in what a call prints of another's log.
fn own_line_in_a_file(case: &mut Case<'_>) {
    let printer = case.agent();
    let subject = case.subject();
    let log = case.world.root.join("build.log").display().to_string();
    let commit =
        format!("git -c core.hooksPath=/dev/null commit --allow-empty -m '{subject}' >{log}");
    let showing = format!("cat {log}");
    let call = case.begin_call(printer, &showing);
    case.script_runs(&commit);
    let ran = case.run(printer, &showing);
    case.end_call(call, &ran);
}

/// One call commits without hooks and without a word, another prints.
fn silent_beside_a_printer(case: &mut Case<'_>) {
    let printer = case.agent();
    let maker = case.agent_but(Kind::Gemini, &[]);
    let subject = case.subject();
    let quiet = case.dice.pick(&["-q ", ""]);
    let commit = format!("git commit {quiet}--allow-empty -m '{subject}'");
    let showing = case.dice.pick(SHOWING);
    let making = case.begin_call(maker, &commit);
    let printing = case.begin_call(printer, showing);
    let made = case.run(maker, &commit);
    let printed = case.run(printer, showing);
    if case.dice.one_in(2) {
        case.end_call(printing, &printed);
        case.end_call(making, &made);
    } else {
        case.end_call(making, &made);
        case.end_call(printing, &printed);
    }
}

fn loud_or_silent(case: &mut Case<'_>) {
    let maker = case.agent();
    let commit = case.hookless_commit();
    case.call(maker, &commit);
}

fn in_two_calls(case: &mut Case<'_>) {
    let maker = case.agent();
    let commit = case.hookless_commit();
    case.call(maker, "git add -A");
    case.call(maker, &commit);
    case.call(maker, "git log -1");
}

fn gemini(case: &mut Case<'_>) {
    let maker = case.agent_but(Kind::Gemini, &[]);
    let commit = case.commit();
    let command = match case.dice.below(3) {
        0 => format!("{commit} && git rev-parse HEAD"),
        1 => format!("{commit} && git log -1 --oneline"),
        _ => commit,
    };
    case.call(maker, &command);
}
