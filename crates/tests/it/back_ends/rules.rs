//! How each back end groups spans into sessions and adds up their tokens, as its documentation or its source says:
//! pure functions of the requests that it takes, in their order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::span::{Sessions, Span, Totals};

/// What a back end makes of requests.
pub(super) type Rule = fn(&[Vec<Span>]) -> Sessions;

/// The back ends, each with its rule.
pub(super) const BACK_ENDS: [(&str, Rule); 8] = [
    ("Langfuse", langfuse),
    ("Phoenix", phoenix),
    ("Arize", arize),
    ("LangSmith", langsmith),
    ("Opik", opik),
    ("MLflow", mlflow),
    ("Laminar", laminar),
    ("Agenta", agenta),
];

const INPUT: [&str; 3] = [
    "llm.token_count.prompt",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
];
const OUTPUT: [&str; 3] = [
    "llm.token_count.completion",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
];

/// The tokens of a span under the first names that are there.
fn tokens(span: &Span, input: &[&str], output: &[&str]) -> Totals {
    Totals {
        input: span.count(input).unwrap_or(0),
        output: span.count(output).unwrap_or(0),
    }
}

/// Only attributes of the span itself count, and only spans that have the id add to the session. An id of 200
/// characters, or one that is not ASCII, is dropped. Input is what is left when the kinds that it knows of are taken off;
/// every key that it does not know is a kind of its own.
pub(super) fn langfuse(batches: &[Vec<Span>]) -> Sessions {
    let mut shown = Sessions::default();
    for span in once(batches) {
        let id = span.first(&[
            "langfuse.session.id",
            "session.id",
            "gen_ai.conversation.id",
            "ai.telemetry.metadata.sessionId",
        ]);
        let Some(id) = id.filter(|id| id.len() < 200 && id.is_ascii()) else {
            continue;
        };
        shown.list(id, &span.trace);
        shown.count(id, langfuse_tokens(span));
    }
    shown
}

fn langfuse_tokens(span: &Span) -> Totals {
    const READ: [&str; 2] = [
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ];
    const WRITE: [&str; 2] = [
        "gen_ai.usage.cache_creation.input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ];
    // The old names win here.
    let (mut input, mut output) = (INPUT, OUTPUT);
    input.reverse();
    output.reverse();
    let all = tokens(span, &input, &output);
    let (read, write) = (
        span.count(&READ).unwrap_or(0),
        span.count(&WRITE).unwrap_or(0),
    );
    let known = [
        &INPUT[..],
        &OUTPUT,
        &READ,
        &WRITE,
        &["llm.token_count.total"],
    ]
    .concat();
    let more: u64 = span
        .attributes
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("gen_ai.usage.") || key.starts_with("llm.token_count."))
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .filter_map(|(_, value)| value.as_u64())
        .sum();
    Totals {
        input: all.input.saturating_sub(read + write) + read + write + more,
        output: all.output,
    }
}

/// The first span of a trace that has an id brings the trace into the session, and later ids in it are ignored. A span
/// id is known once, over all traces, and its first version stays. Only spans of the kind LLM count, and only a trace
/// that has a span without a parent is listed.
pub(super) fn phoenix(batches: &[Vec<Span>]) -> Sessions {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut session: HashMap<&str, String> = HashMap::new();
    let mut sum: BTreeMap<&str, Totals> = BTreeMap::new();
    let mut rooted: BTreeSet<&str> = BTreeSet::new();
    for span in batches.iter().flatten() {
        let id = span.first(&["session.id", "gen_ai.conversation.id"]);
        if let Some(id) = id.map(str::trim).filter(|id| !id.is_empty()) {
            session.entry(&span.trace).or_insert_with(|| id.to_owned());
        }
        if !known.insert(&span.id) {
            continue;
        }
        if span.parent.is_empty() {
            rooted.insert(&span.trace);
        }
        if span.is_llm() {
            // It does not know the names that the convention had before.
            *sum.entry(&span.trace).or_default() += tokens(span, &INPUT[..2], &OUTPUT[..2]);
        }
    }
    let mut shown = Sessions::default();
    for trace in rooted {
        if let Some(id) = session.get(trace) {
            shown.list(id, trace);
            shown.count(id, sum.get(trace).copied().unwrap_or_default());
        }
    }
    shown
}

/// Only `session.id`, from each span for itself, and only the names of OpenInference.
pub(super) fn arize(batches: &[Vec<Span>]) -> Sessions {
    let mut shown = Sessions::default();
    for span in once(batches) {
        let Some(id) = span.text("session.id") else {
            continue;
        };
        shown.list(id, &span.trace);
        if span.is_llm() {
            shown.count(id, tokens(span, &INPUT[..1], &OUTPUT[..1]));
        }
    }
    shown
}

/// Metadata of a run, which each has for itself: of a run without it, neither its tokens nor its cost are the thread's.
/// A thread lists the runs that have no parent.
pub(super) fn langsmith(batches: &[Vec<Span>]) -> Sessions {
    let mut shown = Sessions::default();
    for span in once(batches) {
        let id = span.first(&[
            "langsmith.metadata.session_id",
            "langsmith.metadata.conversation_id",
            "langsmith.metadata.thread_id",
        ]);
        let Some(id) = id else { continue };
        if span.parent.is_empty() {
            shown.list(id, &span.trace);
        }
        shown.count(id, tokens(span, &INPUT[1..], &OUTPUT[1..]));
    }
    shown
}

/// The thread of a trace comes from either standard key; which one wins is not known, so that they must be the same. The
/// names of OpenInference win where the span has a kind.
pub(super) fn opik(batches: &[Vec<Span>]) -> Sessions {
    let mut shown = Sessions::default();
    let mut threads: HashMap<&str, &str> = HashMap::new();
    for span in batches.iter().flatten() {
        let both = [span.text("session.id"), span.text("gen_ai.conversation.id")];
        assert_eq!(both[0], both[1], "{span:?}");
        if let Some(id) = both[0] {
            threads.entry(&span.trace).or_insert(id);
        }
    }
    for span in once(batches) {
        if let Some(id) = threads.get(span.trace.as_str()) {
            shown.list(id, &span.trace);
            shown.count(id, tokens(span, &INPUT, &OUTPUT));
        }
    }
    shown
}

/// `session.id`, else the standard key, from any span of a trace. A span is known by trace and id, and its last version
/// counts. Tokens of a span hide those of all spans below it.
pub(super) fn mlflow(batches: &[Vec<Span>]) -> Sessions {
    let mut traces: BTreeMap<&str, BTreeMap<&str, &Span>> = BTreeMap::new();
    let mut session: HashMap<&str, &str> = HashMap::new();
    for span in batches.iter().flatten() {
        let spans = traces.entry(&span.trace).or_default();
        spans.insert(&span.id, span);
        if let Some(id) = span.first(&["session.id", "gen_ai.conversation.id"]) {
            session.entry(&span.trace).or_insert(id);
        }
    }
    let mut shown = Sessions::default();
    for (trace, spans) in traces {
        let Some(id) = session.get(trace) else {
            continue;
        };
        shown.list(id, trace);
        for span in spans.values() {
            let has = |span: &Span| span.count(&INPUT).or(span.count(&OUTPUT)).is_some();
            let mut above = spans.get(span.parent.as_str());
            while let Some(outer) = above.filter(|outer| !has(outer)) {
                above = spans.get(outer.parent.as_str());
            }
            if above.is_none() {
                shown.count(id, tokens(span, &INPUT, &OUTPUT));
            }
        }
    }
    shown
}

/// Its own key alone. A span is a request to a model if it names a system, and only those count.
pub(super) fn laminar(batches: &[Vec<Span>]) -> Sessions {
    let mut shown = Sessions::default();
    let mut session: HashMap<&str, &str> = HashMap::new();
    for span in batches.iter().flatten() {
        if let Some(id) = span.text("lmnr.association.properties.session_id") {
            session.entry(&span.trace).or_insert(id);
        }
    }
    for span in once(batches) {
        let Some(id) = session.get(span.trace.as_str()) else {
            continue;
        };
        shown.list(id, &span.trace);
        if span.text("gen_ai.system").is_some() {
            shown.count(id, tokens(span, &INPUT[1..], &OUTPUT[1..]));
        }
    }
    shown
}

/// Adapters run one after the other, and each overwrites what those before it found: the standard key of the
/// conversation wins over `session.id`, and the names of the convention over those of OpenInference. The column of the
/// session is filled for spans without a parent alone, and their totals are what came below them in the same request; a
/// span that comes again takes the place of the first.
pub(super) fn agenta(batches: &[Vec<Span>]) -> Sessions {
    let mut roots: BTreeMap<(&str, &str), (&str, Totals)> = BTreeMap::new();
    for batch in batches {
        for root in batch.iter().filter(|span| span.parent.is_empty()) {
            let id = root.first(&[
                "ag.session.id",
                "ai.telemetry.metadata.sessionId",
                "gen_ai.conversation.id",
                "session.id",
            ]);
            if let Some(id) = id {
                roots.insert((&root.trace, &root.id), (id, below(root, batch)));
            }
        }
    }
    let mut shown = Sessions::default();
    for ((trace, _), (id, totals)) in roots {
        shown.list(id, trace);
        shown.count(id, totals);
    }
    shown
}

/// The tokens of a span and of all below it that came with it.
fn below(root: &Span, batch: &[Span]) -> Totals {
    let (mut input, mut output) = (INPUT, OUTPUT);
    input.reverse();
    output.reverse();
    let mut totals = tokens(root, &input, &output);
    for span in batch {
        if span.trace == root.trace && span.parent == root.id {
            totals += below(span, batch);
        }
    }
    totals
}

/// Each span once, by trace and id.
fn once(batches: &[Vec<Span>]) -> impl Iterator<Item = &Span> {
    let mut known = BTreeSet::new();
    let spans = batches.iter().flatten();
    spans.filter(move |span| known.insert((span.trace.as_str(), span.id.as_str())))
}
