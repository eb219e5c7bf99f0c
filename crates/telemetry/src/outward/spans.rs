//! The spans of a turn: who worked, what the model was asked, what tools did.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use siglum_domain::Timestamp;
use siglum_domain::fold::{MessageView, ToolCall, TurnView};
use siglum_domain::observation::{Outcome, Recovery, Role, Tokens, ToolClass, event};
use siglum_domain::price::Prices;
use siglum_domain::trace::{SpanId, TraceId};

use super::attributes::{Attributes, turn_kit};
use super::moments::{self, Subagent};
use super::subject::{Content, Linked, Origin, Subject, TurnPart};
use super::usage::News;

/// The tree that the spans of a turn are in.
pub(super) struct Shape<'a> {
    pub(super) subject: &'a Subject,
    pub(super) part: &'a TurnPart,
    pub(super) now: &'a TurnView,
    pub(super) subagents: BTreeMap<String, Subagent>,
}

impl Shape<'_> {
    /// The first span of the turn.
    pub(super) fn origin(&self) -> Origin {
        Origin::new(self.subject.session, self.part.id, self.part.parent)
    }

    pub(super) fn span(&self, event: &str) -> SpanId {
        SpanId::of_event(self.subject.session, self.part.id, event)
    }

    /// Whether the spans of a sub-agent are a trace of their own.
    pub(super) fn is_apart(&self, id: &str) -> bool {
        let known = self.subagents.get(id);
        known.is_none_or(|known| known.outlives(self.now))
    }

    /// The trace that something in this sub-agent, or in none, is in.
    pub(super) fn trace(&self, subagent: Option<&str>) -> TraceId {
        match subagent {
            Some(id) if self.is_apart(id) => TraceId::of_subagent(self.subject.session, id),
            _ => self.origin().trace,
        }
    }

    /// The span that something in this sub-agent, or in none, is in.
    pub(super) fn around(&self, subagent: Option<&str>) -> SpanId {
        match subagent {
            Some(id) => SpanId::of_subagent(self.subject.session, id),
            None => self.origin().span,
        }
    }

    /// The call that started a sub-agent.
    pub(super) fn call_of(&self, subagent: &Subagent) -> Option<&ToolCall> {
        let event = event::tool(subagent.view.call.as_deref()?);
        self.now.tools.iter().find(|t| t.event == event)
    }
}

/// Makes the spans of one turn.
pub(super) struct Writer<'a> {
    shape: &'a Shape<'a>,
    content: Content<'a>,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(shape: &'a Shape<'a>, content: Content<'a>) -> Self {
        Self { shape, content }
    }

    fn kit(&self, kind: &str, operation: &str) -> Attributes {
        let (subject, part) = (self.shape.subject, self.shape.part);
        turn_kit(subject, part)
            .text("openinference.span.kind", kind)
            .text("gen_ai.operation.name", operation)
    }

    /// What is said of all spans that are inside of another one.
    fn inside(&self, subagent: Option<&str>) -> Span {
        Span {
            trace_id: self.shape.trace(subagent).bytes().to_vec(),
            parent_span_id: self.shape.around(subagent).bytes().to_vec(),
            flags: SAMPLED,
            ..Span::default()
        }
    }

    /// The turn itself. It has no parent, unless whoever asked for it was being traced.
    pub(super) fn root(&self) -> Span {
        let (part, turn) = (self.shape.part, self.shape.now);
        let origin = self.shape.origin();
        let opened = turn.opened.unwrap_or_default();
        let attributes = self
            .kit("AGENT", "invoke_agent")
            .some(
                "input.value",
                self.content.text(turn.prompt.as_ref()).as_deref(),
            )
            .some(
                "output.value",
                self.content.text(turn.last_message.as_ref()).as_deref(),
            );
        let parent = part.parent.map(|parent| parent.span.bytes().to_vec());
        Span {
            trace_id: origin.trace.bytes().to_vec(),
            span_id: origin.span.bytes().to_vec(),
            parent_span_id: parent.unwrap_or_default(),
            name: span_name("invoke_agent", self.shape.subject.agent()),
            kind: SpanKind::Internal as i32,
            flags: SAMPLED,
            links: part.links.iter().map(link).collect(),
            attributes: attributes.into_vec(),
            status: self.turn_status(),
            ..timed(opened, moments::end(turn, &part.entries))
        }
    }

    /// A turn that an error ended failed, and one that no stop was seen of did not come to its end.
    fn turn_status(&self) -> Option<Status> {
        let turn = self.shape.now;
        let why = match turn.recovered {
            Some(Recovery::Interrupted) => "its driver died, and it was broken off",
            Some(Recovery::Complete | Recovery::Decided) => return ok(),
            None => match (&turn.failure, turn.stopped) {
                (Some(failure), _) => failure.as_str(),
                (None, Some(_)) => return ok(),
                (None, None) => "it never came to its stop",
            },
        };
        error(why)
    }

    /// A request to the model, or what it was told to grow by.
    pub(super) fn message(&self, message: &MessageView, news: News) -> Option<Span> {
        let is_response = message.role == Role::Assistant;
        let says = message.model.is_some() || news.tokens() != Tokens::default();
        if !is_response || !says && message.parts.is_empty() {
            return None;
        }
        let subagent = message.subagent.as_deref();
        let model = message.model.as_deref();
        let name = match news {
            News::Whole(_) => message.event.clone(),
            // The tokens that it had before were told as another span.
            News::Growth(_) => format!("{}+{}", message.event, sum(message.tokens)),
        };
        let kind = provider(self.shape.subject.agent(), model);
        let attributes = self
            .kit("LLM", "chat")
            .some("siglum.agent.id", subagent)
            .text("gen_ai.provider.name", kind)
            // What the convention had before; some back ends read no other.
            .text("gen_ai.system", kind)
            .some("gen_ai.request.model", model)
            .some("gen_ai.response.model", model)
            .some("llm.model_name", model)
            .some("gen_ai.response.id", message.request.as_deref())
            .some(
                "output.value",
                self.content.text(message.parts.last()).as_deref(),
            );
        let started = moments::request_time(self.shape.now, subagent, message.at);
        Some(Span {
            span_id: self.shape.span(&name).bytes().to_vec(),
            name: span_name("chat", model),
            kind: SpanKind::Client as i32,
            attributes: priced(counted(attributes, news.tokens()), message, news.tokens())
                .into_vec(),
            ..over(self.inside(subagent), started, message.at)
        })
    }

    pub(super) fn call(&self, call: &ToolCall) -> Span {
        let subagent = call.subagent.as_deref();
        let id = call.event.strip_prefix("tool:").unwrap_or(&call.event);
        let attributes = self
            .kit("TOOL", "execute_tool")
            .some("siglum.agent.id", subagent)
            .text("gen_ai.tool.name", &call.tool)
            .text("gen_ai.tool.type", "function")
            .text("gen_ai.tool.call.id", id)
            .text("tool.name", &call.tool)
            .text("siglum.tool.class", class(call.class))
            .some("code.file.path", call.path.as_deref())
            .some(
                "input.value",
                self.content.text(call.input.as_ref()).as_deref(),
            )
            .some(
                "output.value",
                self.content.text(call.output.as_ref()).as_deref(),
            );
        let end = call.ended.or(call.started).unwrap_or_default();
        let status = match call.outcome {
            Some(Outcome::Ok) => ok(),
            Some(Outcome::Failed) => error("the tool failed"),
            Some(Outcome::Denied) => error("the call was denied"),
            None => error("no result was seen"),
        };
        Span {
            span_id: self.shape.span(&call.event).bytes().to_vec(),
            name: format!("execute_tool {}", call.tool),
            kind: SpanKind::Internal as i32,
            attributes: attributes.into_vec(),
            status,
            ..over(self.inside(subagent), call.started.unwrap_or(end), end)
        }
    }

    /// A sub-agent: inside of the call that started it, or a trace of its own that points to it.
    pub(super) fn subagent(&self, known: &Subagent) -> Span {
        let view = &known.view;
        let id = view.id.as_str();
        let call = self.shape.call_of(known);
        let around = call.map_or_else(|| self.shape.origin().span, |c| self.shape.span(&c.event));
        let spawned = Origin {
            trace: self.shape.origin().trace,
            span: around,
        };
        let apart = self.shape.is_apart(id);
        let (parent, links) = match apart {
            true => (Vec::new(), vec![to(spawned, "spawned_by")]),
            false => (around.bytes().to_vec(), Vec::new()),
        };
        let name = match view.agent_type.as_str() {
            "" => self.shape.subject.agent(),
            kind => Some(kind),
        };
        let attributes = self
            .kit("AGENT", "invoke_agent")
            .text("siglum.agent.id", id)
            .text("siglum.agent.type", &view.agent_type)
            .some(
                "output.value",
                self.content.text(view.last_message.as_ref()).as_deref(),
            );
        let span = Span {
            trace_id: self.shape.trace(Some(id)).bytes().to_vec(),
            span_id: self.shape.around(Some(id)).bytes().to_vec(),
            parent_span_id: parent,
            flags: SAMPLED,
            name: span_name("invoke_agent", name),
            kind: SpanKind::Internal as i32,
            links,
            attributes: attributes.into_vec(),
            status: ok(),
            ..Span::default()
        };
        over(span, view.started, view.stopped.unwrap_or(known.last))
    }
}

/// The flag of W3C that a trace is recorded.
const SAMPLED: u32 = 1;

fn link(linked: &Linked) -> Link {
    to(linked.origin, linked.why.as_str())
}

fn to(origin: Origin, why: &str) -> Link {
    Link {
        trace_id: origin.trace.bytes().to_vec(),
        span_id: origin.span.bytes().to_vec(),
        attributes: Attributes::default()
            .text("siglum.link.type", why)
            .into_vec(),
        ..Link::default()
    }
}

fn timed(start: Timestamp, end: Timestamp) -> Span {
    over(Span::default(), start, end)
}

/// With its times; none ends before it begins.
fn over(span: Span, start: Timestamp, end: Timestamp) -> Span {
    Span {
        start_time_unix_nano: nanos(start),
        end_time_unix_nano: nanos(end.max(start)),
        ..span
    }
}

pub(super) fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.nanos()).unwrap_or(0)
}

#[expect(clippy::unnecessary_wraps, reason = "a span has a status or none")]
fn ok() -> Option<Status> {
    Some(Status {
        code: StatusCode::Ok as i32,
        ..Status::default()
    })
}

#[expect(clippy::unnecessary_wraps, reason = "a span has a status or none")]
fn error(why: &str) -> Option<Status> {
    Some(Status {
        code: StatusCode::Error as i32,
        message: why.to_owned(),
    })
}

const fn class(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Edit => "edit",
        ToolClass::Shell => "shell",
        ToolClass::Agent => "agent",
        ToolClass::Other => "",
    }
}

/// The name of a span: the operation, and the name of the model or agent, if it has one.
fn span_name(operation: &str, of: Option<&str>) -> String {
    of.map_or_else(|| operation.to_owned(), |of| format!("{operation} {of}"))
}

/// The provider by the convention's word for it; by the agent, where the model does not tell.
fn provider(agent: Option<&str>, model: Option<&str>) -> &'static str {
    const MODELS: [(&str, &str); 6] = [
        ("claude", "anthropic"),
        ("gpt", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("gemini", "gcp.gemini"),
        ("qwen", "alibaba_cloud"),
    ];
    const AGENTS: [(&str, &str); 4] = [
        ("claude-code", "anthropic"),
        ("codex", "openai"),
        ("gemini", "gcp.gemini"),
        ("copilot", "github"),
    ];
    let model = model.unwrap_or_default();
    let by_model = MODELS.iter().find(|(head, _)| model.starts_with(head));
    let by_agent = || AGENTS.iter().find(|(name, _)| agent == Some(*name));
    by_model.or_else(by_agent).map_or("", |(_, name)| name)
}

/// What the tokens cost by the table of prices; nothing where the model is not in it.
fn priced(attributes: Attributes, message: &MessageView, tokens: Tokens) -> Attributes {
    let cost = Prices::built_in().cost(message.model.as_deref(), message.at, tokens);
    match tokens != Tokens::default() && cost.is_whole() {
        true => attributes.money(&["gen_ai.usage.cost", "llm.cost.total"], cost.known),
        false => attributes,
    }
}

/// Grows whenever any of them does.
const fn sum(tokens: Tokens) -> u64 {
    tokens
        .input
        .saturating_add(tokens.output)
        .saturating_add(tokens.cache_read)
        .saturating_add(tokens.cache_write)
}

/// The tokens under the names of the convention, under those that it had before, and under those of OpenInference.
/// What came from a cache, or went into one, is a part of the input.
fn counted(attributes: Attributes, tokens: Tokens) -> Attributes {
    if tokens == Tokens::default() {
        return attributes;
    }
    let input = tokens
        .input
        .saturating_add(tokens.cache_read)
        .saturating_add(tokens.cache_write);
    attributes
        .count("gen_ai.usage.input_tokens", input)
        .count("gen_ai.usage.output_tokens", tokens.output)
        .count("gen_ai.usage.cache_read.input_tokens", tokens.cache_read)
        .count(
            "gen_ai.usage.cache_creation.input_tokens",
            tokens.cache_write,
        )
        .count("gen_ai.usage.prompt_tokens", input)
        .count("gen_ai.usage.completion_tokens", tokens.output)
        .count("llm.token_count.prompt", input)
        .count("llm.token_count.completion", tokens.output)
        .count("llm.token_count.total", input.saturating_add(tokens.output))
        .count(
            "llm.token_count.prompt_details.cache_read",
            tokens.cache_read,
        )
        .count(
            "llm.token_count.prompt_details.cache_write",
            tokens.cache_write,
        )
}
