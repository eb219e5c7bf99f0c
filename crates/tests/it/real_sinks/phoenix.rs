//! What Phoenix shows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::sinks::{Seen, Totals, address, ask};

/// One project of it.
pub(crate) struct Phoenix {
    base: String,
    project: String,
}

impl Phoenix {
    pub(crate) fn new(project: &str) -> Self {
        Self {
            base: address("SIGLUM_TEST_PHOENIX"),
            project: project.to_owned(),
        }
    }

    /// `host:port` of its HTTP.
    pub(crate) fn host(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// All sessions that it shows, by id.
    pub(crate) fn sessions(&self) -> BTreeMap<String, Seen> {
        let listed = self.get("sessions?limit=1000");
        let seen = |session: &Value| {
            let number = |field: &str| session[field].as_u64().unwrap();
            let id = session["session_id"].as_str().unwrap().to_owned();
            let traces = session["traces"].as_array().unwrap().iter();
            let seen = Seen {
                traces: traces
                    .map(|t| t["trace_id"].as_str().unwrap().to_owned())
                    .collect(),
                totals: Totals {
                    input: number("token_count_prompt"),
                    output: number("token_count_completion"),
                    total: number("token_count_total"),
                },
            };
            (id, seen)
        };
        listed.iter().map(seen).collect()
    }

    /// All spans that it has, with their attributes.
    pub(crate) fn spans(&self) -> Vec<Value> {
        self.get("spans?limit=1000")
    }

    /// The traces that have a span without a parent, which is what its lists of turns show.
    pub(crate) fn rooted(&self) -> BTreeSet<String> {
        let spans = self.spans();
        let roots = spans.iter().filter(|s| s["parent_id"].is_null());
        roots
            .map(|s| s["context"]["trace_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A list of what is in the project; one that nothing came for is not there yet. Whoever waits asks again where
    /// Phoenix itself is too busy to answer, as it is while it stores what others send.
    fn get(&self, what: &str) -> Vec<Value> {
        let url = format!("{}/v1/projects/{}/{what}", self.base, self.project);
        let (status, answer) = ask("GET", &url, None);
        if status == 404 || status >= 500 {
            return Vec::new();
        }
        assert_eq!(status, 200, "{url}: {answer}");
        assert!(
            answer["next_cursor"].is_null(),
            "there is more than one page: {url}"
        );
        answer["data"].as_array().unwrap().clone()
    }
}
