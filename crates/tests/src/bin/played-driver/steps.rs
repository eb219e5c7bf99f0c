//! One step after the other.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use siglum_domain::link::Link;
use siglum_domain::scope::Scope;
use siglum_domain::{AgentName, ConversationId, SessionId, TurnId};
use siglum_engine::World;
use siglum_engine::driven::turn::{
    self, Decider, Decision, Driver, Hold, Holder, NewSession, Opened, TurnError,
};
use siglum_engine::share::project::{self, Directory, Program, Sealed, Sink};
use siglum_engine::worker::{self, Slice};
use siglum_ledger::{
    Durability, Ledger, LedgerError, SessionFilter, SessionOrigin, Statement, read, write,
};

use crate::faulty::{Fault, Faulty, FaultySink};
use crate::{check, machine, observations, show};

pub(crate) struct Player {
    world: World<'static>,
    ledger: Faulty,
    holder: Holder,
    /// What it drives, with the end of the log as far as it knows.
    drives: BTreeMap<SessionId, (Hold, u64)>,
}

type Answer = Result<Value, Value>;

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn refused(error: TurnError) -> Value {
    show::refusal(&error)
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn broken(error: LedgerError) -> Value {
    show::store(&error)
}

fn text<'a>(step: &'a Value, key: &str) -> &'a str {
    step[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} is missing: {step}"))
}

fn session(step: &Value) -> SessionId {
    text(step, "session").parse().unwrap()
}

fn link(step: &Value) -> Option<Link> {
    let (field, value) = step["link"].as_array().map(|l| (&l[0], &l[1]))?;
    Some(Link::parse(field.as_str().unwrap(), value.as_str().unwrap()).unwrap())
}

/// A part of the log: behind what, and how much.
fn range(step: &Value) -> (u64, usize) {
    let number = |key: &str| step[key].as_u64().unwrap_or_default();
    (number("after"), usize::try_from(number("limit")).unwrap())
}

fn term(step: &Value) -> Duration {
    Duration::from_millis(step["term_ms"].as_u64().unwrap_or(60_000))
}

impl Player {
    pub(crate) fn new(inner: Box<dyn Ledger + Send>, home: &str, remote: bool, name: &str) -> Self {
        Self {
            world: machine::world(home),
            ledger: Faulty {
                inner,
                fault: None,
                writes: 0,
            },
            holder: Holder {
                name: format!("played-driver {name}"),
                nonce: name.to_owned(),
                process: (!remote).then(machine::own),
            },
            drives: BTreeMap::new(),
        }
    }

    /// From now on the store does this, counted from here.
    pub(crate) fn fault(&mut self, fault: Option<Fault>) {
        self.ledger.fault = fault;
        self.ledger.writes = 0;
    }

    pub(crate) fn play(&mut self, step: &Value) -> Answer {
        match text(step, "do") {
            "fault" => {
                self.fault(step["what"].as_str().map(|_| Fault::read(step)));
                Ok(json!({}))
            }
            "create" => self.create(step),
            "lease" => self.lease(step),
            "renew" | "release" | "pending" | "open" | "append" | "commit" | "abort" => {
                self.drive(step)
            }
            "archive" | "recover" | "decide" | "fork" | "link" => self.settle(step),
            "add" | "feed" | "late" | "retry" | "skip" | "rebuild" | "lag" => self.project(step),
            "work" => {
                let mut run = worker::Run::default();
                worker::slice(&self.world, &mut self.ledger, &[], &mut run)
                    .map_err(|e| json!({ "error": "worker", "text": machine::whole(&e) }))?;
                Ok(json!({}))
            }
            _ => self.read(step),
        }
    }

    fn create(&mut self, step: &Value) -> Answer {
        let new = NewSession {
            agent: AgentName::new("played").unwrap(),
            conversation: ConversationId::new(text(step, "conversation")).unwrap(),
            cwd: None,
            links: link(step).into_iter().collect(),
            by: "tests".to_owned(),
        };
        let record = turn::create(&self.world, &mut self.ledger, &new).map_err(refused)?;
        Ok(json!({ "session": record.id.to_string() }))
    }

    fn lease(&mut self, step: &Value) -> Answer {
        let id = session(step);
        let (world, ledger) = (&self.world, &mut self.ledger);
        let driver = Driver::take(world, ledger, id, &self.holder, term(step)).map_err(refused)?;
        self.drives.insert(id, (driver.hold(), driver.committed()));
        Ok(json!({
            "epoch": driver.hold().epoch, "committed": driver.committed(),
            "recovered": show::recovered(&driver.recovered),
            "open": driver.open_turn().map(|turn| turn.key.clone()),
        }))
    }

    /// What only the driver does. `epoch` and `expected` may say otherwise than it knows.
    fn drive(&mut self, step: &Value) -> Answer {
        let id = session(step);
        let (mut hold, mut expected) = self.drives.get(&id).copied().unwrap_or((
            Hold {
                session: id,
                epoch: 0,
            },
            0,
        ));
        hold.epoch = step["epoch"].as_u64().unwrap_or(hold.epoch);
        expected = step["expected"].as_u64().unwrap_or(expected);
        let (world, ledger) = (&self.world, &mut self.ledger);
        let key = step["key"].as_str().unwrap_or("");
        let items = observations::read(world, key, &step["said"]);
        match text(step, "do") {
            "renew" => {
                hold = turn::renew(world, ledger, hold, term(step)).map_err(refused)?;
                self.drives.insert(id, (hold, expected));
                Ok(json!({ "epoch": hold.epoch }))
            }
            "release" => turn::release(world, ledger, hold)
                .map(|()| json!({}))
                .map_err(refused),
            "pending" => {
                let all = turn::pending(ledger, hold).map_err(refused)?;
                Ok(json!(all.iter().map(show::observation).collect::<Vec<_>>()))
            }
            "open" => match turn::open(world, ledger, hold, expected, key, &items) {
                Ok(Opened::Turn(turn)) => Ok(json!({ "turn": turn.id.to_string() })),
                Ok(Opened::Committed(receipt)) => {
                    Ok(json!({ "committed": show::receipt(&receipt) }))
                }
                Err(error) => Err(refused(error)),
            },
            "append" => turn::append(world, ledger, hold, key, &items)
                .map(|()| json!({}))
                .map_err(refused),
            "abort" => turn::abort(ledger, hold, key)
                .map(|()| json!({}))
                .map_err(refused),
            _ => {
                let done =
                    turn::commit(world, ledger, hold, expected, key, &items).map_err(refused)?;
                self.drives
                    .insert(id, (hold, expected.max(done.receipt.last)));
                Ok(json!({ "receipt": show::receipt(&done.receipt), "already": done.already }))
            }
        }
    }

    fn settle(&mut self, step: &Value) -> Answer {
        let id = session(step);
        let (world, ledger) = (&self.world, &mut self.ledger);
        match text(step, "do") {
            "archive" => turn::archive(world, ledger, id, "tests")
                .map(|()| json!({}))
                .map_err(refused),
            "recover" => {
                let done = turn::recover(world, ledger, id).map_err(refused)?;
                Ok(show::recovered(&done))
            }
            "decide" => {
                let decision = match text(step, "decision") {
                    "done" => Decision::Done,
                    "failed" => Decision::Failed,
                    _ => Decision::Discard,
                };
                let who = Decider {
                    turn: None,
                    by: "tests",
                    source: "cli",
                };
                let kept = turn::decide(world, ledger, id, decision, who).map_err(refused)?;
                Ok(json!({ "receipt": kept.as_ref().map(show::receipt) }))
            }
            "fork" => {
                let at: Option<TurnId> = step["turn"].as_str().map(|t| t.parse().unwrap());
                let name = ConversationId::new(text(step, "conversation")).unwrap();
                let fork = turn::fork(world, ledger, id, at, &name, "tests").map_err(refused)?;
                Ok(json!({ "session": fork.id.to_string() }))
            }
            _ => {
                let (session, link, at) = (id, link(step).unwrap(), world.now());
                write(ledger, Durability::Process, |tx| {
                    let listed = tx.sessions(&SessionFilter {
                        links: vec![link.clone()],
                        ..SessionFilter::default()
                    })?;
                    if !listed.iter().any(|l| l.record.id == session) {
                        let link = link.clone();
                        tx.state(
                            at,
                            "tests",
                            "api",
                            &Statement::LinkAttached { session, link },
                        )?;
                    }
                    Ok(())
                })
                .map_err(broken)?;
                Ok(json!({}))
            }
        }
    }

    fn project(&mut self, step: &Value) -> Answer {
        let (world, ledger) = (&self.world, &mut self.ledger);
        let name = text(step, "name");
        let one = step["session"].as_str().map(|s| s.parse().unwrap());
        let mut sink: Box<dyn Sink> = match step["program"].as_str() {
            Some(command) => Box::new(Program::new(command).within(term(step))),
            None => Box::new(Directory::at(step["dir"].as_str().unwrap_or_default())),
        };
        match text(step, "do") {
            "add" => project::add(world, ledger, name, "embedded", "", &Scope::in_process())
                .map(|()| json!({})),
            "feed" => {
                let mut sink = FaultySink {
                    inner: sink,
                    fault: &step["fault"],
                    took: Vec::new(),
                };
                while project::feed(world, ledger, name, &mut sink).map_err(broken)?
                    == Slice::Worked
                {}
                let took = sink.took.iter().map(|(s, n)| json!([s.to_string(), n]));
                Ok(json!({ "took": took.collect::<Vec<_>>() }))
            }
            "late" => {
                let (id, number) = (session(step), step["number"].as_u64().unwrap());
                let (record, receipt, entries) = read(ledger, |tx| {
                    let receipt = tx.receipts_after(id, number - 1, 1)?.remove(0);
                    let mut entries = tx.entries(id, receipt.first - 1, 0)?;
                    entries.retain(|e| e.sequence <= receipt.last);
                    Ok((tx.session(id)?.unwrap(), receipt, entries))
                })
                .map_err(broken)?;
                let sealed = Sealed {
                    session: &record,
                    receipt: &receipt,
                    entries: &entries,
                };
                sink.take(ledger, &[sealed]).unwrap();
                Ok(json!({}))
            }
            "retry" => project::retry(world, ledger, name, one).map(|n| json!({ "sessions": n })),
            "skip" => {
                project::skip(world, ledger, name, one.unwrap()).map(|n| json!({ "left": n }))
            }
            "rebuild" => project::rebuild(world, ledger, name, sink.as_mut(), one)
                .map(|done| json!({ "sessions": done.unwrap() })),
            _ => read(ledger, |tx| {
                let lag = tx.lag(name)?;
                let troubled = tx.troubled(Some(name), 100)?;
                Ok(json!({
                    "receipts": lag.receipts, "sessions": lag.sessions, "failing": lag.failing,
                    "parked": lag.parked, "since": lag.since.map(|t| t.to_string()),
                    "troubled": troubled.iter().map(show::delivery).collect::<Vec<_>>(),
                }))
            }),
        }
        .map_err(broken)
    }

    fn read(&mut self, step: &Value) -> Answer {
        let (world, ledger) = (&self.world, &mut self.ledger);
        match text(step, "do") {
            "read" => {
                let page = turn::committed(ledger, session(step), 0, 0).map_err(refused)?;
                Ok(json!(
                    page.entries.iter().map(show::entry).collect::<Vec<_>>()
                ))
            }
            "page" => {
                let (after, limit) = range(step);
                let page = turn::committed(ledger, session(step), after, limit).map_err(refused)?;
                let entries = page
                    .entries
                    .iter()
                    .map(|e| show::observation(&e.observation));
                Ok(json!({
                    "entries": entries.collect::<Vec<_>>(), "committed": page.committed,
                }))
            }
            "sealed" => {
                let (after, limit) = range(step);
                let all = read(ledger, |tx| tx.receipts_after(session(step), after, limit));
                let all = all.map_err(broken)?;
                Ok(json!(all.iter().map(show::receipt).collect::<Vec<_>>()))
            }
            "keyed" => {
                let keys = step["keys"].as_array().unwrap().iter();
                let number = |key: &Value| {
                    let found = turn::receipt(ledger, session(step), key.as_str().unwrap());
                    found.map(|receipt| receipt.map(|r| r.number))
                };
                let all: Result<Vec<_>, _> = keys.map(number).collect();
                Ok(json!(all.map_err(refused)?))
            }
            "history" => {
                let until = step["until"].as_u64();
                let parts = turn::history(ledger, session(step), until).map_err(refused)?;
                let all = parts.iter().flat_map(|(_, entries)| entries);
                Ok(json!(all.map(show::entry).collect::<Vec<_>>()))
            }
            "receipts" => {
                let all = read(ledger, |tx| tx.receipts(session(step))).map_err(broken)?;
                Ok(json!(all.iter().map(show::receipt).collect::<Vec<_>>()))
            }
            "held" => {
                let all = turn::held(world, ledger, 1_000).map_err(refused)?;
                let one = |h: &turn::Held| {
                    json!({
                        "session": h.turn.session.to_string(), "key": h.turn.key, "held": h.turn.held,
                        "said": h.observations.iter().map(show::observation).collect::<Vec<_>>(),
                        "driver": h.driver.as_ref().map(|(name, _)| name.clone()),
                    })
                };
                Ok(json!(all.iter().map(one).collect::<Vec<_>>()))
            }
            "list" => {
                let filter = SessionFilter {
                    links: link(step).into_iter().collect(),
                    ..SessionFilter::default()
                };
                let all = read(ledger, |tx| tx.sessions(&filter)).map_err(broken)?;
                let driven = all.iter().filter(|l| l.record.origin == SessionOrigin::Api);
                Ok(json!(
                    driven.map(|l| l.record.id.to_string()).collect::<Vec<_>>()
                ))
            }
            "check" => check::check(ledger, &step["dirs"]).map_err(broken),
            other => panic!("no such step: {other}"),
        }
    }
}
