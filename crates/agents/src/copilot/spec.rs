//! Copilot CLI's row in the table of agents.

use super::hooks::HOOKS;
use super::transcript::Reader;
use super::{discover, hooks, passage, path, reduce};
use crate::known::COPILOT;
use crate::spec::AgentSpec;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: COPILOT.name,
    title: "Copilot CLI",
    executables: COPILOT.executables,
    scripts: COPILOT.scripts,
    session_variable: COPILOT.session_variable,
    presence_variables: COPILOT.presence_variables,
    pid_variable: None,
    config_variable: Some("COPILOT_HOME"),
    home_variable: None,
    default_dir: path::default_dir,
    hooks_tell_failure: true,
    reduce: reduce::reduce,
    transcript: |stream, subagent, session| Box::new(Reader::new(stream, subagent, session)),
    subagents: path::subagents,
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: |_, _| None,
    first_cwd: discover::first_cwd,
    settings: path::settings,
    other_settings: path::other_settings,
    plan_install: |files, shim| HOOKS.install_first(files, shim),
    plan_remove: |files, shim| HOOKS.remove_first(files, shim),
    inspect: hooks::inspect,
    retention_days: |_| None,
    resume: |native| vec!["copilot".to_owned(), format!("--resume={native}")],
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
        let resume = |id: &str| SPEC.resume_line(&NativeId::new(id).expect("a native id"));
        assert_eq!(
            resume("53fded1f-b33f").as_deref(),
            Some("copilot --resume=53fded1f-b33f")
        );
        assert_eq!(resume("a;id").as_deref(), Some("copilot '--resume=a;id'"));
    }
}
