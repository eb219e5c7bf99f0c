//! Traps: scenes in which a rule that sounds right names the wrong session.
//!
//! Each is played with real processes beside a bystander, a session that began last, was heard of
//! last, and is the first by name; the test shows that a rule that goes by any of these errs there.

mod containers;
mod hookless;
mod identity;
mod inherited;
mod nested;
mod users;

use crate::harness::{Agent, Ran, Repo};

const COMMIT: &str = "git commit -q --allow-empty -m work";
const BARE: &str = "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT CLAUDE_PID; \
                    git commit -q --allow-empty -m work";

/// A session that has nothing to do with what follows, and whose tool call runs.
fn bystander(repo: &Repo<'_>) -> Agent {
    let mut agent = Agent::start(repo, "a-bystander");
    let call = agent.shell_call("sleep 60");
    agent.hook("PreToolUse", call);
    agent
}

/// Runs a command with an agent's shell tool; before it runs, a bystander is prompted.
#[track_caller]
fn runs_beside(agent: &mut Agent, bystander: &mut Agent, repo: &Repo<'_>, command: &str) -> Ran {
    let call = agent.shell_call(command);
    agent.hook("PreToolUse", call.clone());
    bystander.prompt("And you?");
    let ran = agent.bare_sh(command);
    repo.recency_errs(&agent.native);
    agent.shell_returned(call, &ran);
    ran
}
