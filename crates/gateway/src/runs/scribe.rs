//! Writes down what an agent says: for the ledger, and for those who follow.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use siglum_domain::Timestamp;
use siglum_domain::observation::{Observation, Tokens};
use siglum_domain::price::Prices;
use siglum_domain::redact::Redactor;
use siglum_engine::driven::run::{Blank, ReportedUsage, RunSpec};
use siglum_engine::driven::turn::Event;

use super::tools::{Call, cut};
use super::words::Words;
use super::{RunEvent, Usage};

/// Writes down one run.
pub(crate) struct Scribe {
    spec: &'static RunSpec,
    /// What names of the scribe's own begin with.
    prefix: String,
    /// The session in the agent.
    native: String,
    message: Option<Message>,
    thought: Option<(String, Words)>,
    /// The name of the message that was whole last, and what it said.
    whole: Vec<(String, String)>,
    names: HashSet<String>,
    /// What calls are called here whose own names have a secret in them.
    renamed: HashMap<String, String>,
    /// The sub-agents that were told, by the call that started each.
    helpers: BTreeMap<String, String>,
    counted: u32,
    calls: Vec<Call>,
    progress: HashMap<String, CallProgress>,
    /// Says that the first chunk of the process is to come.
    first: Blank,
    turn_events: Vec<Event>,
    events: Vec<RunEvent>,
    pub(crate) model: Option<String>,
    tokens: Tokens,
    /// Tokens in the agent's context, by its own word.
    pub(crate) context: u64,
    /// The last message that was whole, redacted.
    last: String,
    /// What the agent says that its process cost before this run, and by now.
    cost: Option<(u64, u64)>,
}

/// A message that grows.
struct Message {
    /// What the agent calls it.
    id: Option<String>,
    /// What it is called here.
    key: String,
    text: String,
    words: Words,
    parent: Option<String>,
}

/// How much of a call was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallProgress {
    /// It waits for more to be said of it: so many looks.
    Nothing(u8),
    Start,
    End,
}

impl Scribe {
    pub(crate) fn new(
        spec: &'static RunSpec,
        prefix: String,
        native: String,
        first: Blank,
        model: Option<String>,
    ) -> Self {
        Self {
            spec,
            prefix,
            native,
            message: None,
            thought: None,
            whole: Vec::new(),
            names: HashSet::new(),
            renamed: HashMap::new(),
            helpers: BTreeMap::new(),
            counted: 0,
            calls: Vec::new(),
            progress: HashMap::new(),
            first,
            turn_events: Vec::new(),
            events: Vec::new(),
            model,
            tokens: Tokens::default(),
            context: 0,
            last: String::new(),
            cost: None,
        }
    }

    /// Takes an update.
    pub(crate) fn hear(&mut self, params: &Value) {
        if params["sessionId"].as_str() != Some(self.native.as_str()) {
            return;
        }
        let update = &params["update"];
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.chunk(update),
            Some("agent_thought_chunk") => self.think(update),
            Some("tool_call" | "tool_call_update") => self.tool(update),
            Some("usage_update") => self.used(update),
            _ => {}
        }
    }

    fn chunk(&mut self, update: &Value) {
        let Some(text) = update["content"]["text"].as_str() else {
            return;
        };
        let blank = std::mem::replace(&mut self.first, Blank::Never) == Blank::First;
        if blank && text.trim().is_empty() {
            return;
        }
        let id = update["messageId"].as_str();
        // Words of the program and not of the model.
        let informs = update["_meta"]["claudeCode"]["kind"].as_str() == Some("informational");
        if informs || (id.is_none() && self.spec.names_messages) {
            return;
        }
        self.end_thought();
        if self.message.as_ref().is_some_and(|m| m.id.as_deref() != id) {
            self.end_message();
        }
        if self.message.is_none() {
            let key = self.name_message(id);
            let parent = update["_meta"]["claudeCode"]["parentToolUseId"].as_str();
            self.message = Some(Message {
                id: id.map(str::to_owned),
                key,
                text: String::new(),
                words: Words::default(),
                parent: parent.map(str::to_owned),
            });
        }
        if let Some(message) = &mut self.message {
            message.text.push_str(text);
            let delta = message.words.more(text);
            if !delta.is_empty() {
                let id = message.key.clone();
                self.events.push(RunEvent::Text { id, delta });
            }
        }
    }

    /// A name that no other message of the run has.
    fn name_message(&mut self, id: Option<&str>) -> String {
        let plain = |id: &&str| {
            id.len() <= 100 && id.bytes().all(|b| b.is_ascii_graphic()) && !has_secret(id)
        };
        let named = id.filter(plain).map(str::to_owned);
        let mut name = named.unwrap_or_else(|| {
            self.counted += 1;
            format!("{}.m{}", self.prefix, self.counted)
        });
        let base = name.clone();
        let mut again = 1;
        while !self.names.insert(name.clone()) {
            again += 1;
            name = format!("{base}.{again}");
        }
        name
    }

    fn think(&mut self, update: &Value) {
        let Some(text) = update["content"]["text"].as_str() else {
            return;
        };
        if self.thought.is_none() {
            self.end_message();
            self.counted += 1;
            let id = format!("{}.t{}", self.prefix, self.counted);
            self.thought = Some((id, Words::default()));
        }
        if let Some((id, words)) = &mut self.thought {
            let delta = words.more(text);
            if !delta.is_empty() {
                let id = id.clone();
                self.events.push(RunEvent::Reasoning { id, delta });
            }
        }
    }

    fn end_thought(&mut self) {
        if let Some((id, mut words)) = self.thought.take() {
            let delta = words.end();
            if !delta.is_empty() {
                self.events.push(RunEvent::Reasoning { id, delta });
            }
        }
    }

    fn end_message(&mut self) {
        let Some(mut message) = self.message.take() else {
            return;
        };
        let delta = message.words.end();
        let id = message.key.clone();
        if !delta.is_empty() {
            self.events.push(RunEvent::Text { id, delta });
        }
        let text = cut(message.text);
        if text.is_empty() {
            return;
        }
        // The last one waits for the usage.
        self.let_go(0);
        match message.parent {
            Some(parent) => {
                let helper = self.helper(&parent);
                let event = Event::message(&message.key, &text).in_subagent(&helper);
                self.turn_events.push(event);
            }
            None => {
                self.last = Redactor::shared().redact(&text).into_string();
                self.whole.push((message.key, text));
            }
        }
    }

    /// Hands over the messages that are whole, but the last so many.
    fn let_go(&mut self, keep: usize) {
        let count = self.whole.len().saturating_sub(keep);
        for (key, text) in self.whole.drain(..count) {
            let mut event = Event::message(&key, &text);
            if let Some(model) = &self.model {
                event = event.model(model);
            }
            self.turn_events.push(event);
        }
    }

    fn tool(&mut self, update: &Value) {
        let Some(id) = update["toolCallId"].as_str() else {
            return;
        };
        let id = self.name_call(id, update["sessionUpdate"].as_str() == Some("tool_call"));
        self.end_thought();
        self.end_message();
        let at = match self.calls.iter().position(|call| call.id == id) {
            Some(at) => at,
            None => {
                self.calls.push(Call::new(&id));
                self.progress.insert(id.clone(), CallProgress::Nothing(0));
                self.calls.len() - 1
            }
        };
        self.calls[at].take(update);
        if self.calls[at].runs() {
            self.tell_start(at);
        }
        if self.calls[at].is_over() {
            self.tell_end(at);
        }
    }

    /// The agent's own name, where it keeps to the grammar, has no secret in it, and no call that is over has it.
    fn name_call(&mut self, id: &str, begins: bool) -> String {
        let plain = |b: char| if b.is_ascii_graphic() { b } else { '-' };
        let mut name: String = id.chars().map(plain).take(128).collect();
        if has_secret(id) {
            let next = format!("{}.c{}", self.prefix, self.renamed.len() + 1);
            name = self.renamed.entry(id.to_owned()).or_insert(next).clone();
        }
        if begins && self.progress.get(&name) == Some(&CallProgress::End) {
            name = format!("{name}.{}", self.calls.len());
        }
        name
    }

    /// Says that a call of this name is about to be made, since somebody is asked about it.
    pub(crate) fn announce_call(&mut self, call: &Value) -> Option<String> {
        self.tool(call);
        let id = self.name_call(call["toolCallId"].as_str()?, false);
        let at = self.calls.iter().position(|call| call.id == id)?;
        self.tell_start(at);
        Some(id)
    }

    /// Somebody refused a call.
    pub(crate) fn refused(&mut self, id: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.refused = true;
        }
    }

    fn tell_start(&mut self, at: usize) {
        let call = &self.calls[at];
        if !matches!(self.progress.get(&call.id), Some(CallProgress::Nothing(_))) {
            return;
        }
        let (name, class, input) = (call.name(), call.class(), call.input());
        let redact = |text: &str| Redactor::shared().redact(text).into_string();
        let given = cut(input.to_string());
        let clean = redact(&given);
        let event = Event::tool_call(&call.id, &name, &given).class(class);
        let run_event = RunEvent::ToolCall {
            id: call.id.clone(),
            name: redact(&name),
            title: redact(&call.title()),
            class,
            input: serde_json::from_str(&clean).unwrap_or(Value::String(clean)),
        };
        let parent = call.parent.clone();
        self.progress.insert(call.id.clone(), CallProgress::Start);
        self.let_go(0);
        let event = self.inside(event, parent.as_deref());
        self.turn_events.push(event);
        self.events.push(run_event);
    }

    fn tell_end(&mut self, at: usize) {
        let call = &self.calls[at];
        if self.progress.get(&call.id) != Some(&CallProgress::Start) {
            return;
        }
        let (output, outcome) = (call.output(), call.outcome());
        let event = Event::tool_result(&call.id, &call.name(), &output);
        let event = event.class(call.class()).outcome(outcome);
        let (id, parent) = (call.id.clone(), call.parent.clone());
        let output = Redactor::shared().redact(&output).into_string();
        self.progress.insert(id.clone(), CallProgress::End);
        let event = self.inside(event, parent.as_deref());
        self.events.push(RunEvent::ToolResult {
            id,
            output,
            outcome,
        });
        self.turn_events.push(event);
    }

    /// The event, in the sub-agent that a call started.
    fn inside(&mut self, event: Event, parent: Option<&str>) -> Event {
        match parent {
            Some(parent) => event.in_subagent(&self.helper(parent)),
            None => event,
        }
    }

    /// The sub-agent that a call started; it is told when something of it is heard first.
    fn helper(&mut self, parent: &str) -> String {
        if let Some(known) = self.helpers.get(parent) {
            return known.clone();
        }
        let call = self.calls.iter().find(|call| call.id == parent);
        let (id, kind) = call.map_or((parent, ""), Call::helper);
        let (id, event) = (id.to_owned(), Event::subagent_started(id, kind, parent));
        self.turn_events.push(event);
        self.helpers.insert(parent.to_owned(), id.clone());
        id
    }

    /// The calls that have no result.
    pub(crate) fn open_calls(&self) -> usize {
        self.progress
            .values()
            .filter(|progress| **progress == CallProgress::Start)
            .count()
    }

    fn used(&mut self, update: &Value) {
        self.context = update["used"].as_u64().unwrap_or(self.context);
        if let Some(model) = update["_meta"]["_claude/model"].as_str() {
            self.model = Some(model.to_owned());
        }
        let dollars = update["cost"]["amount"]
            .as_f64()
            .filter(|d| d.is_finite() && *d >= 0.0);
        if let Some(dollars) = dollars {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an amount that is no fraction of a billionth, nor more than all money"
            )]
            let now = (dollars * 1e9) as u64;
            let before = self.cost.map_or(0, |(before, _)| before);
            self.cost = Some((before, now));
        }
    }

    /// What the agent said that its process had cost before this run.
    pub(crate) fn cost_before(&mut self, before: u64) {
        self.cost = Some((before, before));
    }

    /// What the agent says that its process cost by now.
    pub(crate) fn cost_now(&self) -> u64 {
        self.cost.map_or(0, |(_, now)| now)
    }

    /// Takes the answer to the prompt.
    pub(crate) fn answered(&mut self, answer: &Value) {
        let quota = &answer["_meta"]["quota"];
        let by_model = quota["model_usage"].as_array();
        let model = by_model
            .and_then(|models| models.first()?["model"].as_str())
            .or_else(|| answer["_meta"]["model"].as_str());
        if let Some(model) = model {
            self.model = Some(model.to_owned());
        }
        let usage = &answer["usage"];
        let of = |value: &Value| value.as_u64().unwrap_or(0);
        if usage.is_object() && self.spec.usage != ReportedUsage::Nothing {
            self.tokens = Tokens {
                input: of(&usage["inputTokens"]),
                output: of(&usage["outputTokens"]) + of(&usage["thoughtTokens"]),
                cache_read: of(&usage["cachedReadTokens"]),
                cache_write: of(&usage["cachedWriteTokens"]),
            };
        } else if quota["token_count"].is_object() {
            let count = &quota["token_count"];
            self.tokens = Tokens {
                input: of(&count["input_tokens"]),
                output: of(&count["output_tokens"]),
                ..Tokens::default()
            };
        }
    }

    /// What was used so far, as far as it is told.
    pub(crate) fn usage(&self, now: Timestamp) -> Usage {
        let priced = Prices::built_in().cost(self.model.as_deref(), now, self.tokens);
        let is_priced = self.tokens != Tokens::default() && priced.is_whole();
        let reported = self
            .cost
            .map(|(before, now)| now.saturating_sub(before))
            .filter(|c| *c > 0);
        Usage {
            tokens: self.tokens,
            model: self
                .model
                .as_deref()
                .map(|model| Redactor::shared().redact(model).into_string()),
            nano_usd: is_priced.then(|| priced.known.saturating()).or(reported),
        }
    }

    /// What the agent said last, redacted.
    pub(crate) fn last_words(&self) -> &str {
        &self.last
    }

    /// The message or the thought that is not whole yet.
    pub(crate) fn growing(&self) -> Option<&str> {
        let message = self.message.as_ref().map(|message| message.key.as_str());
        message.or_else(|| self.thought.as_ref().map(|(id, _)| id.as_str()))
    }

    /// Looks again at what waits. To be called now and then.
    pub(crate) fn start_silent_calls(&mut self) {
        for at in 0..self.calls.len() {
            let id = self.calls[at].id.clone();
            match self.progress.get(&id) {
                Some(CallProgress::Nothing(0)) => {
                    self.progress.insert(id, CallProgress::Nothing(1));
                }
                Some(CallProgress::Nothing(_)) => self.tell_start(at),
                _ => {}
            }
        }
    }

    /// The turn is over: what grew is whole.
    pub(crate) fn end(&mut self) {
        self.end_thought();
        self.end_message();
        for at in 0..self.calls.len() {
            self.tell_start(at);
        }
        // The agent comes to its stop when all of them have.
        for id in std::mem::take(&mut self.helpers).into_values() {
            self.turn_events.push(Event::subagent_stopped(&id));
        }
        if self.tokens != Tokens::default() && self.whole.is_empty() {
            let key = format!("{}.usage", self.prefix);
            self.whole.push((key, String::new()));
        }
        let last = self.whole.pop();
        self.let_go(0);
        if let Some((key, text)) = last {
            let mut event = Event::message(&key, &text);
            if let Some(model) = &self.model {
                event = event.model(model);
            }
            if self.tokens != Tokens::default() {
                event = event.usage(self.tokens);
            }
            self.turn_events.push(event);
        }
    }

    /// What is to be stored, since it was asked last.
    pub(crate) fn take_observations(&mut self, now: Timestamp) -> Vec<Observation> {
        let taken = std::mem::take(&mut self.turn_events);
        taken.into_iter().map(|event| event.observed(now)).collect()
    }

    /// What is to be told, since it was asked last.
    pub(crate) fn events(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.events)
    }
}

/// Tells whether a name cannot be stored and shown as it is.
fn has_secret(name: &str) -> bool {
    Redactor::shared().has_secret(name)
}
