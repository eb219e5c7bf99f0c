//! A team for some minutes: laptops with ledgers of their own, pipelines, driven conversations and pages, in front of
//! several gateways on one PostgreSQL store. Gateways and the store are killed on the way, the network is cut, and the
//! gateways are replaced by another version. At the end, what was acknowledged is there once, and everybody gets the same
//! answers. `docs/team-test.md` has the promises.
//!
//! It takes minutes, so that it plays only where [`Options`] are in the environment: `cargo xtask team` sets them.

pub(crate) mod balancer;
mod conversations;
mod jobs;
mod journal;
mod laptop;
mod operator;
mod options;
mod pages;
mod promises;
mod receipts;
mod table;
mod writer;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::balancer::Balancer;
use self::journal::Journal;
use self::laptop::Laptop;
use self::operator::Operator;
use self::options::Options;
use self::promises::Outcome;
use crate::gateway::client::Client;
use crate::gateway::server::{Store, on_a_server, tenant};
use crate::harness::{Dice, OtlpSink, Ran, World};

/// The shared repositories; each second laptop has clones of both.
const REPOSITORIES: [&str; 2] = ["parts", "tools"];
/// Where clones fetch them from, as their settings say.
const FORGE: &str = "https://git.example.org/team";
/// Who polls pages.
const READERS: usize = 2;

/// What everybody on the team knows.
struct Team {
    options: Options,
    journal: Journal,
    balancer: Balancer,
    /// The directory of the shared repositories.
    origin: PathBuf,
    /// The address of the server that gets traces.
    collector: String,
    /// The token of whoever starts conversations and records pipelines.
    launcher: String,
    /// The token of pipelines, which only read.
    reader: String,
}

impl Team {
    /// Whoever has this token, at the balancer.
    fn client(&self, token: &str) -> Client {
        Client::new(&self.balancer.url(), Some(token))
    }

    /// Makes git find the shared repositories by the addresses that a forge would give them.
    fn show_origin(&self, world: &World) {
        let origin = self.origin.display();
        let text = format!("[url \"{origin}/\"]\n\tinsteadOf = {FORGE}/\n");
        std::fs::write(world.root.join("gitconfig"), text).unwrap();
    }
}

/// Waits for so many milliseconds as the dice say, and no longer than until then.
fn pause(dice: &mut Dice, millis: Range<u64>, until: Instant) {
    let wanted = Duration::from_millis(millis.start + dice.roll(millis.end - millis.start));
    thread::sleep(wanted.min(until.saturating_duration_since(Instant::now())));
}

#[test]
fn a_team_loses_nothing_and_ends_with_the_same_answers() {
    let Some(options) = Options::read() else {
        eprintln!("not played: `cargo xtask team` says for how long");
        return;
    };
    on_a_server(|store| play(store, &options));
}

/// The shared repositories, each with one commit.
fn make_origin(world: &World) -> PathBuf {
    let origin = world.root.join("origin");
    std::fs::create_dir(&origin).unwrap();
    for name in REPOSITORIES {
        let script = format!(
            "git init -q --bare -b main {name}.git && git -C {name}.git config gc.auto 0 && \
             git clone -q {name}.git {name} 2>/dev/null && cd {name} && \
             git commit -q --allow-empty -m 'base of {name}' && git push -q origin HEAD:main"
        );
        world.sh(&origin, &script).ok();
    }
    origin
}

/// Makes a token of the tenant, by the program that serves first: the store begins with its schema.
fn made_token(store: &Store, program: &Path, flags: &[&str]) -> String {
    let mut command = store.world.command(program);
    command
        .args(["token", "create", "--json"])
        .args(flags)
        .env("SIGLUM_STORE", store.address())
        .env("SIGLUM_TENANT", tenant(store));
    let made = Ran::from(command.output().unwrap()).ok();
    let made: Value = serde_json::from_str(&made).unwrap();
    made["data"]["secret"].as_str().unwrap().to_owned()
}

fn play(store: &Store, options: &Options) {
    eprintln!("{options}");
    let program = options.before.clone().unwrap_or_else(World::program);
    let token = |flags: &[&str]| made_token(store, &program, flags);
    let collector = OtlpSink::start();
    let team = Team {
        options: options.clone(),
        journal: Journal::default(),
        balancer: Balancer::start(),
        origin: make_origin(&store.world),
        collector: collector.url.clone(),
        launcher: token(&[]),
        reader: token(&["--read"]),
    };
    let mut operator = Operator::start(store, &team, &program);
    let worlds: Vec<World> = (0..options.laptops).map(|_| World::new()).collect();
    let mut laptops: Vec<Laptop<'_>> = thread::scope(|scope| {
        let arriving = worlds.iter().enumerate().map(|(number, world)| {
            let (team, token) = (&team, token(&[]));
            scope.spawn(move || Laptop::set_up(team, world, number, &token))
        });
        let arriving: Vec<_> = arriving.collect();
        arriving
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect()
    });
    work(&team, &mut operator, &mut laptops);
    let outcome = Outcome::check(&team, store, &mut laptops, operator.gateways(), &collector);
    table::judge(&team, &operator.memory);
    eprintln!("{}", table::table(&team, &operator.memory, &outcome));
    let problems = team.journal.records().problems.len();
    assert_eq!(problems, 0, "promises were broken");
}

/// Everybody works until the time is over, and comes to an end then.
fn work(team: &Team, operator: &mut Operator<'_>, laptops: &mut [Laptop<'_>]) {
    let (options, journal) = (&team.options, &team.journal);
    let begun = Instant::now();
    let until = begun + options.length;
    thread::scope(|scope| {
        for laptop in laptops {
            let who = format!("laptop {}", laptop.number);
            scope.spawn(move || journal.watch(&who, || laptop.work(team, until)));
        }
        for number in 0..options.jobs {
            let who = format!("job {number}");
            scope.spawn(move || journal.watch(&who, || jobs::work(team, number, until)));
        }
        for number in 0..options.conversations {
            let who = format!("conversations {number}");
            scope.spawn(move || journal.watch(&who, || conversations::work(team, number, until)));
        }
        for number in 0..READERS {
            let who = format!("reader {number}");
            scope.spawn(move || journal.watch(&who, || pages::work(team, number, until)));
        }
        journal.watch("operator", || operator.work(begun));
    });
}
