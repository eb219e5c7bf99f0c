//! Gemini CLI's row in the table of agents.

use super::hooks::HOOKS;
use super::transcript::Reader;
use super::{discover, hooks, passage, path, reduce, retention};
use crate::known::GEMINI;
use crate::spec::AgentSpec;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: GEMINI.name,
    title: "Gemini CLI",
    executables: GEMINI.executables,
    scripts: GEMINI.scripts,
    session_variable: GEMINI.session_variable,
    presence_variables: GEMINI.presence_variables,
    pid_variable: None,
    config_variable: None,
    home_variable: Some("GEMINI_CLI_HOME"),
    default_dir: path::default_dir,
    hooks_tell_failure: true,
    reduce: reduce::reduce,
    transcript: |stream, subagent, session| Box::new(Reader::new(stream, subagent, session)),
    subagents: discover::subagents,
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: |_, _| None,
    first_cwd: discover::first_cwd,
    settings: |dir| vec![path::settings(dir)],
    other_settings: |_| Vec::new(),
    plan_install: |files, shim| HOOKS.install_first(files, shim),
    plan_remove: |files, shim| HOOKS.remove_first(files, shim),
    inspect: hooks::inspect,
    retention_days: |files| retention::retention_days(files.first()?.text.as_deref()),
    resume: |native| {
        ["gemini", "--resume", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    // The head of a transcript, without which it is none, is not among the lines that are stored.
    resumed_transcript: |_, _, _, _| None,
    is_whole: |_| false,
};

#[cfg(test)]
mod tests {
    use siglum_domain::NativeId;

    use super::*;

    #[test]
    fn a_session_is_resumed_by_its_id() {
        let native = NativeId::new("b7fe66b8-a409").expect("a native id");
        let line = SPEC.resume_line(&native);
        assert_eq!(line.as_deref(), Some("gemini --resume b7fe66b8-a409"));
    }
}
