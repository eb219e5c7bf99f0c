//! Codex's row in the table of agents.

use super::transcript::Reader;
use super::{discover, meta, passage, path, reduce, settings};
use crate::known::CODEX;
use crate::spec::AgentSpec;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: CODEX.name,
    title: "Codex",
    executables: CODEX.executables,
    scripts: CODEX.scripts,
    session_variable: CODEX.session_variable,
    presence_variables: CODEX.presence_variables,
    pid_variable: None,
    config_variable: Some("CODEX_HOME"),
    home_variable: None,
    default_dir: path::default_dir,
    hooks_tell_failure: false,
    reduce: reduce::reduce,
    transcript: |stream, subagent, session| Box::new(Reader::new(stream, subagent, session)),
    subagents: |path, _| path.with_extension("").join("subagents"),
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: |_, _| None,
    first_cwd: discover::first_cwd,
    settings: path::settings,
    other_settings: |_| Vec::new(),
    plan_install: settings::plan_install,
    plan_remove: settings::plan_remove,
    inspect: settings::inspect,
    retention_days: |_| None,
    resume: |native| {
        ["codex", "resume", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    resumed_transcript: |dir, _, native, stream| path::resumed_transcript(dir, native, stream),
    is_whole: meta::is_whole,
};

#[cfg(test)]
mod tests {
    use siglum_domain::NativeId;

    use super::*;

    #[test]
    fn an_id_that_a_shell_would_read_is_quoted() {
        let resume = |id: &str| SPEC.resume_line(&NativeId::new(id).expect("a native id"));
        assert_eq!(
            resume("01a1fad3-47a1").as_deref(),
            Some("codex resume 01a1fad3-47a1")
        );
        assert_eq!(resume("a;id").as_deref(), Some("codex resume 'a;id'"));
    }
}
