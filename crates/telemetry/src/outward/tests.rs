//! What is told of turns, however their logs are sealed.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use proptest::prelude::*;
use siglum_domain::fold::{self, Entry};
use siglum_domain::link::Link;
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, Tokens, ToolClass, event,
};
use siglum_domain::trace::{TraceId, TraceParent};
use siglum_domain::{
    AgentName, ConversationId, NativeId, ObservationId, Redacted, SessionId, Timestamp, TurnId,
};
use uuid::Uuid;

use super::{Content, Origin, Subject, TurnPart, turn, unexported};

/// In September 2026.
const BEGIN: i64 = 1_790_000_000;

fn session() -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(1))
}

fn turn_id() -> TurnId {
    TurnId::from_uuid(Uuid::from_u128(2))
}

fn subject() -> Subject {
    let native = NativeId::new("h1").unwrap();
    Subject {
        session: session(),
        conversation: ConversationId::new("S1").unwrap(),
        agent: Some(AgentName::new("claude-code").unwrap()),
        natives: vec![native],
        previous: Some("S0".to_owned()),
        repository: Some("https://host.example/a/b".to_owned()),
        links: vec![Link::IssueNumber(7), Link::AgentRole("coder".to_owned())],
    }
}

/// A log in the making: each entry is one second after the one before.
#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    fn add(&mut self, source: Source, event: &str, subagent: Option<&str>, fact: Fact) {
        let sequence = self.0.len() as u64 + 1;
        let at = Timestamp::from_seconds(BEGIN + i64::try_from(sequence).unwrap());
        self.0.push(Entry {
            id: ObservationId::from_uuid(Uuid::from_u128(u128::from(sequence))),
            sequence,
            turn: Some(turn_id()),
            recorded_at: at,
            observation: Observation {
                source,
                key: format!("k{sequence}"),
                event: event.to_owned(),
                at,
                turn: None,
                subagent: subagent.map(str::to_owned),
                fact,
            },
        });
    }

    fn prompt(&mut self) {
        let text = body("the question");
        let synthetic = false;
        self.add(
            Source::Hook,
            &event::prompt("p"),
            None,
            Fact::Prompt { text, synthetic },
        );
    }

    fn stop(&mut self) {
        let fact = Fact::Stopped {
            last_message: Some(body("the answer")),
            background: Vec::new(),
            failure: None,
        };
        self.add(Source::Hook, &event::stop("p"), None, fact);
    }

    fn call(&mut self, id: &str, class: ToolClass, subagent: Option<&str>) {
        let (tool, path) = ("Tool".to_owned(), None);
        let input = body("the input");
        let fact = Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        };
        self.add(Source::Hook, &event::tool(id), subagent, fact);
    }

    fn returned(&mut self, id: &str, outcome: Outcome, subagent: Option<&str>) {
        let fact = Fact::ToolEnded {
            tool: "Tool".to_owned(),
            class: ToolClass::Other,
            outcome,
            output: Some(body("the output")),
            duration_ms: None,
        };
        self.add(Source::Hook, &event::tool(id), subagent, fact);
    }

    fn add_message(&mut self, source: Source, id: &str, request: Option<&str>, tokens: Tokens) {
        self.add_message_in(source, id, request, tokens, None);
    }

    fn add_message_in(
        &mut self,
        source: Source,
        id: &str,
        request: Option<&str>,
        tokens: Tokens,
        subagent: Option<&str>,
    ) {
        let fact = Fact::Message {
            role: Role::Assistant,
            text: body("words"),
            model: Some("claude-opus-5-5".to_owned()),
            tokens: Some(tokens),
            request: request.map(str::to_owned),
        };
        self.add(source, &event::message(id), subagent, fact);
    }

    fn began(&mut self, id: &str, call: &str) {
        let fact = Fact::SubagentStarted {
            agent_type: "explore".to_owned(),
            call: Some(call.to_owned()),
        };
        self.add(Source::Hook, &event::subagent(id), Some(id), fact);
    }

    fn came_to_its_stop(&mut self, id: &str) {
        let fact = Fact::SubagentStopped { last_message: None };
        self.add(Source::Hook, &event::subagent(id), Some(id), fact);
    }

    /// The spans of the log when it is sealed up to each of these places, one after the other.
    fn exported_spans(&self, parent: Option<TraceParent>, seals: &[usize]) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut exported = 0;
        for seal in seals {
            let part = TurnPart {
                index: 3,
                parent,
                ..turn_part(self.0[..*seal].to_vec(), exported)
            };
            spans.extend(turn(&subject(), &part, Content::Off));
            exported = *seal as u64;
        }
        spans
    }

    fn all(&self) -> Vec<Span> {
        self.exported_spans(None, &[self.0.len()])
    }
}

/// The first turn of a session, of which what lies behind `exported` was not exported before.
fn turn_part(entries: Vec<Entry>, exported: u64) -> TurnPart {
    TurnPart {
        id: turn_id(),
        index: 0,
        parent: None,
        links: Vec::new(),
        checkpoints: Vec::new(),
        messages: unexported(&entries, exported),
        entries,
        exported,
    }
}

fn body(text: &str) -> Body {
    Body::Text(Redacted::from_stored(text.to_owned()))
}

const fn tokens(input: u64, output: u64) -> Tokens {
    Tokens {
        input,
        output,
        cache_read: 100,
        cache_write: 10,
    }
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let mut found = span.attributes.iter().filter(|a| a.key == key);
    let value = found.next()?.value.as_ref()?.value.as_ref()?;
    assert!(found.next().is_none(), "{key} twice");
    match value {
        Value::StringValue(text) => Some(text),
        other => panic!("{key}: {other:?}"),
    }
}

fn count(span: &Span, key: &str) -> i64 {
    let found = span.attributes.iter().find(|a| a.key == key);
    match found.and_then(|a| a.value.as_ref()?.value.as_ref()) {
        Some(Value::IntValue(n)) => *n,
        None => 0,
        other => panic!("{key}: {other:?}"),
    }
}

fn sum(spans: &[Span], key: &str) -> i64 {
    spans.iter().map(|span| count(span, key)).sum()
}

fn by_name<'a>(spans: &'a [Span], head: &str) -> Vec<&'a Span> {
    spans.iter().filter(|s| s.name.starts_with(head)).collect()
}

/// A turn with a call, a sub-agent inside of it, and two answers.
fn usual() -> Log {
    let mut log = Log::default();
    log.prompt();
    log.add_message(Source::Transcript, "m1", Some("r1"), tokens(3, 5));
    log.call("c1", ToolClass::Agent, None);
    log.began("a", "c1");
    log.call("c2", ToolClass::Shell, Some("a"));
    log.returned("c2", Outcome::Failed, Some("a"));
    log.add_message_in(Source::Transcript, "m2", None, tokens(1, 2), Some("a"));
    log.came_to_its_stop("a");
    log.returned("c1", Outcome::Ok, None);
    log.add_message(Source::Transcript, "m3", None, tokens(7, 11));
    log.stop();
    log
}

#[test]
fn every_span_has_the_kit_and_the_first_one_no_parent() {
    let spans = usual().all();
    for span in &spans {
        for key in [
            "session.id",
            "gen_ai.conversation.id",
            "langsmith.metadata.thread_id",
            "lmnr.association.properties.session_id",
        ] {
            assert_eq!(text(span, key), Some("S1"), "{key} of {}", span.name);
        }
        assert_eq!(text(span, "siglum.agent"), Some("claude-code"));
        assert_eq!(text(span, "siglum.native_session.id"), Some("h1"));
        assert_eq!(text(span, "session.previous_id"), Some("S0"));
        assert_eq!(text(span, "siglum.agent.role"), Some("coder"));
        assert_eq!(count(span, "siglum.issue.number"), 7);
        assert_eq!(count(span, "siglum.turn.index"), 3);
        assert!(text(span, "openinference.span.kind").is_some());
        assert!(text(span, "gen_ai.operation.name").is_some());
        assert_eq!(span.trace_id, turn_id().uuid().as_bytes());
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    }
    let roots: Vec<_> = spans
        .iter()
        .filter(|s| s.parent_span_id.is_empty())
        .collect();
    assert_eq!(roots.len(), 1);
    assert_eq!(roots[0].name, "invoke_agent claude-code");
    assert_eq!(spans.last(), Some(roots[0]), "the first span is told last");
}

#[test]
fn an_agent_that_nobody_named_has_no_name_in_spans() {
    let part = turn_part(usual().0, 0);
    let nameless = Subject {
        agent: None,
        ..subject()
    };
    let spans = turn(&nameless, &part, Content::Off);
    assert_eq!(spans.last().unwrap().name, "invoke_agent");
    for span in &spans {
        for key in ["gen_ai.agent.name", "siglum.agent"] {
            assert_eq!(text(span, key), None, "{key} of {}", span.name);
        }
    }
}

#[test]
fn the_tree_is_what_happened_in_what() {
    let spans = usual().all();
    let one = |head: &str| by_name(&spans, head)[0];
    let root = one("invoke_agent claude-code");
    let calls = by_name(&spans, "execute_tool");
    let call = |id: &str| {
        let own = |s: &&&Span| text(s, "gen_ai.tool.call.id") == Some(id);
        *calls.iter().find(own).unwrap()
    };
    let inner = one("invoke_agent explore");
    assert_eq!(call("c1").parent_span_id, root.span_id);
    assert_eq!(inner.parent_span_id, call("c1").span_id);
    assert_eq!(call("c2").parent_span_id, inner.span_id);
    let chats = by_name(&spans, "chat");
    let parents: Vec<_> = chats.iter().map(|s| &s.parent_span_id).collect();
    assert_eq!(parents, [&root.span_id, &inner.span_id, &root.span_id]);
    assert_eq!(call("c2").status.as_ref().unwrap().code, 2);
    // Asked when what came before was over, answered when it was seen.
    let seconds = |nanos: u64| nanos / 1_000_000_000 - u64::try_from(BEGIN).unwrap();
    let times = (
        seconds(chats[2].start_time_unix_nano),
        seconds(chats[2].end_time_unix_nano),
    );
    assert_eq!(times, (9, 10));
}

#[test]
fn tokens_are_on_answers_alone_and_caches_are_input() {
    let spans = usual().all();
    for span in spans.iter().filter(|s| !s.name.starts_with("chat")) {
        let own = |a: &&opentelemetry_proto::tonic::common::v1::KeyValue| {
            a.key.contains("usage") || a.key.contains("token_count")
        };
        assert_eq!(span.attributes.iter().find(own), None, "{}", span.name);
    }
    assert_eq!(sum(&spans, "gen_ai.usage.input_tokens"), 11 + 3 * 110);
    assert_eq!(sum(&spans, "gen_ai.usage.output_tokens"), 18);
    assert_eq!(sum(&spans, "gen_ai.usage.cache_read.input_tokens"), 300);
    assert_eq!(sum(&spans, "gen_ai.usage.cache_creation.input_tokens"), 30);
    assert_eq!(sum(&spans, "llm.token_count.total"), 11 + 330 + 18);
}

#[test]
fn an_answer_of_a_model_with_a_price_tells_it_and_no_other_does() {
    let mut log = usual();
    for entry in &mut log.0 {
        if entry.observation.event == event::message("m3")
            && let Fact::Message { model, .. } = &mut entry.observation.fact
        {
            *model = Some("nobody-knows".to_owned());
        }
    }
    let spans = log.all();
    let costs: Vec<_> = by_name(&spans, "chat")
        .iter()
        .map(|s| count(s, "siglum.cost.nano_usd"))
        .collect();
    assert!(costs[0] > 0 && costs[1] > 0, "{costs:?}");
    assert_eq!(costs[2], 0, "an unknown price is no price");
    let known = by_name(&spans, "chat")[0];
    let cost = known
        .attributes
        .iter()
        .find(|a| a.key == "gen_ai.usage.cost");
    let cost = cost.and_then(|a| a.value.as_ref()?.value.as_ref());
    let Some(Value::DoubleValue(dollars)) = cost else {
        panic!("{cost:?}");
    };
    assert!((dollars * 1e9 - costs[0] as f64).abs() < 1.0);
}

#[test]
fn two_sub_agents_at_once_are_each_in_the_call_that_started_it() {
    for (first, second) in [("c1", "c2"), ("c2", "c1")] {
        let mut log = Log::default();
        log.prompt();
        log.call("c1", ToolClass::Agent, None);
        log.call("c2", ToolClass::Agent, None);
        log.began("a", first);
        log.began("b", second);
        log.came_to_its_stop("b");
        log.came_to_its_stop("a");
        log.returned("c1", Outcome::Ok, None);
        log.returned("c2", Outcome::Ok, None);
        log.stop();
        let spans = log.all();
        let inner = by_name(&spans, "invoke_agent explore");
        let parent = |id: &str| {
            let own = |s: &&&Span| text(s, "siglum.agent.id") == Some(id);
            let span = inner.iter().find(own).unwrap();
            let around = spans.iter().find(|s| s.span_id == span.parent_span_id);
            text(around.unwrap(), "gen_ai.tool.call.id").unwrap()
        };
        assert_eq!((parent("a"), parent("b")), (first, second));
    }
}

#[test]
fn a_sub_agent_that_goes_on_behind_the_stop_is_a_trace_of_its_own() {
    let mut log = Log::default();
    log.prompt();
    log.call("c1", ToolClass::Agent, None);
    log.began("a", "c1");
    log.returned("c1", Outcome::Ok, None);
    log.stop();
    log.add_message_in(Source::Transcript, "m", None, tokens(1, 2), Some("a"));
    log.came_to_its_stop("a");
    let spans = log.exported_spans(None, &[5, 7]);
    let own = TraceId::of_subagent(session(), "a");
    let inner = by_name(&spans, "invoke_agent explore")[0];
    assert_eq!(inner.trace_id, own.bytes());
    assert!(inner.parent_span_id.is_empty());
    let call = by_name(&spans, "execute_tool")[0];
    assert_eq!(inner.links[0].span_id, call.span_id);
    assert_eq!(inner.links[0].trace_id, call.trace_id);
    let chat = by_name(&spans, "chat")[0];
    assert_eq!(
        (&chat.trace_id, &chat.parent_span_id),
        (&inner.trace_id, &inner.span_id)
    );
    assert_eq!(text(chat, "session.id"), Some("S1"));
    assert_eq!(by_name(&spans, "invoke_agent claude-code").len(), 1);
}

#[test]
fn the_trace_of_the_requester_is_joined_and_an_unsampled_one_gets_nothing() {
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let parent: TraceParent = header.parse().unwrap();
    let log = usual();
    let spans = log.exported_spans(Some(parent), &[log.0.len()]);
    let root = spans.last().unwrap();
    assert_eq!(root.parent_span_id, parent.span.bytes());
    assert!(spans.iter().all(|s| s.trace_id == parent.trace.bytes()));
    let origin = Origin::new(session(), turn_id(), Some(parent));
    assert_eq!(
        (origin.trace, origin.span.bytes().to_vec()),
        (parent.trace, root.span_id.clone())
    );
    let quiet = TraceParent {
        sampled: false,
        ..parent
    };
    assert_eq!(log.exported_spans(Some(quiet), &[log.0.len()]), []);
}

#[test]
fn a_turn_that_an_error_ended_is_one() {
    let mut log = Log::default();
    log.prompt();
    let fact = Fact::Stopped {
        last_message: None,
        background: Vec::new(),
        failure: Some("rate_limit".to_owned()),
    };
    log.add(Source::Hook, &event::stop("p"), None, fact);
    let spans = log.all();
    let status = spans.last().unwrap().status.as_ref().unwrap();
    assert_eq!((status.code, status.message.as_str()), (2, "rate_limit"));
}

#[test]
fn a_turn_that_never_stopped_is_an_error() {
    let mut log = Log::default();
    log.prompt();
    log.call("c1", ToolClass::Shell, None);
    let spans = log.all();
    for span in &spans {
        assert_eq!(span.status.as_ref().unwrap().code, 2, "{}", span.name);
    }
    assert_eq!(spans.len(), 2);
}

#[test]
fn what_telemetry_reports_first_and_the_transcript_then_counts_once() {
    let mut log = Log::default();
    log.prompt();
    log.add_message(Source::Telemetry, "r1", Some("r1"), tokens(3, 5));
    log.stop();
    log.add_message(Source::Transcript, "m1", Some("r1"), tokens(3, 5));
    let spans = log.exported_spans(None, &[3, 4]);
    assert_eq!(sum(&spans, "gen_ai.usage.output_tokens"), 5);
    assert_eq!(sum(&spans, "gen_ai.usage.input_tokens"), 113);
}

/// A sub-agent that outlives its turn: telemetry places its answer in the turn that began it, the transcript in the one
/// that came then. Whichever comes first, the answer is told once.
#[test]
fn an_answer_in_two_turns_is_exported_once() {
    let next = TurnId::from_uuid(Uuid::from_u128(3));
    for sources in [
        [Source::Telemetry, Source::Transcript],
        [Source::Transcript, Source::Telemetry],
    ] {
        let mut log = Log::default();
        for (source, name) in sources.into_iter().zip(["one", "two"]) {
            log.add_message(source, name, Some("r1"), tokens(3, 5));
        }
        log.0[1].turn = Some(next);
        let exported = |from: u64, to: usize| {
            let all = unexported(&log.0[..to], from).into_iter();
            all.map(|u| u.news.tokens().output).sum::<u64>()
        };
        assert_eq!((exported(0, 1), exported(1, 2)), (5, 0), "{sources:?}");
        assert_eq!(exported(0, 2), 5, "{sources:?}");
    }
}

#[test]
fn an_answer_that_grew_is_exported_as_what_it_grew_by() {
    let mut log = Log::default();
    log.prompt();
    log.add_message(Source::Transcript, "m1", None, tokens(3, 5));
    log.stop();
    log.add_message(Source::Transcript, "m1", None, tokens(3, 9));
    let spans = log.exported_spans(None, &[3, 4]);
    let exported: Vec<_> = by_name(&spans, "chat")
        .iter()
        .map(|s| count(s, "gen_ai.usage.output_tokens"))
        .collect();
    assert_eq!(exported, [5, 4]);
}

#[test]
fn texts_stay_here_unless_they_are_wanted() {
    let log = usual();
    let exported = format!("{:?}", log.all());
    for words in ["question", "answer\"", "the input", "the output", "words"] {
        assert!(!exported.contains(words), "{words}");
    }
    let part = turn_part(log.0, 0);
    let read = |body: &Body| body.text().map(|text| format!("{text} <clean>"));
    let spans = turn(&subject(), &part, Content::On(&read));
    let root = spans.last().unwrap();
    assert_eq!(text(root, "input.value"), Some("the question <clean>"));
    assert_eq!(text(root, "output.value"), Some("the answer <clean>"));
    let long = |_: &Body| Some("é".repeat(60_000));
    let spans = turn(&subject(), &part, Content::On(&long));
    let bytes = text(spans.last().unwrap(), "input.value").unwrap().len();
    assert!((60_000..=61_440).contains(&bytes), "{bytes}");
}

/// Anything that may happen in a turn.
fn happens() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    proptest::collection::vec((0..9_u8, 0..3_u8, 0..20_u8), 1..25)
}

fn played(steps: &[(u8, u8, u8)]) -> Log {
    let mut log = Log::default();
    log.prompt();
    for (what, which, amount) in steps {
        let id = format!("x{which}");
        let used = tokens(u64::from(*amount), u64::from(*amount) * 2);
        match what {
            0 => log.call(&id, ToolClass::Shell, None),
            1 => log.returned(&id, Outcome::Ok, None),
            2 => log.add_message(Source::Transcript, &id, None, used),
            3 => log.add_message(Source::Transcript, &id, Some(&format!("r{which}")), used),
            4 => log.add_message(
                Source::Telemetry,
                &format!("r{which}"),
                Some(&format!("r{which}")),
                used,
            ),
            5 => log.began(&format!("a{which}"), &id),
            6 => log.came_to_its_stop(&format!("a{which}")),
            7 => log.add_message_in(
                Source::Transcript,
                &id,
                None,
                used,
                Some(&format!("a{which}")),
            ),
            _ => log.stop(),
        }
    }
    log
}

proptest! {
    /// However a log is sealed, nothing is told twice under one name, one span begins the turn, and the
    /// tokens are at the end what they would be had it been sealed at once, or more where a source that counts
    /// less was told first.
    #[test]
    fn nothing_is_exported_twice(steps in happens(), cuts in proptest::collection::btree_set(1..26_usize, 0..4)) {
        let log = played(&steps);
        let whole = log.0.len();
        let mut seals: BTreeSet<usize> = cuts.into_iter().filter(|c| *c < whole).collect();
        seals.insert(whole);
        let seals: Vec<usize> = seals.into_iter().collect();
        let spans = log.exported_spans(None, &seals);
        let mut ids: BTreeMap<&[u8], usize> = BTreeMap::new();
        for span in &spans {
            *ids.entry(&span.span_id).or_default() += 1;
        }
        prop_assert!(ids.values().all(|n| *n == 1), "a span twice: {:?}", spans);
        let origin = Origin::new(session(), turn_id(), None).span;
        prop_assert!(ids.contains_key(origin.bytes().as_slice()), "the turn has no beginning");
        let counted: u64 = fold::session(&log.0).turns.iter().map(|t| t.tokens.output).sum();
        let exported = u64::try_from(sum(&spans, "gen_ai.usage.output_tokens")).unwrap();
        prop_assert!(exported >= counted, "{exported} < {counted}");
        if seals.len() == 1 {
            prop_assert_eq!(exported, counted);
        }
        // The same again is the same.
        prop_assert_eq!(log.exported_spans(None, &seals), spans);
    }
}
