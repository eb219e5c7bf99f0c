//! Qwen Code's row in the table of agents.

use super::hooks::HOOKS;
use super::transcript::Reader;
use super::{discover, hooks, passage, path, reduce};
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
    resume: |native| {
        ["qwen", "--resume", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    // Nobody has tried whether it goes on with a transcript that was put back.
    resumed_transcript: |_, _, _, _| None,
    is_whole: |_| false,
};

#[cfg(test)]
mod tests {
    use siglum_domain::NativeId;

    use super::*;

    #[test]
    fn a_session_is_resumed_by_its_id() {
        let native = NativeId::new("d7698494-95b9").expect("a native id");
        let line = SPEC.resume_line(&native);
        assert_eq!(line.as_deref(), Some("qwen --resume d7698494-95b9"));
    }
}
