//! Claude Code's row in the table of agents.

use super::hooks::HOOKS;
use super::transcript::Reader;
use super::{discover, passage, path, reduce, retention, whole};
use crate::known::CLAUDE_CODE;
use crate::spec::AgentSpec;

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: CLAUDE_CODE.name,
    title: "Claude Code",
    executables: CLAUDE_CODE.executables,
    scripts: CLAUDE_CODE.scripts,
    session_variable: CLAUDE_CODE.session_variable,
    presence_variables: CLAUDE_CODE.presence_variables,
    pid_variable: Some("CLAUDE_PID"),
    config_variable: Some("CLAUDE_CONFIG_DIR"),
    home_variable: None,
    default_dir: path::default_dir,
    hooks_tell_failure: true,
    reduce: reduce::reduce,
    transcript: |stream, subagent, session| Box::new(Reader::new(stream, subagent, session)),
    subagents: |transcript, _| path::subagents(transcript),
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: path::project_dir,
    first_cwd: discover::first_cwd,
    settings: |dir| vec![path::settings(dir), path::managed_settings()],
    other_settings: path::other_settings,
    plan_install: |files, shim| HOOKS.install_first(files, shim),
    plan_remove: |files, shim| HOOKS.remove_first(files, shim),
    inspect: super::hooks::inspect,
    retention_days: |files| Some(retention::retention_days(files)),
    resume: |native| {
        ["claude", "--resume", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    resumed_transcript: |dir, cwd, native, _| path::resumed_transcript(dir, cwd, native),
    is_whole: whole::is_whole,
};

#[cfg(test)]
mod tests {
    use siglum_domain::NativeId;

    use super::*;

    #[test]
    fn an_id_that_a_shell_would_read_is_quoted() {
        let resume = |id: &str| SPEC.resume_line(&NativeId::new(id).expect("a native id"));
        assert_eq!(
            resume("82d22249-95b9").as_deref(),
            Some("claude --resume 82d22249-95b9")
        );
        assert_eq!(resume("a;id").as_deref(), Some("claude --resume 'a;id'"));
        assert_eq!(resume("--version"), None);
    }
}
