//! What the tools show when all goes well.

use serde_json::Value;

use super::sinks::{Sinks, fresh};
use crate::harness::talk::tokens;
use crate::harness::{Repo, Talk, World};

/// The attribute of a span that Phoenix shows.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    &span["attributes"][key]
}

#[test]
fn three_turns_are_one_session_with_all_tokens() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "turns");
    let name = fresh("turns");
    let mut talk = Talk::start(&repo, &name);
    for text in ["First, zanzibar.", "Second.", "Third."] {
        talk.turn(text);
    }
    let shown = sinks.show(&[&talk]);
    let seen = &shown[&name];
    assert_eq!(seen.traces.len(), 3);
    assert!(seen.totals.input > 6 * 12_000, "what was cached counts");

    let spans = sinks.phoenix.spans();
    let count = |kind: &str| spans.iter().filter(|s| s["span_kind"] == kind).count();
    let answers = usize::try_from(talk.answers).unwrap();
    let tools = usize::try_from(talk.tools).unwrap();
    assert_eq!(
        [count("AGENT"), count("LLM"), count("TOOL")],
        [3, answers, tools]
    );
    assert_eq!(spans.len(), 3 + answers + tools);
    for span in &spans {
        for key in ["session.id", "gen_ai.conversation.id"] {
            assert_eq!(attribute(span, key), &name, "{span}");
        }
        assert_ne!(span["status_code"], "ERROR", "{span}");
        let text = span.to_string();
        assert!(!text.contains("zanzibar"), "texts stay here: {span}");
    }
    let models = |span: &&Value| span["span_kind"] == "LLM";
    for span in spans.iter().filter(models) {
        let number = |key: &str| attribute(span, key).as_u64().unwrap();
        let cached = number("llm.token_count.prompt_details.cache_read")
            + number("llm.token_count.prompt_details.cache_write");
        assert!(cached > 0 && number("llm.token_count.prompt") > cached);
    }
}

#[test]
fn what_goes_on_is_the_same_session_also_under_a_new_id() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "resumed");
    let [before, after] = ["before", "after"].map(fresh);
    let mut talk = Talk::start(&repo, &before);
    talk.turn("Begin.");
    let mut talk = talk.resumed(&before);
    talk.turn("Go on in another process.");
    called_also(&repo, &before, &after);
    let mut talk = talk.resumed(&after);
    talk.turn("Go on under another name.");
    talk.turn("And on.");
    let shown = sinks.show(&[&talk]);
    assert_eq!(shown[&before].traces.len(), 4);
    let spans = sinks.phoenix.spans();
    let native = |span: &Value| attribute(span, "siglum.native_session.id") == &after;
    assert!(spans.iter().any(native), "{spans:#?}");
}

/// Whoever started the agent anew says that the id that it has now is the same session.
fn called_also(repo: &Repo<'_>, native: &str, other: &str) {
    let copy = "INSERT INTO aliases (agent, native, session, first_at) SELECT agent, ?2, session, ?3 FROM aliases WHERE native = ?1";
    let now = siglum_platform::clock::now().nanos();
    let store = repo.world.store();
    let copied = store.execute(copy, (native, other, now)).unwrap();
    assert_eq!(copied, 1);
}

#[test]
fn a_fork_is_a_session_of_its_own_that_names_its_origin() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "forked");
    let [origin, copy] = ["origin", "copy"].map(fresh);
    let mut talk = Talk::start(&repo, &origin);
    talk.turn("One.");
    talk.turn("Two.");
    let mut fork = talk.forked(&copy);
    fork.turn("Another way.");
    talk.turn("Three.");
    // What was copied counts where it was said.
    sinks.show(&[&talk, &fork]);
    let spans = sinks.phoenix.spans();
    for span in &spans {
        let previous = attribute(span, "session.previous_id");
        match attribute(span, "session.id") == &copy {
            true => assert_eq!(previous, &origin, "{span}"),
            false => assert!(previous.is_null(), "{span}"),
        }
    }
}

#[test]
fn a_sub_agent_is_in_the_session_of_who_started_it() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "helped");
    let mut talk = Talk::start(&repo, &fresh("helped"));
    talk.ask("Let somebody look.");
    talk.answer(tokens(50, 20, 9_000, 400));
    let (one, two) = (talk.help("a1"), talk.help("b2"));
    talk.help_on(&one, tokens(5, 6, 700, 80));
    talk.help_on(&two, tokens(7, 8, 900, 10));
    talk.helped(two);
    talk.helped(one);
    talk.answer(tokens(3, 90, 9_100, 20));
    talk.stop();
    talk.turn("Thanks.");
    sinks.show(&[&talk]);

    let spans = sinks.phoenix.spans();
    let parent = |span: &Value| {
        let parent = &span["parent_id"];
        let is_it = |s: &&Value| s["context"]["span_id"] == *parent;
        spans.iter().find(is_it).cloned().unwrap_or_default()
    };
    let nested = |s: &&Value| s["span_kind"] == "AGENT" && !s["parent_id"].is_null();
    let agents: Vec<&Value> = spans.iter().filter(nested).collect();
    assert_eq!(agents.len(), 2, "{agents:#?}");
    for agent in agents {
        let call = parent(agent);
        assert_eq!(call["span_kind"], "TOOL", "{call}");
        let id = attribute(agent, "siglum.agent.id").as_str().unwrap();
        let calls = attribute(&call, "gen_ai.tool.call.id");
        assert_eq!(calls, &format!("toolu_{id}"), "each below its own call");
    }
    let inside = spans.iter().filter(|s| parent(s)["span_kind"] == "AGENT");
    let inside = inside.filter(|s| !parent(s)["parent_id"].is_null());
    assert_eq!(inside.count(), 4, "an answer and a tool of each");
}

#[test]
fn what_is_sent_by_grpc_shows_the_same() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::by_grpc(&repo);
    let mut talk = Talk::start(&repo, &fresh("by-grpc"));
    talk.turn("One.");
    talk.turn("Two.");
    sinks.show_by_grpc(&talk);
}
