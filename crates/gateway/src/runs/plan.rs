//! Whether something that is asked may be done here, and how.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use siglum_domain::link::Link;
use siglum_domain::trace::TraceParent;
use siglum_engine::driven::run::{RunSpec, run_spec};

use super::agent::{Opening, Way};
use super::{Ask, Permissions, PromptMessage, Speaker};
use crate::problem::Problem;
use crate::settings::{RunAgent, RunSettings};

const PARENT: &str = "TRACEPARENT";
/// What tells the hooks of an agent in which trace its launcher was asked.
const TRACED: &str = "SIGLUM_TRACEPARENT";
/// What of a trace may be in the gateway's own environment, and is nobody else's.
const FOREIGN: [&str; 4] = [PARENT, "TRACESTATE", "BAGGAGE", TRACED];

/// How something that is asked is done.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) spec: &'static RunSpec,
    pub(crate) way: Way,
    pub(crate) program: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) blocks: Vec<String>,
}

impl Plan {
    /// Checks what is asked against what the operator allows.
    pub(crate) fn new(settings: &RunSettings, ask: &Ask) -> Result<Self, Problem> {
        let agent = settings.agents.iter().find(|agent| agent.name == ask.agent);
        let Some((agent, spec)) = agent.zip(run_spec(ask.agent.as_str())) else {
            let rule = format!(
                "this gateway does not run `{}`; start it with `siglum serve --run`",
                ask.agent
            );
            return Err(Problem::invalid("agent", rule));
        };
        let (way, program) = way(settings, agent, spec);
        if matches!(way, Way::Headless(_)) && ask.permissions == Permissions::Ask {
            let program = program.display();
            let rule = format!(
                "must be `allow` or `refuse`: {program} runs in its headless mode here, in which it cannot ask people"
            );
            return Err(Problem::invalid("permissions", rule));
        }
        Ok(Self {
            spec,
            way,
            program,
            cwd: within(settings, ask.cwd.as_deref())?,
            blocks: blocks(&ask.prompt)?,
        })
    }

    /// What its program is started with.
    pub(crate) fn arguments(&self, opening: &Opening<'_>) -> Vec<OsString> {
        let Way::Headless(spec) = self.way else {
            return self.spec.arguments.iter().map(Into::into).collect();
        };
        let mode = match opening.permissions {
            Permissions::Allow => spec.allowing,
            Permissions::Ask | Permissions::Refuse => spec.refusing,
        };
        let fixed = spec.arguments.iter().chain(mode).map(Into::into);
        // A value of its own option each, so that none can be an option itself.
        let native = opening.native.map(|id| format!("{}={id}", spec.resume));
        let model = opening.model.map(|model| format!("{}={model}", spec.model));
        let chosen = native.into_iter().chain(model).map(Into::into);
        fixed.chain(chosen).collect()
    }
}

/// Which way an agent is run: what the operator's program speaks, else the protocol if what speaks it is there.
fn way(settings: &RunSettings, agent: &RunAgent, spec: &'static RunSpec) -> (Way, PathBuf) {
    let is_there = |program: &str| {
        let mut found = settings.programs.iter().map(|dir| dir.join(program));
        found.any(|path| path.is_file())
    };
    let program = agent.program.clone();
    let headless = spec.headless.as_ref().filter(|headless| match &program {
        Some(program) => program
            .file_stem()
            .is_some_and(|name| name == headless.program),
        None => !is_there(spec.program) && is_there(headless.program),
    });
    match headless {
        Some(headless) => (
            Way::Headless(headless),
            program.unwrap_or_else(|| headless.program.into()),
        ),
        None => (
            Way::Protocol,
            program.unwrap_or_else(|| spec.program.into()),
        ),
    }
}

/// The directory of a run: the one that is asked for, if it lies in one that the operator named; else the first of those.
fn within(settings: &RunSettings, cwd: Option<&Path>) -> Result<PathBuf, Problem> {
    let rule = "must be an existing directory inside one that `siglum serve --workdir` allows";
    let Some(cwd) = cwd else {
        let first = settings.workdirs.first().cloned();
        return first.ok_or_else(|| Problem::invalid("cwd", rule));
    };
    // Where it leads to counts, and not what it is called.
    let real = std::fs::canonicalize(cwd).ok().filter(|dir| dir.is_dir());
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
pub(crate) fn blocks(prompt: &[PromptMessage]) -> Result<Vec<String>, Problem> {
    let is_blank = |message: &PromptMessage| message.text.trim().is_empty();
    if prompt.is_empty() || prompt.iter().all(is_blank) {
        return Err(Problem::invalid(
            "messages",
            "must have at least one message that is not blank",
        ));
    }
    if let [only] = prompt {
        return Ok(vec![only.text.clone()]);
    }
    let block = |message: &PromptMessage| {
        let who = match message.role {
            Speaker::System => "System",
            Speaker::User => "User",
            Speaker::Assistant => "Assistant",
        };
        format!("{who}:\n{}", message.text)
    };
    Ok(prompt.iter().map(block).collect())
}

/// What the environment of an agent has beside what it is handed: what its session works for, and in a process that runs
/// once the trace of whoever asked. A process that is used again has no trace in its environment.
pub(crate) fn variables(
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
    use siglum_domain::NativeId;

    use super::*;

    fn prompt_message(role: Speaker, text: &str) -> PromptMessage {
        PromptMessage {
            role,
            text: text.to_owned(),
        }
    }

    #[test]
    fn every_message_reaches_the_agent() {
        let one = blocks(&[prompt_message(Speaker::User, "hello")]).unwrap();
        assert_eq!(one, ["hello"]);
        let all = blocks(&[
            prompt_message(Speaker::System, "be brief"),
            prompt_message(Speaker::User, "hello"),
            prompt_message(Speaker::Assistant, "hi"),
            prompt_message(Speaker::User, "and now?"),
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
        assert!(blocks(&[]).is_err() && blocks(&[prompt_message(Speaker::User, " \n")]).is_err());
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
    fn an_agent_without_the_protocol_is_run_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let settings = RunSettings {
            programs: vec![dir.path().join("none"), dir.path().to_owned()],
            ..RunSettings::default()
        };
        let chosen = |name: &str, program: Option<&str>| {
            let agent = RunAgent {
                name: siglum_domain::AgentName::new(name).unwrap(),
                program: program.map(PathBuf::from),
            };
            let (way, program) = way(&settings, &agent, run_spec(name).unwrap());
            let program = program.to_string_lossy().into_owned();
            (matches!(way, Way::Headless(_)), program)
        };
        let acp = (false, "claude-agent-acp".to_owned());
        assert_eq!(chosen("claude-code", None), acp, "what is missing is told");
        std::fs::write(dir.path().join("claude"), "").unwrap();
        assert_eq!(chosen("claude-code", None), (true, "claude".to_owned()));
        assert!(!chosen("codex", None).0);
        std::fs::write(dir.path().join("claude-agent-acp"), "").unwrap();
        assert_eq!(chosen("claude-code", None), acp);
        for (program, headless) in [("/opt/claude", true), ("/opt/claude-agent-acp", false)] {
            let expected = (headless, program.to_owned());
            assert_eq!(chosen("claude-code", Some(program)), expected);
        }
    }

    #[test]
    fn nothing_of_a_request_is_an_option() {
        let spec = run_spec("claude-code").unwrap();
        let plan = Plan {
            spec,
            way: Way::Headless(spec.headless.as_ref().unwrap()),
            program: "claude".into(),
            cwd: "/".into(),
            blocks: vec!["--version".to_owned()],
        };
        let arguments = |permissions, model: Option<&str>, native: Option<&NativeId>| {
            let opening = Opening {
                spec,
                native,
                cwd: "/",
                permissions,
                model,
                blocks: &plan.blocks,
            };
            let all = plan.arguments(&opening).into_iter();
            let all: Vec<String> = all.map(|a| a.into_string().unwrap()).collect();
            all[5..].join(" ")
        };
        assert_eq!(
            arguments(Permissions::Refuse, Some("--dangerous"), None),
            "--permission-mode default --model=--dangerous"
        );
        let native = NativeId::new("n1").unwrap();
        assert_eq!(
            arguments(Permissions::Allow, None, Some(&native)),
            "--permission-mode bypassPermissions --resume=n1"
        );
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
