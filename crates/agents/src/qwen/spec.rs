//! Qwen Code's row in the table of agents.

use siglum_domain::NativeId;

use super::hooks::HOOKS;
use super::transcript::Reader;
use super::{discover, hooks, passage, path, reduce};
use crate::command_hooks::quote;
use crate::known::QWEN;
use crate::spec::AgentSpec;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: QWEN.name,
    title: "Qwen Code",
    executables: QWEN.executables,
    scripts: QWEN.scripts,
    session_variable: QWEN.session_variable,
    presence_variables: QWEN.presence_variables,
    pid_variable: None,
    config_variable: Some("QWEN_HOME"),
    home_variable: None,
    default_dir: path::default_dir,
    hooks_tell_failure: true,
    reduce: reduce::reduce,
    transcript: |stream, subagent, session| Box::new(Reader::new(stream, subagent, session)),
    subagents: path::subagents,
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: path::project_dir,
    first_cwd: discover::first_cwd,
    settings: |dir| vec![path::settings(dir)],
    other_settings: path::other_settings,
    plan_install: |files, shim| HOOKS.install_first(files, shim),
    plan_remove: |files, shim| HOOKS.remove_first(files, shim),
    inspect: hooks::inspect,
    // What it cleans up after some time is no transcript.
    retention_days: |_| None,
    resume,
};

fn resume(native: &NativeId) -> String {
    format!("qwen --resume {}", quote(native.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_resumed_by_its_id() {
        let native = NativeId::new("d7698494-95b9").expect("a native id");
        assert_eq!(resume(&native), "qwen --resume d7698494-95b9");
    }
}
