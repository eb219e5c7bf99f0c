//! What MLflow shows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::sinks::{Seen, address, ask};

/// One experiment of it.
pub(super) struct Mlflow {
    base: String,
    experiment: String,
}

impl Mlflow {
    /// A new experiment.
    pub(super) fn new(name: &str) -> Self {
        let base = address("SIGLUM_TEST_MLFLOW");
        let url = format!("{base}/api/2.0/mlflow/experiments/create");
        let (status, answer) = ask("POST", &url, Some(&json!({ "name": name })));
        assert_eq!(status, 200, "{answer}");
        Self {
            base,
            experiment: answer["experiment_id"].as_str().unwrap().to_owned(),
        }
    }

    /// `host:port` of its HTTP.
    pub(super) fn host(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// The header without which it takes no traces.
    pub(super) fn header(&self) -> String {
        format!("x-mlflow-experiment-id={}", self.experiment)
    }

    /// All sessions that it shows, by id.
    pub(super) fn sessions(&self) -> BTreeMap<String, Seen> {
        let mut sessions: BTreeMap<String, Seen> = BTreeMap::new();
        for trace in self.traces() {
            let meta = &trace["trace_metadata"];
            let id = meta["mlflow.trace.session"].as_str().unwrap_or_default();
            let seen = sessions.entry(id.to_owned()).or_default();
            let name = trace["trace_id"].as_str().unwrap();
            seen.traces
                .insert(name.trim_start_matches("tr-").to_owned());
            // A turn in which the model was not asked has none.
            let usage = meta["mlflow.trace.tokenUsage"].as_str().unwrap_or("{}");
            let usage: Value = serde_json::from_str(usage).unwrap();
            let number = |field: &str| usage[field].as_u64().unwrap_or(0);
            seen.totals.input += number("input_tokens");
            seen.totals.output += number("output_tokens");
            seen.totals.total += number("total_tokens");
        }
        sessions
    }

    /// The traces as it lists them.
    pub(super) fn traces(&self) -> Vec<Value> {
        let url = format!("{}/api/3.0/mlflow/traces/search", self.base);
        let place = json!({ "experiment_id": self.experiment });
        let wanted = json!({
            "locations": [{ "type": "MLFLOW_EXPERIMENT", "mlflow_experiment": place }], "max_results": 500,
        });
        let (status, answer) = ask("POST", &url, Some(&wanted));
        assert_eq!(status, 200, "{answer}");
        answer["traces"].as_array().cloned().unwrap_or_default()
    }

    /// The states of all traces: a turn whose first span did not come is still `IN_PROGRESS`.
    pub(super) fn states(&self) -> Vec<String> {
        let traces = self.traces();
        let state = |t: &Value| t["state"].as_str().unwrap().to_owned();
        traces.iter().map(state).collect()
    }
}
