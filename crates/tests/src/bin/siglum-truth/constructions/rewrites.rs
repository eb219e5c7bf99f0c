//! Commits that are made of other commits, by somebody else.

use crate::case::Case;

/// Who does something in these stories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Party {
    Agent(usize),
    Person,
    Script,
}

pub(super) fn play(case: &mut Case<'_>) {
    let agent = case.agent();
    let kind = case.world.agents[agent].kind;
    let other = case.agent_but(kind, &[agent]);
    let parties = [
        Party::Agent(agent),
        Party::Person,
        Party::Agent(other),
        Party::Script,
    ];
    let maker = parties[case.dice.below(3)];
    let rewriter = loop {
        let found = case.dice.pick(&parties);
        if found != maker || case.dice.one_in(4) {
            break found;
        }
    };
    let branch = format!("work{}", case.number);
    let mut subjects = Vec::new();
    let mut work = format!("git checkout -q -b {branch}");
    for n in 1..=3 {
        let subject = case.subject();
        let path = format!("{branch}-{n}");
        let add = format!("echo {path} >{path} && git add {path}");
        work = format!("{work} && {add} && git commit -q -m '{subject}'");
        subjects.push(subject);
    }
    act(case, maker, &work);
    match case.dice.below(10) {
        0 => carry_over(case, rewriter, &subjects),
        1 => todo(case, rewriter, "2s/^pick/squash/", &subjects),
        2 => todo(case, rewriter, "3s/^pick/fixup/", &subjects),
        3 => todo(case, rewriter, "2s/^pick/reword/", &subjects),
        4 => edit(case, rewriter, &subjects),
        5 => split(case, rewriter, &subjects),
        6 => commit_while_it_stands(case, rewriter, &subjects),
        7 => amend(case, rewriter),
        8 => autosquash(case, rewriter, &subjects),
        _ => pick(case, rewriter, &branch),
    }
    case.world
        .sh("git rebase --abort 2>/dev/null; git checkout -q -f main")
        .ok();
}

fn act(case: &mut Case<'_>, party: Party, command: &str) {
    match party {
        Party::Agent(agent) => {
            case.call(agent, command);
        }
        Party::Person => case.person_types(command),
        Party::Script => case.script_runs(command),
    }
}

/// Main has gone on, and the commits are carried over as they are.
fn carry_over(case: &mut Case<'_>, rewriter: Party, subjects: &[String]) {
    let subject = case.subject();
    let branch = format!("work{}", case.number);
    let on = format!(
        "git checkout -q main && git commit -q --allow-empty -m '{subject}' && git checkout -q {branch}"
    );
    case.script_runs(&on);
    case.carried.extend_from_slice(subjects);
    act(case, rewriter, "git rebase -q main");
}

/// A rebase whose list is edited so.
fn todo(case: &mut Case<'_>, rewriter: Party, change: &str, subjects: &[String]) {
    // What the change does not touch is picked as it was.
    let touched = if change.starts_with('2') { 1 } else { 2 };
    let after = subjects.iter().enumerate();
    let untouched = after.filter(|(n, _)| *n != touched && n + 1 != touched);
    case.carried
        .extend(untouched.map(|(_, subject)| subject.clone()));
    if change.contains("reword") {
        case.carried.push(subjects[0].clone());
    }
    let command = format!(
        "GIT_SEQUENCE_EDITOR=\"sed -i '{change}'\" GIT_EDITOR=\"sed -i '1s/$/ anew/'\" \
         git rebase -q -i HEAD~3"
    );
    act(case, rewriter, &command);
}

/// The rebase stands still at the second of three commits.
fn stand_still(case: &mut Case<'_>, rewriter: Party, word: &str) {
    let editor = format!("GIT_SEQUENCE_EDITOR=\"sed -i '2s/^pick/{word}/'\"");
    act(case, rewriter, &format!("{editor} git rebase -q -i HEAD~3"));
}

fn edit(case: &mut Case<'_>, rewriter: Party, subjects: &[String]) {
    let branch = format!("work{}", case.number);
    case.carried.push(subjects[2].clone());
    stand_still(case, rewriter, "edit");
    let change = format!("echo more >>{branch}-2 && git commit -q -a --amend --no-edit");
    act(case, rewriter, &change);
    act(case, rewriter, "git rebase --continue");
}

fn split(case: &mut Case<'_>, rewriter: Party, subjects: &[String]) {
    case.carried.push(subjects[2].clone());
    stand_still(case, rewriter, "edit");
    let (one, two) = (case.subject(), case.subject());
    let branch = format!("work{}", case.number);
    let command = format!(
        "git reset -q HEAD~ && echo a >{branch}-a && git add {branch}-a && git commit -q -m '{one}' && \
         git add -A && git commit -q -m '{two}'"
    );
    act(case, rewriter, &command);
    act(case, rewriter, "git rebase --continue");
}

fn commit_while_it_stands(case: &mut Case<'_>, rewriter: Party, subjects: &[String]) {
    let editor = "GIT_SEQUENCE_EDITOR=\"sed -i '2ibreak'\"";
    act(case, rewriter, &format!("{editor} git rebase -q -i HEAD~3"));
    let subject = case.subject();
    let others = [Party::Person, Party::Script, rewriter];
    let who = case.dice.pick(&others);
    act(
        case,
        who,
        &format!("git commit -q --allow-empty -m '{subject}'"),
    );
    case.carried.extend_from_slice(subjects);
    act(case, rewriter, "git rebase --continue");
}

fn amend(case: &mut Case<'_>, rewriter: Party) {
    let branch = format!("work{}", case.number);
    let command = match case.dice.below(3) {
        0 => "git commit -q --amend --no-edit --allow-empty".to_owned(),
        1 => format!("echo more >>{branch}-3 && git commit -q -a --amend --no-edit"),
        _ => {
            let subject = case.subject();
            format!("git commit -q --amend -m '{subject}'")
        }
    };
    act(case, rewriter, &command);
}

fn autosquash(case: &mut Case<'_>, rewriter: Party, subjects: &[String]) {
    case.carried.push(subjects[2].clone());
    let branch = format!("work{}", case.number);
    let command = format!(
        "echo more >>{branch}-2 && git commit -q -a --fixup HEAD~1 && \
         GIT_SEQUENCE_EDITOR=: git rebase -q -i --autosquash HEAD~4"
    );
    act(case, rewriter, &command);
}

fn pick(case: &mut Case<'_>, rewriter: Party, branch: &str) {
    let side = format!("{branch}-side");
    let command = match case.dice.below(3) {
        0 => format!("git checkout -q -b {side} main && git cherry-pick {branch} >/dev/null"),
        1 => format!(
            "git checkout -q -b {side} main && git cherry-pick -x {branch}~2..{branch} >/dev/null"
        ),
        _ => "git revert --no-edit HEAD >/dev/null".to_owned(),
    };
    act(case, rewriter, &command);
}
