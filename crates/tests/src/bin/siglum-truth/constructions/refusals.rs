//! A commit that git refuses, and somebody else's that lands right after it.

use crate::case::{Case, PERSON};

pub(super) fn play(case: &mut Case<'_>) {
    // Git's hooks see it begin, and then it is refused.
    let refused = match case.dice.below(4) {
        0 => "GIT_EDITOR=true git commit -q --allow-empty",
        1 => "GIT_EDITOR=false git commit -q --allow-empty",
        2 => "git commit -q --allow-empty -m ''",
        _ => "GIT_EDITOR='sed -i d' git commit -q --allow-empty -m draft -e",
    };
    let landing = if case.dice.one_in(4) {
        case.commit()
    } else {
        case.hookless_commit()
    };
    let story = case.dice.below(6);
    if story >= 4 {
        case.tell("all of this happens in a repository in which no agent ever worked");
        case.world.enter_quiet_repository();
    }
    match story {
        0 | 4 | 5 => {
            case.person_types(refused);
            case.script_runs(&landing);
        }
        1 => {
            let agent = case.agent();
            case.call(agent, refused);
            case.script_runs(&landing);
        }
        2 => {
            let agent = case.agent();
            let call = case.begin_call(agent, refused);
            let ran = case.run(agent, refused);
            let by_person = case.stamped(PERSON, &landing);
            case.person_types(&by_person);
            case.end_call(call, &ran);
        }
        _ => {
            case.person_types(refused);
            let agent = case.agent();
            case.call(agent, &landing);
        }
    }
    // And the one whose turn it was, at last.
    if case.dice.one_in(3) {
        let again = case.commit();
        case.person_types(&again);
    }
}
