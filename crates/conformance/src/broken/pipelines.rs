//! Pipelines that go wrong.

use siglum_domain::pipeline::Event;
use siglum_ledger::{LedgerError, NewPipelineEvent, PipelineRecord, Pipelines, SessionListing};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own, beside those of a list.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("put_pipeline_event"),
    Fault::Alternate("put_pipeline_event"),
    Fault::OneMore("put_pipeline_event"),
    Fault::Ignores("put_pipeline_event", "pipeline"),
    Fault::Ignores("put_pipeline_event", "content"),
    Fault::Ignores("pipeline_events", "after"),
    Fault::Ignores("pipeline_events", "pipeline"),
    Fault::Ignores("pipelines", "after"),
    Fault::Ignores("keyed_pipeline_event", "pipeline"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["pipeline_events", "pipelines"];

broken! { Pipelines, PIPELINES, LIMITED;
    Own put_pipeline_event(pipeline: &str, event: &NewPipelineEvent<'_>) -> u64;
    Own keyed_pipeline_event(pipeline: &str, key: &str) -> Option<(u64, String)>;
    Own pipeline_events(pipeline: &str, after: u64; limit) -> Vec<Event>;
    Find pipeline(id: &str) -> Option<PipelineRecord>;
    Own pipelines(after: Option<&PipelineRecord>; limit) -> Vec<PipelineRecord>;
    List sessions_of_pipeline(pipeline: &str) -> Vec<SessionListing>;
}

impl BrokenTx<'_> {
    fn put_pipeline_event(&mut self, pipeline: &str, event: &NewPipelineEvent<'_>) -> Result<u64> {
        if self.lost("put_pipeline_event") {
            return Ok(self.good.pipeline(pipeline)?.map_or(0, |p| p.events) + 1);
        }
        let pipeline = self.one_pipeline("put_pipeline_event", pipeline);
        let content = if self.ignores("put_pipeline_event", "content") {
            ""
        } else {
            event.content
        };
        let event = NewPipelineEvent { content, ..*event };
        let number = self.good.put_pipeline_event(pipeline, &event)?;
        Ok(number + u64::from(self.state.fault == Fault::OneMore("put_pipeline_event")))
    }

    /// The pipeline that a verb goes to.
    fn one_pipeline<'p>(&self, verb: &'static str, pipeline: &'p str) -> &'p str {
        if self.ignores(verb, "pipeline") {
            "p"
        } else {
            pipeline
        }
    }

    fn keyed_pipeline_event(&mut self, pipeline: &str, key: &str) -> Result<Option<(u64, String)>> {
        let pipeline = self.one_pipeline("keyed_pipeline_event", pipeline);
        let found = self.good.keyed_pipeline_event(pipeline, key)?;
        Ok(self.faulty_lookup("keyed_pipeline_event", found))
    }

    fn pipeline_events(&mut self, pipeline: &str, after: u64, limit: usize) -> Result<Vec<Event>> {
        let pipeline = self.one_pipeline("pipeline_events", pipeline);
        let after = if self.ignores("pipeline_events", "after") {
            0
        } else {
            after
        };
        let rows = self.good.pipeline_events(pipeline, after, limit)?;
        Ok(self.listed("pipeline_events", rows))
    }

    fn pipelines(
        &mut self,
        after: Option<&PipelineRecord>,
        limit: usize,
    ) -> Result<Vec<PipelineRecord>> {
        let after = after.filter(|_| !self.ignores("pipelines", "after"));
        let rows = self.good.pipelines(after, limit)?;
        Ok(self.listed("pipelines", rows))
    }
}
