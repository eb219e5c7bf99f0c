//! Pi's row in the table of agents.

use std::path::PathBuf;

use super::transcript::Reader;
use super::{discover, passage, reduce};
use crate::known::PI;
use crate::plugin_file::PluginFile;
use crate::spec::AgentSpec;

const PLUGIN: PluginFile = PluginFile {
    text: include_str!("../../../../integrations/pi/siglum.ts"),
};

pub(crate) const SPEC: AgentSpec = AgentSpec {
    name: PI.name,
    title: "Pi",
    executables: PI.executables,
    scripts: PI.scripts,
    session_variable: PI.session_variable,
    presence_variables: PI.presence_variables,
    pid_variable: None,
    config_variable: Some("PI_CODING_AGENT_DIR"),
    home_variable: None,
    default_dir: |home| home.join(".pi/agent"),
    hooks_tell_failure: true,
    reduce: reduce::reduce,
    transcript: |stream, _, session| Box::new(Reader::new(stream, session)),
    subagents: |_, _| PathBuf::new(),
    passage_text: passage::passage_text,
    discover: discover::discover,
    project_dir: |dir, cwd| Some(discover::project(dir, cwd)),
    first_cwd: discover::first_cwd,
    settings: |dir| vec![dir.join("extensions/siglum.ts")],
    other_settings: |_| Vec::new(),
    plan_install: |files, shim| PLUGIN.plan_install(files, shim),
    plan_remove: |files, _| Ok(PluginFile::plan_remove(files)),
    inspect: |files, shim| PLUGIN.inspect(files, shim),
    retention_days: |_| None,
    resume: |native| {
        ["pi", "--session", native.as_str()]
            .map(str::to_owned)
            .to_vec()
    },
    // Nobody has tried whether it goes on with a transcript that was put back.
    resumed_transcript: |_, _, _, _| None,
    is_whole: |_| false,
};
