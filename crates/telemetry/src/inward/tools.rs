//! What a tool does, by its name: the names that the agents of the table and the common frameworks use.

use siglum_domain::observation::ToolClass;

const EDIT: &[&str] = &[
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "write_file",
    "replace",
    "create",
    "str_replace",
    "create_file",
    "apply_patch",
    "patch",
    "str_replace_editor",
];
const SHELL: &[&str] = &[
    "bash",
    "shell",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "local_shell",
    "exec",
    "run_in_terminal",
    "powershell",
    "execute_command",
];
const AGENT: &[&str] = &[
    "task",
    "agent",
    "spawn_agent",
    "subagent",
    "invoke_agent",
    "runsubagent",
    "sessions_spawn",
];

pub(super) fn class(tool: &str) -> ToolClass {
    let is_one_of = |names: &[&str]| names.iter().any(|name| tool.eq_ignore_ascii_case(name));
    match () {
        () if is_one_of(EDIT) => ToolClass::Edit,
        () if is_one_of(SHELL) => ToolClass::Shell,
        () if is_one_of(AGENT) => ToolClass::Agent,
        () => ToolClass::Other,
    }
}
