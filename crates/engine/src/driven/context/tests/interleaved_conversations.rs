//! Ten conversations at once, a thousand times, in an order that is never the same.

use siglum_ledger::{Durability, Joined, Ledger, write};

use super::*;

const CONVERSATIONS: usize = 10;
const ROUNDS: u32 = 1_000;

/// What one conversation does in a round, in this order.
#[derive(Clone, Copy)]
enum Step {
    Shared,
    Tick,
    Compact,
    Look,
}

/// A conversation, and the tick that it runs now.
struct Conversation {
    route: String,
    tick: Option<Keys>,
}

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

#[test]
fn ten_conversations_never_see_each_other() {
    let mut host = Host::new();
    let mut dice = Dice(7);
    let policy = Policy::default();
    let mut all: Vec<Conversation> = (0..CONVERSATIONS)
        .map(|n| Conversation {
            route: format!("conversation-{n}-x"),
            tick: None,
        })
        .collect();
    for round in 0..ROUNDS {
        host.stage.play(|world, ledger| {
            let (id, key) = (ledger.id(), ledger.key());
            write(ledger, Durability::Process, |tx| {
                let mut joined = Joined::new(tx, id, key);
                let mut contexts = LedgerContexts::new(&world.here, &mut joined, &policy, BY);
                one_round(&mut contexts, &mut all, &mut dice, round);
                Ok(())
            })
            .unwrap();
        });
    }
}

fn one_round(
    contexts: &mut dyn ContextEngine,
    all: &mut [Conversation],
    dice: &mut Dice,
    round: u32,
) {
    const STEPS: [Step; 5] = [
        Step::Shared,
        Step::Tick,
        Step::Look,
        Step::Compact,
        Step::Look,
    ];
    let mut done = [0; CONVERSATIONS];
    while let left @ 1.. = done.iter().filter(|done| **done < STEPS.len()).count() {
        let which = dice.below(left);
        let mut open = (0..CONVERSATIONS).filter(|n| done[*n] < STEPS.len());
        let n = open.nth(which).unwrap();
        all[n].step(contexts, STEPS[done[n]], round);
        done[n] += 1;
    }
}

impl Conversation {
    fn step(&mut self, contexts: &mut dyn ContextEngine, step: Step, round: u32) {
        let name = format!("{}-{round}", self.route);
        match step {
            Step::Shared => {
                let keys = self.resolve(contexts, Want::Shared, &format!("{name}-s"));
                contexts.commit(&keys, &turn(&name)).unwrap();
            }
            Step::Tick => {
                let cause = Cause::Tick;
                let keys = self.resolve(contexts, Want::Isolated { cause }, &format!("{name}-t"));
                assert_eq!(
                    self.messages_seen(contexts, &keys),
                    0,
                    "a tick sees nothing"
                );
                contexts
                    .commit(&keys, &turn(&format!("{name}-tick")))
                    .unwrap();
                self.tick = Some(keys);
            }
            Step::Compact if round % 50 == 49 => {
                let keys = Keys::shared(route(&self.route));
                let compact = Compact {
                    key: key(&format!("{name}-c")),
                    summary: format!("summary of {}", self.route),
                    trigger: "tests".to_owned(),
                    keep: 2,
                };
                contexts.compact(&keys, &compact).unwrap();
            }
            Step::Compact => {}
            Step::Look => {
                let keys = Keys::shared(route(&self.route));
                assert!(self.messages_seen(contexts, &keys) >= 2);
                let tick = self.tick.clone().unwrap();
                assert_eq!(self.messages_seen(contexts, &tick), 2);
            }
        }
    }

    fn resolve(&self, contexts: &mut dyn ContextEngine, want: Want, run: &str) -> Keys {
        let agent = AgentName::new("openclaw").unwrap();
        let ask = Resolve::new(route(&self.route), want, agent, BY.to_owned(), key(run));
        contexts.resolve(&ask).unwrap().keys
    }

    /// Looks that all that is seen is this one's own; gives how many messages that are.
    fn messages_seen(&self, contexts: &mut dyn ContextEngine, keys: &Keys) -> usize {
        let ask = Assemble {
            budget: 400,
            ..Assemble::default()
        };
        let assembled = contexts.assemble(keys, &ask).unwrap();
        for seen in &assembled.messages {
            assert!(seen.spoken.text().contains(&self.route), "{seen:?}");
        }
        assembled.messages.len()
    }
}
