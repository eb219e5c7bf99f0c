//! Whoever runs the gateways, and what befalls them and the network, by a plan that a seed decides.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Team;
use super::journal::Span;
use crate::gateway::server::{Gateway, Store};
use crate::harness::{Dice, World, until_within};

const GATEWAYS: usize = 3;
/// How long it may take until every gateway serves again.
const RECOVERY: Duration = Duration::from_secs(120);
/// The least and the most time from one fault to the next.
const CALM: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(45)];

/// What befalls the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The gateways are replaced, one after the other.
    Upgrade,
    GatewayKilled,
    DatabaseKilled,
    DatabaseRestarted,
    NetworkCut,
    NetworkSlow,
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::GatewayKilled => "gateway killed",
            Self::DatabaseKilled => "database killed",
            Self::DatabaseRestarted => "database restarted",
            Self::NetworkCut => "network cut",
            Self::NetworkSlow => "network slow",
        }
    }
}

/// When what befalls: the upgrade first, so that the memory of a gateway can be watched after it, then all kinds in rounds.
fn plan(dice: &mut Dice, length: Duration, kinds: &[Fault]) -> Vec<(Duration, Fault)> {
    let calm = (length / 9).clamp(CALM[0], CALM[1]);
    let mut plan = vec![(calm, Fault::Upgrade)];
    let (mut at, mut round) = (calm * 2, Vec::new());
    while at + calm <= length {
        if round.is_empty() {
            round.extend_from_slice(kinds);
        }
        let next = dice.index(round.len());
        plan.push((at, round.swap_remove(next)));
        at += calm;
    }
    plan
}

/// The operator.
pub(super) struct Operator<'t> {
    store: &'t Store,
    team: &'t Team,
    gateways: Vec<Gateway>,
    /// The file with the process of the database, if that may be killed.
    database: Option<PathBuf>,
    dice: Dice,
    begun: Instant,
    /// What each gateway uses, in kilobytes, after each third of the time. The first one is never killed.
    pub(super) memory: Vec<Vec<u64>>,
}

impl<'t> Operator<'t> {
    /// Starts the gateways, behind the balancer.
    pub(super) fn start(store: &'t Store, team: &'t Team, program: &Path) -> Self {
        let mut gateways = Vec::new();
        for number in 0..GATEWAYS {
            let gateway = Gateway::by(store, program, &team.launcher);
            team.balancer.add(number, gateway.place());
            gateways.push(gateway);
        }
        Self {
            store,
            team,
            gateways,
            database: std::env::var_os("SIGLUM_TEST_PG_PID").map(PathBuf::from),
            dice: team.options.dice("operator", 0),
            begun: Instant::now(),
            memory: Vec::new(),
        }
    }

    pub(super) fn gateways(&self) -> &[Gateway] {
        &self.gateways
    }

    /// Works until the time is over, and lets no fault be.
    pub(super) fn work(&mut self, begun: Instant) {
        self.begun = begun;
        let mut kinds = vec![Fault::GatewayKilled, Fault::NetworkCut, Fault::NetworkSlow];
        if self.database.is_some() {
            kinds.extend([Fault::DatabaseKilled, Fault::DatabaseRestarted]);
        }
        let length = self.team.options.length;
        for (at, fault) in plan(&mut self.dice, length, &kinds) {
            self.watch_until(begun + at);
            let struck = Instant::now();
            self.strike(fault);
            self.await_service();
            let took = Span::since(struck);
            eprintln!("{} for {:.1?}", fault.name(), took.length());
            let mut records = self.team.journal.records();
            records.faults.push((fault.name(), took));
        }
        self.watch_until(begun + length);
        self.weigh(3);
    }

    /// Waits, and notes the memory of the gateways where a third of the time is over.
    fn watch_until(&mut self, until: Instant) {
        while Instant::now() < until {
            let third = self.begun.elapsed().as_millis() * 3 / self.team.options.length.as_millis();
            self.weigh(usize::try_from(third).unwrap());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Notes the memory of the gateways, for each third that is over.
    fn weigh(&mut self, third: usize) {
        while third > self.memory.len() {
            let memory = self.gateways.iter().map(Gateway::memory);
            self.memory.push(memory.collect());
        }
    }

    fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Upgrade => {
                for number in 0..GATEWAYS {
                    self.upgrade(number);
                }
            }
            Fault::GatewayKilled => {
                let number = 1 + self.dice.index(GATEWAYS - 1);
                self.gateways[number].kill();
                self.wait(1_000, 3_000);
                self.start_again(number);
            }
            Fault::DatabaseKilled => self.end_database(Signal::KILL),
            // A fast shutdown.
            Fault::DatabaseRestarted => self.end_database(Signal::INT),
            Fault::NetworkCut => {
                self.team.balancer.cut();
                self.wait(2_000, 5_000);
                self.team.balancer.mend();
            }
            Fault::NetworkSlow => {
                self.team.balancer.delay(100 + self.dice.roll(300));
                self.wait(3_000, 6_000);
                self.team.balancer.delay(0);
            }
        }
    }

    fn wait(&mut self, least: u64, most: u64) {
        let millis = least + self.dice.roll(most - least);
        thread::sleep(Duration::from_millis(millis));
    }

    /// Takes a gateway out of turn, stops it, and serves by the program under test in its place.
    fn upgrade(&mut self, number: usize) {
        self.team.balancer.remove(number);
        let gateway = &mut self.gateways[number];
        let code = gateway.stop();
        if code != Some(0) {
            let text = format!("a gateway that was told to stop ended with {code:?}");
            self.team.journal.problem(text);
        }
        gateway.serve_by(&World::program());
        self.start_again(number);
    }

    fn start_again(&mut self, number: usize) {
        let gateway = &mut self.gateways[number];
        gateway.start_again(self.store);
        self.team.balancer.add(number, gateway.place());
    }

    /// Ends the database, and waits until whoever keeps it has started it again.
    fn end_database(&self, signal: Signal) {
        let process = || {
            let file = self.database.as_ref()?;
            let text = fs::read_to_string(file).ok()?;
            Pid::from_raw(text.lines().next()?.trim().parse().ok()?)
        };
        let ended = process().expect("the database runs");
        kill_process(ended, signal).unwrap();
        until_within(RECOVERY, "the database is back", || {
            process().is_some_and(|now| now != ended) && self.store.answers()
        });
    }

    /// Waits until each gateway is ready, and answers from the store.
    fn await_service(&self) {
        until_within(RECOVERY, "every gateway serves again", || {
            self.gateways.iter().all(|gateway| {
                let launcher = gateway.launcher();
                ["/readyz", "/v1/sessions?limit=1"].iter().all(|path| {
                    let reply = launcher.ask("GET", path, None);
                    reply.is_some_and(|reply| reply.status == 200)
                })
            })
        });
    }
}

#[test]
fn a_plan_has_each_fault_and_is_the_same_for_one_seed() {
    let kinds = [Fault::GatewayKilled, Fault::NetworkCut, Fault::NetworkSlow];
    let planned = |seed| plan(&mut Dice(seed), Duration::from_secs(180), &kinds);
    let faults = planned(7);
    assert_eq!(faults, planned(7));
    assert_eq!(faults[0].1, Fault::Upgrade);
    for kind in kinds {
        assert!(faults[1..4].iter().any(|(_, fault)| *fault == kind));
    }
    let (last, _) = faults.last().unwrap();
    assert!(*last <= Duration::from_secs(165), "{last:?}");
}
