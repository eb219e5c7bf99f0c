//! One phase: what was recorded of it, and its sessions in waves.

use std::collections::BTreeMap;

use super::event::{CheckResult, Event, What};
use super::graph::{Activity, Check, Contract, Instance, Member, Phase, Review, State, Validated};
use super::summary::says_skipped;
use crate::AgentName;
use crate::time::Timestamp;

/// The time from one moment to another in milliseconds; none if the clock went back.
pub(super) fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.millis_since(from)).unwrap_or(0)
}

/// What is known of a phase before it is put together.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) events: Vec<&'a Event>,
    pub(super) members: Vec<&'a Member>,
}

/// What was said of the course of a phase.
#[derive(Default)]
struct Course {
    state: Option<State>,
    first: Option<Timestamp>,
    /// Since when it runs.
    open: Option<Timestamp>,
    last: Option<Timestamp>,
    spent_ms: u64,
    cycles: u64,
}

impl Course {
    fn from_events(events: &[&Event]) -> Self {
        let mut course = Self::default();
        for event in events {
            course.take(event);
        }
        course
    }

    fn take(&mut self, event: &Event) {
        match event.what {
            What::PhaseStarted { .. } | What::PhaseAwaiting { .. } => {
                if self.open.is_none() {
                    self.cycles += 1;
                    self.open = Some(event.at);
                    self.first.get_or_insert(event.at);
                }
                let waits = matches!(event.what, What::PhaseAwaiting { .. });
                self.state = Some(if waits {
                    State::Awaiting
                } else {
                    State::Running
                });
                self.last = None;
            }
            What::PhaseEnded { outcome, .. } => {
                if let Some(open) = self.open.take() {
                    self.spent_ms += millis(open, event.at);
                }
                self.state = Some(outcome.into());
                self.last = Some(event.at);
            }
            _ => {}
        }
    }
}

impl Course {
    /// Where the phase stands, with what its sessions do.
    fn stands(&self, own: &[&Member], over: bool) -> State {
        let mut live = own.iter().filter(|m| m.activity.is_live()).peekable();
        let is_live = live.peek().is_some();
        let idle = is_live && live.all(|m| m.activity == Activity::Waiting);
        match self.state {
            Some(State::Running | State::Awaiting) if over && !is_live => State::Unknown,
            Some(State::Running) if idle => State::Awaiting,
            Some(state) => state,
            None => of_sessions(own, idle),
        }
    }

    /// How long it ran in all cycles; the one that is open, up to `until`.
    fn spent(&self, until: Option<Timestamp>) -> u64 {
        let open = self
            .open
            .zip(until)
            .map_or(0, |(open, until)| millis(open, until));
        self.spent_ms.saturating_add(open)
    }
}

impl Parts<'_> {
    /// The phase. Nothing goes on in it any more if the pipeline is `over`.
    pub(super) fn phase(&self, name: Option<String>, over: bool, now: Timestamp) -> Phase {
        let course = Course::from_events(&self.events);
        let own = self.members.iter().copied().filter(|m| !m.detached);
        let own: Vec<&Member> = own.collect();
        let is_live = own.iter().any(|m| m.activity.is_live());
        let state = course.stands(&own, over);
        let began = own.iter().map(|m| m.started).chain(course.first).min();
        let last = own.iter().map(|m| m.ended.unwrap_or(now)).max();
        let by_sessions = last.filter(|_| course.state.is_none() && !is_live);
        let until = if state == State::Unknown {
            last
        } else {
            Some(now)
        };
        Phase {
            name,
            state,
            stated: course.state.is_some(),
            started: began,
            ended: course.last.or(by_sessions),
            duration_ms: if course.cycles > 0 {
                course.spent(until)
            } else {
                began.zip(last).map_or(0, |(from, to)| millis(from, to))
            },
            cycles: course.cycles,
            waves: waves(&self.members, now),
            contracts: contracts(&self.events),
            reviews: reviews(&self.events),
            checks: checks(&self.events),
        }
    }
}

/// Where a phase stands of which nobody said so. Of several sessions of one role the last one counts.
fn of_sessions(members: &[&Member], idle: bool) -> State {
    let mut last: BTreeMap<String, &Member> = BTreeMap::new();
    for member in members {
        let newer =
            |other: &&Member| (other.started, other.session) >= (member.started, member.session);
        let name = name(member);
        if !last.get(&name).is_some_and(newer) {
            last.insert(name, member);
        }
    }
    let any = |wanted: &[Activity]| last.values().any(|m| wanted.contains(&m.activity));
    if last.is_empty() {
        State::Pending
    } else if idle {
        State::Awaiting
    } else if members.iter().any(|m| m.activity.is_live()) {
        State::Running
    } else if any(&[Activity::Failed, Activity::Lost]) {
        State::Failed
    } else if any(&[Activity::Unseen]) {
        State::Unknown
    } else {
        State::Completed
    }
}

/// What a session is called in the graph: by its role, else by its agent.
fn name(member: &Member) -> String {
    if member.roles.is_empty() {
        AgentName::word(member.agent.as_ref()).to_owned()
    } else {
        member.roles.join(" + ")
    }
}

/// The sessions in waves: those of one wave all ran at one time, and each of a later one began when one of the wave
/// before was over.
fn waves(members: &[&Member], now: Timestamp) -> Vec<Vec<Instance>> {
    let mut members = members.to_vec();
    members.sort_by_key(|m| (m.started, m.session));
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    let mut waves: Vec<Vec<Instance>> = Vec::new();
    let mut until = Timestamp::from_nanos(i64::MIN);
    for member in members {
        let name = name(member);
        let number = numbers
            .entry(name.clone())
            .and_modify(|n| *n += 1)
            .or_insert(1);
        let ended = member.ended.unwrap_or(now).max(member.started);
        // Who ended at once was there, too.
        let gone =
            Timestamp::from_nanos(ended.nanos().max(member.started.nanos().saturating_add(1)));
        let instance = Instance {
            name,
            number: *number,
            duration_ms: millis(member.started, ended),
            member: member.clone(),
        };
        match waves.last_mut() {
            Some(wave) if member.started < until => {
                until = until.min(gone);
                wave.push(instance);
            }
            _ => {
                until = gone;
                waves.push(vec![instance]);
            }
        }
    }
    waves
}

/// The last contract of each name.
pub(super) fn contracts(events: &[&Event]) -> Vec<Contract> {
    let mut last = BTreeMap::new();
    for event in events {
        if let What::Contract {
            name,
            version,
            digest,
            ..
        } = &event.what
        {
            let contract = Contract {
                name: name.clone(),
                version: version.clone(),
                digest: digest.clone(),
                number: event.number,
                at: event.at,
                session: event.session,
            };
            last.insert(name.clone(), contract);
        }
    }
    last.into_values().collect()
}

fn reviews(events: &[&Event]) -> Vec<Review> {
    let review = |event: &&Event| match &event.what {
        What::Review {
            verdict,
            role,
            contract,
            ..
        } => Some(Review {
            verdict: *verdict,
            role: role.clone(),
            session: event.session,
            contract: contract
                .clone()
                .map(|name| Validated { name, stated: None }),
            by: event.by.clone(),
            text: event.text.clone(),
            number: event.number,
            at: event.at,
        }),
        _ => None,
    };
    events.iter().filter_map(review).collect()
}

fn checks(events: &[&Event]) -> Vec<Check> {
    let mut last: BTreeMap<String, Check> = BTreeMap::new();
    for event in events {
        if let What::Check {
            name,
            result,
            url,
            commit,
            evidence,
            ..
        } = &event.what
        {
            let runs = last.get(name).map_or(0, |check| check.runs) + 1;
            let check = Check {
                name: name.clone(),
                result: *result,
                contradictory: *result == CheckResult::Passed
                    && event
                        .text
                        .as_ref()
                        .is_some_and(|t| says_skipped(t.as_str())),
                evidence: *evidence,
                by: event.by.clone(),
                runs,
                summary: event.text.clone(),
                url: url.clone(),
                commit: commit.clone(),
                session: event.session,
                number: event.number,
                at: event.at,
            };
            last.insert(name.clone(), check);
        }
    }
    last.into_values().collect()
}
