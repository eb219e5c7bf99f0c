//! Both of them, as one test uses them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use siglum_domain::observation::Tokens;

use super::mlflow::Mlflow;
use super::phoenix::Phoenix;
use crate::harness::wire::Wire;
use crate::harness::{Repo, Talk, until};

/// Both store slowly where the machine is busy, and a try that failed is made again seconds later.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a tool shows of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) traces: BTreeSet<String>,
    pub(crate) totals: Totals,
}

/// Tokens as tools add them up: what came from a cache, or went into one, is a part of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) total: u64,
}

impl From<Tokens> for Totals {
    fn from(used: Tokens) -> Self {
        let input = used.input + used.cache_read + used.cache_write;
        Self {
            input,
            output: used.output,
            total: input + used.output,
        }
    }
}

/// Both tools, each behind a wire.
pub(super) struct Sinks {
    pub(super) phoenix: Phoenix,
    pub(super) mlflow: Mlflow,
    pub(super) to_phoenix: Wire,
    pub(super) to_mlflow: Wire,
}

impl Sinks {
    /// Takes a project and an experiment of this name, and lets a repository export to them.
    #[track_caller]
    pub(super) fn new(repo: &Repo<'_>, name: &str) -> Self {
        let name = fresh(name);
        let sinks = Self::named(&name);
        let project = format!("x-project-name={name}");
        let endpoint = |wire: &Wire| format!("http://{}/v1/traces", wire.address());
        let how = ["--protocol", "http/protobuf", "--header", &project];
        add(repo, "phoenix", &endpoint(&sinks.to_phoenix), &how);
        let experiment = sinks.mlflow.header();
        let how = ["--protocol", "http/json", "--header", &experiment];
        add(repo, "mlflow", &endpoint(&sinks.to_mlflow), &how);
        sinks
    }

    /// The same; Phoenix gets it by gRPC, where a resource names the project and Siglum names none.
    #[track_caller]
    pub(super) fn by_grpc(repo: &Repo<'_>) -> Self {
        let sinks = Self::named("default");
        let endpoint = address("SIGLUM_TEST_PHOENIX_GRPC");
        add(repo, "phoenix", &endpoint, &["--protocol", "grpc"]);
        sinks
    }

    fn named(name: &str) -> Self {
        let (phoenix, mlflow) = (Phoenix::new(name), Mlflow::new(&fresh(name)));
        let [to_phoenix, to_mlflow] = [phoenix.host(), mlflow.host()].map(Wire::to);
        Self {
            phoenix,
            mlflow,
            to_phoenix,
            to_mlflow,
        }
    }

    pub(super) const fn wires(&self) -> [&Wire; 2] {
        [&self.to_phoenix, &self.to_mlflow]
    }

    /// Waits until Phoenix shows this conversation as a whole, whatever else it shows.
    #[track_caller]
    pub(super) fn show_by_grpc(&self, talk: &Talk<'_>) {
        let only = || {
            let mut all = self.phoenix.sessions();
            all.retain(|id, _| *id == talk.conversation);
            all
        };
        wait("Phoenix", only, &expected(&[talk]));
    }

    /// Waits until both show these conversations and no others, with all turns and all tokens, and nothing twice.
    #[track_caller]
    pub(super) fn show(&self, talks: &[&Talk<'_>]) -> BTreeMap<String, Seen> {
        let expected = expected(talks);
        let phoenix = wait("Phoenix", || self.phoenix.sessions(), &expected);
        let mlflow = wait("MLflow", || self.mlflow.sessions(), &expected);
        assert_eq!(phoenix, mlflow, "the same traces");
        let turns: BTreeSet<_> = phoenix.values().flat_map(|s| s.traces.clone()).collect();
        // It may come behind the spans below it.
        until("each has its first span", || self.phoenix.rooted() == turns);
        let states = self.mlflow.states();
        assert!(states.iter().all(|s| s != "IN_PROGRESS"), "{states:?}");
        phoenix
    }
}

/// A name that no earlier run has used: tools run on, and Phoenix knows a session over all of its projects.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{}", siglum_platform::clock::now().nanos())
}

/// What a tool should show: the turns and the tokens of each.
fn expected(talks: &[&Talk<'_>]) -> BTreeMap<String, (usize, Totals)> {
    let turns_and_tokens = |talk: &&Talk<'_>| {
        let turns = usize::try_from(talk.turns).unwrap();
        (talk.conversation.clone(), (turns, Totals::from(talk.used)))
    };
    talks.iter().map(turns_and_tokens).collect()
}

/// Lets a repository export to a tool.
#[track_caller]
fn add(repo: &Repo<'_>, tool: &str, endpoint: &str, how: &[&str]) {
    let args = [&["otel", "add", tool, endpoint], how].concat();
    repo.siglum(&args).ok();
}

#[track_caller]
fn wait(
    tool: &str,
    ask: impl Fn() -> BTreeMap<String, Seen>,
    expected: &BTreeMap<String, (usize, Totals)>,
) -> BTreeMap<String, Seen> {
    let begun = Instant::now();
    loop {
        let shown = ask();
        let counted = shown
            .iter()
            .map(|(id, seen)| (id.clone(), (seen.traces.len(), seen.totals)));
        if counted.clone().collect::<BTreeMap<_, _>>() == *expected {
            return shown;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{tool} shows {:#?}\ninstead of {expected:#?}",
            counted.collect::<BTreeMap<_, _>>()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Where a tool is.
#[track_caller]
pub(crate) fn address(variable: &str) -> String {
    let value = std::env::var(variable).ok().filter(|url| !url.is_empty());
    value.unwrap_or_else(|| panic!("{variable} is not set: see `cargo xtask sinks`"))
}

/// Asks a tool, which answers in JSON.
#[track_caller]
pub(crate) fn ask(method: &str, url: &str, body: Option<&Value>) -> (u16, Value) {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(60)))
        .build();
    let agent = ureq::Agent::from(config);
    let request = ureq::http::Request::builder().method(method).uri(url);
    let answer = match body {
        Some(body) => {
            let request = request.header("content-type", "application/json");
            agent.run(request.body(body.to_string()).unwrap())
        }
        None => agent.run(request.body(()).unwrap()),
    };
    let mut answer = answer.unwrap_or_else(|e| panic!("{url}: {e}"));
    let text = answer.body_mut().read_to_string().unwrap();
    let status = answer.status().as_u16();
    (
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    )
}
