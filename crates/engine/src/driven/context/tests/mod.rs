//! Contexts on a real ledger.

mod gaps;
mod interleaved_conversations;
mod isolation;
mod runs;
mod subagents;

use siglum_domain::context::{Cause, ContextKey, Inherit, Keys, Policy, RouteKey, Rule};
use siglum_domain::{AgentName, TurnKey};
use siglum_ledger::ContextTurnKind;

use super::{
    Anchor, Assemble, Assembled, Bootstrap, Commit, Committed, Compact, ContextEngine,
    ContextError, Coverage, During, Gaps, Heartbeats, Ingest, LedgerContexts, Message, Origin,
    Positions, PrepareSubagent, Ran, Resolve, Resolved, Seen, Spoken, SubagentEnd, Want, Was,
    routes,
};
use crate::driven::turn::TurnError;
use crate::tests::stage::Stage;

const BY: &str = "test";

/// A host that runs agents and keeps what they say in contexts.
struct Host {
    stage: Stage,
    policy: Policy,
    runs: u32,
}

fn route(key: &str) -> RouteKey {
    RouteKey::new(key).unwrap()
}

fn key(text: &str) -> TurnKey {
    TurnKey::new(text).unwrap()
}

fn user(text: &str) -> Message {
    let text = text.to_owned();
    Spoken::User { text }.into()
}

fn assistant(text: &str) -> Message {
    Spoken::Assistant {
        text: text.to_owned(),
        model: None,
        tokens: None,
    }
    .into()
}

/// A turn of a question and its answer, under a key of its own.
fn turn(name: &str) -> Commit {
    Commit::new(
        key(name),
        vec![
            user(&format!("ask {name}")),
            assistant(&format!("say {name}")),
        ],
    )
}

fn at_positions(mut commit: Commit, first: u64, last: u64) -> Commit {
    commit.positions = Some(Positions { first, last });
    commit
}

impl Host {
    fn new() -> Self {
        Self::with(Vec::new())
    }

    fn with(rules: Vec<Rule>) -> Self {
        Self {
            stage: Stage::new(),
            policy: Policy::new(rules),
            runs: 0,
        }
    }

    fn contexts<T>(&mut self, act: impl FnOnce(&mut dyn ContextEngine) -> T) -> T {
        let policy = self.policy.clone();
        self.stage
            .play(|world, ledger| act(&mut LedgerContexts::new(&world.here, ledger, &policy, BY)))
    }

    fn ask(&mut self, on: &str, want: Want) -> Resolve {
        self.runs += 1;
        let agent = AgentName::new("openclaw").unwrap();
        let run = key(&format!("run-{}", self.runs));
        Resolve::new(route(on), want, agent, BY.to_owned(), run)
    }

    fn resolve(&mut self, on: &str, want: Want) -> Resolved {
        let ask = self.ask(on, want);
        self.contexts(|c| c.resolve(&ask)).unwrap()
    }

    fn shared(&mut self, on: &str) -> Keys {
        self.resolve(on, Want::Shared).keys
    }

    fn tick(&mut self, on: &str) -> Resolved {
        let cause = Cause::Tick;
        self.resolve(on, Want::Isolated { cause })
    }

    fn commit(&mut self, keys: &Keys, turn: &Commit) -> Committed {
        self.contexts(|c| c.commit(keys, turn)).unwrap()
    }

    fn refused(&mut self, keys: &Keys, turn: &Commit) -> ContextError {
        self.contexts(|c| c.commit(keys, turn)).unwrap_err()
    }

    /// Commits turns of these names.
    fn commit_turns(&mut self, keys: &Keys, names: &[&str]) {
        for name in names {
            let done = self.commit(keys, &turn(name));
            assert!(matches!(done, Committed::Done(_)), "{done:?}");
        }
    }

    fn assembled(&mut self, keys: &Keys) -> Assembled {
        let ask = Assemble {
            budget: 100_000,
            ..Assemble::default()
        };
        self.contexts(|c| c.assemble(keys, &ask)).unwrap()
    }

    /// The texts that a run reads.
    fn seen(&mut self, keys: &Keys) -> Vec<String> {
        texts(&self.assembled(keys))
    }
}

fn texts(assembled: &Assembled) -> Vec<String> {
    let text = |seen: &Seen| seen.spoken.text().to_owned();
    assembled.messages.iter().map(text).collect()
}

/// The texts of turns of these names.
fn strings(names: &[&str]) -> Vec<String> {
    let both = |name: &&str| [format!("ask {name}"), format!("say {name}")];
    names.iter().flat_map(both).collect()
}
