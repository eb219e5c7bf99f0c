//! From events and sessions to the graph.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Event, Outcome, What};
use super::graph::{Graph, Member, Phase, Review, State, Totals};
use super::phase::{Parts, contracts, millis};
use crate::id::SessionId;
use crate::time::Timestamp;

/// Puts a pipeline together as it stands at `now`. The order of the inputs does not matter, nor whether one is there
/// twice: events count by their number, sessions by when they began.
#[must_use]
pub fn fold(pipeline: &str, events: &[Event], members: &[Member], now: Timestamp) -> Graph {
    let events: BTreeMap<u64, &Event> = events.iter().map(|e| (e.number, e)).collect();
    let members: BTreeMap<SessionId, &Member> = members.iter().map(|m| (m.session, m)).collect();
    let end = stated_end(&events);
    let (parts, loose) = parted(&events, &members);
    let planned = plan(&events);
    let mut phases: Vec<Phase> = Vec::new();
    for name in &planned {
        let phase = parts.get(name).map_or_else(
            || Parts::default().phase(Some(name.clone()), end.is_some(), now),
            |parts| parts.phase(Some(name.clone()), end.is_some(), now),
        );
        phases.push(phase);
    }
    let others = parts.iter().filter(|(name, _)| !planned.contains(name));
    let mut others: Vec<Phase> = others
        .map(|(name, parts)| parts.phase(Some(name.clone()), end.is_some(), now))
        .collect();
    // Names are in order, and the sort keeps that where two began at once.
    others.sort_by_key(|phase| phase.started.or(phase.ended));
    for phase in others {
        insert(&mut phases, phase);
    }
    let mut loose = loose.phase(None, end.is_some(), now);
    let all = phases.iter_mut().chain([&mut loose]);
    for review in all.flat_map(|phase| &mut phase.reviews) {
        bind(review, &events);
    }
    let members: Vec<&Member> = members.into_values().filter(|m| !m.detached).collect();
    graph(pipeline, &events, &members, (phases, loose), end, now)
}

/// The end of the pipeline, unless a phase began after it.
fn stated_end(events: &BTreeMap<u64, &Event>) -> Option<(Timestamp, Option<Outcome>)> {
    let mut end = None;
    for event in events.values() {
        match event.what {
            What::Ended { outcome } => end = Some((event.at, outcome)),
            What::PhaseStarted { .. } | What::PhaseAwaiting { .. } => end = None,
            _ => {}
        }
    }
    end
}

/// Tells a review of the contract that it names: the last of this name before it, in whichever phase.
fn bind(review: &mut Review, events: &BTreeMap<u64, &Event>) {
    let Some(validated) = &mut review.contract else {
        return;
    };
    let before: Vec<&Event> = events.range(..review.number).map(|(_, e)| *e).collect();
    let mut known = contracts(&before).into_iter();
    validated.stated = known.find(|contract| contract.name == validated.name);
}

/// The last plan.
fn plan(events: &BTreeMap<u64, &Event>) -> Vec<String> {
    let plan = |event: &&Event| match &event.what {
        What::Planned { phases } => Some(phases.clone()),
        _ => None,
    };
    events.values().rev().find_map(plan).unwrap_or_default()
}

/// What belongs to each phase, and what to none. What a session records without a phase belongs to the session's own,
/// if it has just one.
fn parted<'a>(
    events: &BTreeMap<u64, &'a Event>,
    members: &BTreeMap<SessionId, &'a Member>,
) -> (BTreeMap<String, Parts<'a>>, Parts<'a>) {
    let (mut parts, mut loose) = (BTreeMap::<String, Parts<'a>>::new(), Parts::default());
    for event in events.values() {
        let own = || {
            let member = members.get(&event.session?)?;
            <&[String; 1]>::try_from(member.phases.as_slice())
                .ok()
                .map(|[phase]| phase.as_str())
        };
        match event.what.phase().or_else(own) {
            _ if matches!(event.what, What::Planned { .. } | What::Ended { .. }) => {}
            Some(phase) => parts
                .entry(phase.to_owned())
                .or_default()
                .events
                .push(event),
            None => loose.events.push(event),
        }
    }
    for member in members.values() {
        for phase in &member.phases {
            parts.entry(phase.clone()).or_default().members.push(member);
        }
        if member.phases.is_empty() {
            loose.members.push(member);
        }
    }
    (parts, loose)
}

/// Puts a phase that nobody planned behind the last one that began before it.
fn insert(phases: &mut Vec<Phase>, phase: Phase) {
    let began = phase.started.or(phase.ended);
    let before = |other: &Phase| match (other.started.or(other.ended), began) {
        (Some(other), Some(began)) => other <= began,
        _ => false,
    };
    let at = phases.iter().rposition(before).map_or(0, |at| at + 1);
    phases.insert(at, phase);
}

fn graph(
    pipeline: &str,
    events: &BTreeMap<u64, &Event>,
    members: &[&Member],
    (phases, loose): (Vec<Phase>, Phase),
    end: Option<(Timestamp, Option<Outcome>)>,
    now: Timestamp,
) -> Graph {
    let started = events
        .values()
        .map(|e| e.at)
        .chain(members.iter().map(|m| m.started))
        .min();
    let last = members
        .iter()
        .filter_map(|m| m.ended)
        .chain(events.values().map(|e| e.at))
        .max();
    let state = match end {
        Some((_, Some(outcome))) => outcome.into(),
        Some((_, None)) => at_end(phases.iter()),
        None => under_way(&phases, &loose, members, !plan(events).is_empty()),
    };
    let ended = end.map(|(at, _)| at).or(last.filter(|_| state.is_over()));
    let mut totals = Totals::default();
    for member in members {
        totals.sessions += 1;
        totals.live += u64::from(member.activity.is_live());
        totals.tokens += member.tokens;
        totals.commits += member.commits;
    }
    for check in phases.iter().chain([&loose]).flat_map(|p| &p.checks) {
        totals.checks.add(check);
    }
    Graph {
        pipeline: pipeline.to_owned(),
        state,
        ended_stated: end.is_some(),
        started,
        ended,
        duration_ms: started.map_or(0, |from| millis(from, ended.unwrap_or(now))),
        phases,
        loose,
        totals,
    }
}

/// How a pipeline ended of which only that was said.
fn at_end<'a>(phases: impl Iterator<Item = &'a Phase>) -> State {
    let states: BTreeSet<State> = phases.map(|p| p.state).collect();
    let any = |state| states.contains(&state);
    if any(State::Failed) {
        State::Failed
    } else if any(State::Cancelled) {
        State::Cancelled
    } else if any(State::Unknown) {
        State::Unknown
    } else {
        State::Completed
    }
}

/// Where a pipeline stands of which nobody said that it ended. It is over by itself only if all that is known of it
/// is sessions that are over, or if nothing is left of its plan.
fn under_way(phases: &[Phase], loose: &Phase, members: &[&Member], planned: bool) -> State {
    let all = || {
        phases
            .iter()
            .chain(Some(loose).filter(|l| !l.waves.is_empty()))
    };
    let any = |state| all().any(|p| p.state == state);
    if any(State::Running)
        || members
            .iter()
            .any(|m| m.activity == super::Activity::Working)
    {
        State::Running
    } else if any(State::Awaiting) {
        State::Awaiting
    } else if all().all(|p| p.state == State::Pending) {
        State::Pending
    } else if all().any(|p| p.state == State::Pending || (p.stated && !planned)) {
        State::Running
    } else {
        at_end(all())
    }
}
