//! Agents that do not look like agents, below agents that do.

use super::{CLEAN, pipes, take_up};
use crate::agent::Kind;
use crate::case::Case;
use crate::parts::PART;

pub(super) fn play(case: &mut Case<'_>) {
    let outer = case.agent();
    let disguise = case.dice.below(7);
    let bin = |case: &Case<'_>, name: &str| case.world.bin(name).display().to_string();
    // How the inner one is started; what it really is, no recorded session tells.
    let words = match disguise {
        // Its title is set, its program is node.
        0 | 1 => format!("bash -c 'exec -a pi {}'", bin(case, "node")),
        2 => {
            let script = "/usr/lib/node_modules/@earendil-works/pi-coding-agent/dist/cli.js";
            format!("{} {script}", bin(case, "node"))
        }
        3 => format!("bash -c 'exec -a qwen {}'", bin(case, "node")),
        4 => {
            let script = "/usr/lib/node_modules/@qwen-code/qwen-code/cli.js";
            format!("{} {script} --yolo", bin(case, "node"))
        }
        // An agent of a known name that nobody records.
        5 => bin(case, "codex"),
        // A tool of the outer one, that is no agent: what it commits is the outer one's.
        _ => return tool_below(case, outer),
    };
    let clean = case.dice.pick(&[CLEAN, ""]);
    let pipes = pipes(case);
    let command = format!("{clean} env {PART}=agent {words} {}", pipes.words);
    let running = case
        .dice
        .one_in(2)
        .then(|| case.begin_call(outer, "pi -p 'do the work'"));
    case.start(outer, &command);
    let inner = take_up(case, Kind::Codex, pipes);
    let title = if disguise == 3 { "qwen" } else { "pi" };
    if matches!(disguise, 0 | 1 | 3) {
        let step = serde_json::json!({ "do": "title", "title": title });
        case.world.agents[inner].step(&step);
    }
    // It has variables of its own in some versions, and none in others.
    let commit = case.commit();
    let own = case.dice.pick(&["", "PI_CODING_AGENT=1 "]);
    let unset = "unset CODEX_CI CODEX_SESSION_ID CODEX_THREAD_ID CODEX_TOOL_CALL_ID;";
    let export = if own.is_empty() {
        String::new()
    } else {
        format!("export {own};")
    };
    case.run(inner, &format!("{unset} {export} {commit}"));
    if let Some(call) = running {
        let ran = case.run(outer, "true");
        case.end_call(call, &ran);
    }
    case.kill(inner);
}

fn tool_below(case: &mut Case<'_>, outer: usize) {
    let commit = case.commit();
    let task = case.world.bin("task").display().to_string();
    let command = format!(
        "{task} --part deep {} {}",
        1 + case.dice.below(3),
        crate::world::quoted(&commit)
    );
    case.call(outer, &command);
}
