//! Whether something that is asked may be done here, and how.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use siglum_domain::link::Link;
use siglum_domain::trace::TraceParent;
use siglum_engine::run::{RunSpec, run_spec};

use super::{Ask, RunSettings, Said, Speaker};
use crate::problem::Problem;

const PARENT: &str = "TRACEPARENT";
/// What tells the hooks of an agent in which trace its launcher was asked.
const TRACED: &str = "SIGLUM_TRACEPARENT";
/// What of a trace may be in the gateway's own environment, and is nobody else's.
const FOREIGN: [&str; 4] = [PARENT, "TRACESTATE", "BAGGAGE", TRACED];

/// How something that is asked is done.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) spec: &'static RunSpec,
    pub(super) program: PathBuf,
    pub(super) cwd: PathBuf,
    /// What the agent is told, block by block.
    pub(super) blocks: Vec<String>,
}

impl Plan {
    /// Checks what is asked against what the operator allows.
    pub(super) fn of(settings: &RunSettings, ask: &Ask) -> Result<Self, Problem> {
        let agent = settings.agents.iter().find(|agent| agent.name == ask.agent);
        let Some((agent, spec)) = agent.zip(run_spec(ask.agent.as_str())) else {
            let rule = format!(
                "`{}` is not run here; `siglum serve --run` says which are",
                ask.agent
            );
            return Err(Problem::invalid("agent", rule));
        };
        let program = agent.program.clone();
        Ok(Self {
            spec,
            program: program.unwrap_or_else(|| spec.program.into()),
            cwd: within(settings, ask.cwd.as_deref())?,
            blocks: blocks(&ask.prompt)?,
        })
    }
}

/// The directory of a run: the one that is asked for, if it lies in one that the operator named; else the first of those.
fn within(settings: &RunSettings, asked: Option<&Path>) -> Result<PathBuf, Problem> {
    let rule = "an existing directory in one that `siglum serve --workdir` names";
    let Some(asked) = asked else {
        let first = settings.workdirs.first().cloned();
        return first.ok_or_else(|| Problem::invalid("cwd", rule));
    };
    // Where it leads to counts, and not what it is called.
    let real = std::fs::canonicalize(asked).ok().filter(|dir| dir.is_dir());
    let inside = |dir: &PathBuf| {
        settings
            .workdirs
            .iter()
            .any(|allowed| dir.starts_with(allowed))
    };
    real.filter(inside)
        .ok_or_else(|| Problem::invalid("cwd", rule))
}

/// What the agent is told: one message as it is, several with who said them.
fn blocks(prompt: &[Said]) -> Result<Vec<String>, Problem> {
    let is_blank = |said: &Said| said.text.trim().is_empty();
    if prompt.is_empty() || prompt.iter().all(is_blank) {
        return Err(Problem::invalid(
            "messages",
            "at least one that says something",
        ));
    }
    if let [only] = prompt {
        return Ok(vec![only.text.clone()]);
    }
    let block = |said: &Said| {
        let who = match said.role {
            Speaker::System => "System",
            Speaker::User => "User",
            Speaker::Assistant => "Assistant",
        };
        format!("{who}:\n{}", said.text)
    };
    Ok(prompt.iter().map(block).collect())
}

/// What the environment of an agent has beside what it is handed: what its session works for, and in a process that runs
/// once the trace of whoever asked. A process that is used again has no trace in its environment.
pub(super) fn variables(
    links: &[Link],
    traced: Option<TraceParent>,
    own: &[(String, String)],
    spec: &RunSpec,
) -> Vec<(OsString, Option<OsString>)> {
    let taken_out = siglum_domain::link::VARIABLES.iter().map(|(name, _)| *name);
    let mut all: Vec<(OsString, Option<OsString>)> = taken_out
        .chain(FOREIGN)
        .map(|name| (name.into(), None))
        .collect();
    let set = |name: &str, value: String| (OsString::from(name), Some(OsString::from(value)));
    let mut labels = Vec::new();
    for link in links {
        match link {
            Link::Label { key, value } => labels.push(format!("{key}={value}")),
            other => {
                let own = |(name, field): &&(&str, &str)| {
                    *field == other.field() && name.starts_with("SIGLUM_")
                };
                let name = siglum_domain::link::VARIABLES.iter().find(own);
                all.extend(name.map(|(name, _)| set(name, other.value())));
            }
        }
    }
    if !labels.is_empty() {
        all.push(set("SIGLUM_LABELS", labels.join(",")));
    }
    for name in [PARENT, TRACED] {
        all.extend(traced.map(|parent| set(name, parent.to_string())));
    }
    let spec = spec
        .environment
        .iter()
        .map(|(name, value)| set(name, (*value).to_owned()));
    all.extend(spec);
    all.extend(own.iter().map(|(name, value)| set(name, value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Speaker, text: &str) -> Said {
        Said {
            role,
            text: text.to_owned(),
        }
    }

    #[test]
    fn all_that_is_said_reaches_the_agent() {
        let one = blocks(&[said(Speaker::User, "hello")]).unwrap();
        assert_eq!(one, ["hello"]);
        let all = blocks(&[
            said(Speaker::System, "be brief"),
            said(Speaker::User, "hello"),
            said(Speaker::Assistant, "hi"),
            said(Speaker::User, "and now?"),
        ]);
        let all = all.unwrap();
        assert_eq!(
            all,
            [
                "System:\nbe brief",
                "User:\nhello",
                "Assistant:\nhi",
                "User:\nand now?"
            ]
        );
        assert!(blocks(&[]).is_err() && blocks(&[said(Speaker::User, " \n")]).is_err());
    }

    #[test]
    fn a_run_works_where_the_operator_says() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap();
        let (inside, outside) = (real.join("work/deep"), real.join("work-else"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, real.join("work/link")).unwrap();
        let settings = RunSettings {
            workdirs: vec![real.join("work")],
            ..RunSettings::default()
        };
        assert_eq!(within(&settings, None).unwrap(), real.join("work"));
        assert_eq!(within(&settings, Some(&inside)).unwrap(), inside);
        for bad in [
            "work-else",
            "work/link",
            "work/../work-else",
            "work/none",
            ".",
        ] {
            assert!(within(&settings, Some(&real.join(bad))).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_trace_and_no_links_of_the_gateway_reach_an_agent() {
        let spec = run_spec("codex").unwrap();
        let value = |all: &[(OsString, Option<OsString>)], name: &str| {
            all.iter().rfind(|(n, _)| n == name).map(|(_, v)| v.clone())
        };
        let links = [Link::IssueNumber(42), Link::parse("label", "a=b").unwrap()];
        let all = variables(&links, None, &[], spec);
        assert_eq!(value(&all, "SIGLUM_ISSUE_NUMBER"), Some(Some("42".into())));
        assert_eq!(value(&all, "SIGLUM_LABELS"), Some(Some("a=b".into())));
        for gone in [
            "EGG_PR_NUMBER",
            "SIGLUM_PR_NUMBER",
            "TRACEPARENT",
            "BAGGAGE",
        ] {
            assert_eq!(value(&all, gone), Some(None), "{gone}");
        }
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let all = variables(&[], parent.parse().ok(), &[], spec);
        assert_eq!(value(&all, TRACED), Some(Some(parent.into())));
    }
}
