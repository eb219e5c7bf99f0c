//! OpenCode's row in the table of agents.

use std::path::{Path, PathBuf};

use super::transcript::NoTranscript;
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
    resume: |native| {
        ["opencode", "--session", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    // Nobody has tried whether it goes on with a transcript that was put back.
    resumed_transcript: |_, _, _, _| None,
    is_whole: |_| false,
};

fn default_dir(home: &Path) -> PathBuf {
    home.join(".config/opencode")
}
