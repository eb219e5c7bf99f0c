//! OpenCode's row in the table of agents.

use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

use super::transcript::NoTranscript;
use crate::command_hooks::quote;
use crate::known::OPENCODE;
use crate::plugin_file::PluginFile;
use crate::record;
use crate::spec::AgentSpec;

pub(super) const PLUGIN: PluginFile = PluginFile {
    text: include_str!("../../../../integrations/opencode/siglum.js"),
};

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: OPENCODE.name,
    title: "OpenCode",
    executables: OPENCODE.executables,
    scripts: OPENCODE.scripts,
    session_variable: OPENCODE.session_variable,
    presence_variables: OPENCODE.presence_variables,
    pid_variable: None,
    config_variable: None,
    home_variable: None,
    default_dir,
    hooks_tell_failure: true,
    reduce: record::reduce,
    transcript: |_, _, _| Box::new(NoTranscript),
    subagents: |_, _| PathBuf::new(),
    passage_text: |_| None,
    discover: |_| Vec::new(),
    project_dir: |_, _| None,
    first_cwd: |_| None,
    settings: |dir| vec![dir.join("plugins/siglum.js")],
    other_settings: |_| Vec::new(),
    plan_install: |files, shim| PLUGIN.plan_install(files, shim),
    plan_remove: |files, _| Ok(PluginFile::plan_remove(files)),
    inspect: |files, shim| PLUGIN.inspect(files, shim),
    retention_days: |_| None,
    resume,
};

fn default_dir(home: &Path) -> PathBuf {
    home.join(".config/opencode")
}

fn resume(native: &NativeId) -> String {
    format!("opencode --session {}", quote(native.as_str()))
}
