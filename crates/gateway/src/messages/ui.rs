//! A run as the UI message stream of the AI SDK, version 1.
//!
//! What a page makes of it is one message whose id is that of the turn. Tools are `dynamic-tool` parts that were executed
//! elsewhere, so that no page waits for results that it should give. A permission that the agent waits for is a
//! `tool-approval-request` whose approval id is that of the interaction; the stream goes on when it is answered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use siglum_domain::observation::Outcome;

use crate::runs::{Choice, ChoiceKind, Finished, RunEvent, Started, Status};
use crate::wire::{IgnoredName, InteractionChoice, RunEnd, RunIds, RunUsage};

/// The name that calls get of which the stream has no beginning.
const UNKNOWN: &str = "unknown";
/// The name of the tool of a permission that is about no call.
const PERMISSION: &str = "permission";

/// A part whose text grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

/// Turns the events of one run into chunks.
#[derive(Default)]
pub(crate) struct UiStream {
    /// Names of the conversation that lost, for the first chunk.
    ignored: Vec<IgnoredName>,
    /// The part whose text grows.
    open: Option<(Kind, String)>,
    /// Calls that were told.
    calls: BTreeSet<String>,
    /// Permissions that wait: what each answer does.
    waiting: BTreeMap<String, Vec<Choice>>,
}

impl UiStream {
    /// A stream whose first chunk tells these names, too.
    pub(crate) fn new(ignored: Vec<IgnoredName>) -> Self {
        Self {
            ignored,
            ..Self::default()
        }
    }

    /// The chunks of one event.
    pub(crate) fn chunks(&mut self, event: &RunEvent) -> Vec<Value> {
        let mut chunks = Vec::new();
        match event {
            RunEvent::Text { id, delta } => self.grow(Kind::Text, id, delta, &mut chunks),
            RunEvent::Reasoning { id, delta } => {
                self.grow(Kind::Reasoning, id, delta, &mut chunks);
            }
            RunEvent::Usage(usage) => {
                // The part of this id is replaced, so that it does not cut off a text that grows.
                let usage = RunUsage::from(usage);
                chunks.push(json!({ "type": "data-usage", "id": "usage", "data": usage }));
            }
            event => {
                self.close(&mut chunks);
                self.whole(event, &mut chunks);
            }
        }
        chunks
    }

    /// So many events are kept no more.
    pub(crate) fn cut(&mut self, events: u64) -> Vec<Value> {
        let mut chunks = Vec::new();
        self.close(&mut chunks);
        chunks.push(json!({ "type": "data-cut", "id": "cut", "data": { "events": events } }));
        chunks
    }

    fn grow(&mut self, kind: Kind, id: &str, delta: &str, chunks: &mut Vec<Value>) {
        let is_open = self
            .open
            .as_ref()
            .is_some_and(|(open, name)| *open == kind && name == id);
        if !is_open {
            self.close(chunks);
            chunks.push(json!({ "type": format!("{}-start", kind.word()), "id": id }));
            self.open = Some((kind, id.to_owned()));
        }
        chunks.push(json!({ "type": format!("{}-delta", kind.word()), "id": id, "delta": delta }));
    }

    fn close(&mut self, chunks: &mut Vec<Value>) {
        if let Some((kind, id)) = self.open.take() {
            chunks.push(json!({ "type": format!("{}-end", kind.word()), "id": id }));
        }
    }

    /// Events that are no part of a text.
    fn whole(&mut self, event: &RunEvent, chunks: &mut Vec<Value>) {
        match event {
            RunEvent::Started(started) => self.started(started, chunks),
            RunEvent::ToolCall {
                id,
                name,
                title,
                input,
                ..
            } => self.call(id, name, title, input, chunks),
            RunEvent::ToolResult {
                id,
                output,
                outcome,
            } => {
                self.known(id, UNKNOWN, chunks);
                chunks.push(result(id, output, *outcome));
            }
            RunEvent::Interaction {
                id,
                title,
                call,
                options,
            } => self.interaction(&id.to_string(), title, call.as_deref(), options, chunks),
            RunEvent::Answered { id, option, .. } => {
                self.answered(&id.to_string(), option.as_deref(), chunks);
            }
            RunEvent::Finished(finished) => ended(finished, chunks),
            RunEvent::Text { .. } | RunEvent::Reasoning { .. } | RunEvent::Usage(_) => {}
        }
    }

    fn started(&mut self, started: &Started, chunks: &mut Vec<Value>) {
        let run = RunIds::from(started);
        chunks.push(json!({
            "type": "start",
            "messageId": run.turn,
            "messageMetadata": { "run": run, "ignored": self.ignored },
        }));
        chunks.push(json!({ "type": "start-step" }));
    }

    fn call(&mut self, id: &str, name: &str, title: &str, input: &Value, chunks: &mut Vec<Value>) {
        if self.calls.insert(id.to_owned()) {
            chunks.push(json!({
                "type": "tool-input-start", "toolCallId": id, "toolName": name, "title": title,
                "dynamic": true, "providerExecuted": true,
            }));
        }
        chunks.push(json!({
            "type": "tool-input-available", "toolCallId": id, "toolName": name, "title": title,
            "input": input, "dynamic": true, "providerExecuted": true,
        }));
    }

    /// A page fails at what is told of a call that it does not know.
    fn known(&mut self, id: &str, name: &str, chunks: &mut Vec<Value>) {
        if !self.calls.contains(id) {
            self.call(id, name, name, &json!({}), chunks);
        }
    }

    fn interaction(
        &mut self,
        id: &str,
        title: &str,
        call: Option<&str>,
        options: &[Choice],
        chunks: &mut Vec<Value>,
    ) {
        let call = match call {
            Some(call) => {
                self.known(call, UNKNOWN, chunks);
                call
            }
            None => {
                self.known(id, PERMISSION, chunks);
                id
            }
        };
        let choices: Vec<InteractionChoice> = options.iter().map(InteractionChoice::from).collect();
        self.waiting.insert(id.to_owned(), options.to_vec());
        chunks.push(json!({
            "type": "tool-approval-request", "approvalId": id, "toolCallId": call, "reason": title,
            "approvalDescriptor": { "options": choices },
        }));
    }

    fn answered(&mut self, id: &str, option: Option<&str>, chunks: &mut Vec<Value>) {
        let Some(options) = self.waiting.remove(id) else {
            return;
        };
        let chosen = option.and_then(|chosen| options.iter().find(|o| o.id == chosen));
        let approved = chosen
            .is_some_and(|o| matches!(o.kind, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways));
        let reason = match (chosen, option) {
            (Some(chosen), _) => chosen.name.clone(),
            (None, Some(other)) => other.to_owned(),
            (None, None) => "nobody answered".to_owned(),
        };
        chunks.push(json!({
            "type": "tool-approval-response", "approvalId": id, "approved": approved,
            "reason": reason, "providerExecuted": true,
        }));
    }
}

fn result(id: &str, output: &str, outcome: Outcome) -> Value {
    match outcome {
        Outcome::Ok => json!({
            "type": "tool-output-available", "toolCallId": id, "output": output,
            "dynamic": true, "providerExecuted": true,
        }),
        Outcome::Failed => json!({
            "type": "tool-output-error", "toolCallId": id, "errorText": output,
            "dynamic": true, "providerExecuted": true,
        }),
        Outcome::Denied => json!({ "type": "tool-output-denied", "toolCallId": id }),
    }
}

fn ended(finished: &Finished, chunks: &mut Vec<Value>) {
    let reason = match finished.status {
        Status::Done => "stop",
        Status::Limit => "length",
        Status::Cancelled => "other",
        Status::Failed => "error",
    };
    let end = json!({ "end": RunEnd::from(finished) });
    chunks.push(json!({ "type": "finish-step" }));
    if finished.status == Status::Cancelled {
        chunks.push(json!({ "type": "abort", "reason": "cancelled" }));
    }
    chunks.push(json!({ "type": "finish", "finishReason": reason, "messageMetadata": end }));
    if finished.status == Status::Failed {
        // A page stops reading at this one, so that it comes last.
        let text = finished.error.as_ref().map(|e| e.text.as_str());
        let text = text.unwrap_or("the run failed");
        chunks.push(json!({ "type": "error", "errorText": text }));
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::observation::ToolClass;
    use siglum_domain::trace::TraceId;
    use siglum_domain::{ConversationId, InteractionId, SessionId, Timestamp, TurnId};

    use super::*;
    use crate::runs::NameSource;
    use crate::runs::{RunError, Usage};

    fn turn() -> TurnId {
        "trn_00000000000070008000000000000001".parse().unwrap()
    }

    fn interaction() -> InteractionId {
        "int_00000000000070008000000000000002".parse().unwrap()
    }

    fn started() -> RunEvent {
        RunEvent::Started(Started {
            session: "ses_00000000000070008000000000000003"
                .parse::<SessionId>()
                .unwrap(),
            conversation: ConversationId::new("S1").unwrap(),
            named_by: NameSource::Body,
            native: None,
            turn: turn(),
            trace: TraceId::of_turn(turn()),
            keys: None,
            diverged: false,
            at: Timestamp::from_nanos(0),
        })
    }

    fn text(id: &str, delta: &str) -> RunEvent {
        RunEvent::Text {
            id: id.to_owned(),
            delta: delta.to_owned(),
        }
    }

    fn call(id: &str) -> RunEvent {
        RunEvent::ToolCall {
            id: id.to_owned(),
            name: "write".to_owned(),
            title: "Write a file".to_owned(),
            class: ToolClass::Edit,
            input: json!({ "path": "a" }),
        }
    }

    fn interaction_event(call: Option<&str>) -> RunEvent {
        let choice = |id: &str, kind| Choice {
            id: id.to_owned(),
            name: id.to_uppercase(),
            kind,
        };
        RunEvent::Interaction {
            id: interaction(),
            title: "May I?".to_owned(),
            call: call.map(str::to_owned),
            options: vec![
                choice("yes", ChoiceKind::AllowOnce),
                choice("no", ChoiceKind::RefuseOnce),
            ],
        }
    }

    fn answered(option: Option<&str>) -> RunEvent {
        RunEvent::Answered {
            id: interaction(),
            option: option.map(str::to_owned),
            by: "tests".to_owned(),
        }
    }

    fn result_of(id: &str, outcome: Outcome) -> RunEvent {
        RunEvent::ToolResult {
            id: id.to_owned(),
            output: "said".to_owned(),
            outcome,
        }
    }

    fn finished(status: Status) -> RunEvent {
        RunEvent::Finished(Finished {
            status,
            text: "ab".to_owned(),
            usage: Usage::default(),
            error: (status == Status::Failed).then(|| RunError {
                code: "agent",
                text: "it broke".to_owned(),
            }),
        })
    }

    fn stream(events: &[RunEvent]) -> Vec<Value> {
        let mut stream = UiStream::default();
        events.iter().flat_map(|e| stream.chunks(e)).collect()
    }

    /// What each chunk is, with the id that matters.
    fn words(chunks: &[Value]) -> String {
        let word = |chunk: &Value| {
            let kind = chunk["type"].as_str().unwrap();
            let id = ["id", "toolCallId", "approvalId", "finishReason"]
                .iter()
                .find_map(|key| chunk[*key].as_str());
            id.map_or_else(|| kind.to_owned(), |id| format!("{kind}:{id}"))
        };
        chunks.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_opened_and_closed_around_what_comes_between() {
        let events = [
            started(),
            text("m1", "a"),
            RunEvent::Usage(Usage::default()),
            text("m1", "b"),
            call("c1"),
            result_of("c1", Outcome::Ok),
            RunEvent::Reasoning {
                id: "r1".to_owned(),
                delta: "hm".to_owned(),
            },
            text("m2", "c"),
            finished(Status::Done),
        ];
        assert_eq!(
            words(&stream(&events)),
            "start start-step text-start:m1 text-delta:m1 data-usage:usage text-delta:m1 text-end:m1 \
             tool-input-start:c1 tool-input-available:c1 tool-output-available:c1 \
             reasoning-start:r1 reasoning-delta:r1 reasoning-end:r1 text-start:m2 text-delta:m2 text-end:m2 \
             finish-step finish:stop"
        );
        let first = &stream(&events)[0];
        assert_eq!(first["messageId"], turn().to_string());
        assert_eq!(first["messageMetadata"]["run"]["conversation_id"], "S1");
    }

    #[test]
    fn a_permission_is_requested_for_its_call_and_its_answer_follows() {
        let events = [
            call("c1"),
            interaction_event(Some("c1")),
            answered(Some("yes")),
            result_of("c1", Outcome::Ok),
        ];
        let chunks = stream(&events);
        let id = interaction();
        assert_eq!(
            words(&chunks),
            format!(
                "tool-input-start:c1 tool-input-available:c1 tool-approval-request:c1 \
                 tool-approval-response:{id} tool-output-available:c1"
            )
        );
        assert_eq!(chunks[2]["approvalId"], id.to_string());
        assert_eq!(chunks[2]["approvalDescriptor"]["options"][1]["id"], "no");
        assert_eq!(chunks[3]["approved"], true);
        for refusal in [Some("no"), Some("else"), None] {
            let chunks = stream(&[call("c1"), interaction_event(Some("c1")), answered(refusal)]);
            assert_eq!(chunks[3]["approved"], false, "{refusal:?}");
        }
        let denied = stream(&[call("c1"), result_of("c1", Outcome::Denied)]);
        assert_eq!(denied[2]["type"], "tool-output-denied");
    }

    #[test]
    fn each_call_is_announced_before_anything_else_of_it() {
        let id = interaction();
        assert_eq!(
            words(&stream(&[
                interaction_event(None),
                answered(Some("yes")),
                answered(Some("yes"))
            ])),
            format!(
                "tool-input-start:{id} tool-input-available:{id} tool-approval-request:{id} tool-approval-response:{id}"
            )
        );
        assert_eq!(
            words(&stream(&[result_of("c9", Outcome::Failed)])),
            "tool-input-start:c9 tool-input-available:c9 tool-output-error:c9"
        );
        assert_eq!(words(&stream(&[answered(None)])), "");
    }

    #[test]
    fn each_end_has_its_word() {
        let end = |status| words(&stream(&[text("m", "a"), finished(status)]));
        let text = "text-start:m text-delta:m text-end:m";
        assert_eq!(
            end(Status::Limit),
            format!("{text} finish-step finish:length")
        );
        assert_eq!(
            end(Status::Cancelled),
            format!("{text} finish-step abort finish:other")
        );
        assert_eq!(
            end(Status::Failed),
            format!("{text} finish-step finish:error error")
        );
    }
}
