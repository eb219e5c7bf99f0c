//! Claude Code's row in the table of agents.

use siglum_domain::NativeId;

use super::{Reader, discover, install, passage, path, reduce};
use crate::known::CLAUDE_CODE;
use crate::spec::AgentSpec;

/// The row.
pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: CLAUDE_CODE.name,
    title: "Claude Code",
    executables: CLAUDE_CODE.executables,
    scripts: CLAUDE_CODE.scripts,
    session_variable: CLAUDE_CODE.session_variable,
    presence_variables: CLAUDE_CODE.presence_variables,
    pid_variable: Some("CLAUDE_PID"),
    config_variable: Some("CLAUDE_CONFIG_DIR"),
    default_dir: path::default_dir,
    reduce: reduce::reduce,
    transcript: Reader::new,
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: path::project_dir,
    first_cwd: discover::first_cwd,
    settings: path::settings,
    plan_install: install::plan_install,
    plan_remove: install::plan_remove,
    inspect: install::inspect,
    retention_days: install::retention_days,
    resume,
};

fn resume(native: &NativeId) -> String {
    let id = native.as_str();
    let plain = !id.starts_with('-')
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let id = if plain {
        id.to_owned()
    } else {
        install::quote(id)
    };
    format!("claude --resume {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_a_shell_would_read_is_quoted() {
        let resume = |id: &str| resume(&NativeId::new(id).expect("a native id"));
        assert_eq!(resume("82d22249-95b9"), "claude --resume 82d22249-95b9");
        assert_eq!(resume("a;id"), "claude --resume 'a;id'");
        assert_eq!(resume("-rf"), "claude --resume '-rf'");
    }
}
