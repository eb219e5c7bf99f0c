//! `siglum sync`: sends what the team's gateway lacks.

mod outcome;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use siglum_domain::SessionId;
use siglum_egress::{Address, GatewayClient, Plain, Timeouts, Token};
use siglum_engine::World;
use siglum_engine::share::project;
use siglum_engine::share::replica::{self, Destined, GateError, Passed, Sender, Sent};
use siglum_engine::views::find;
use siglum_engine::worker::{self, Run, Slice};
use siglum_ledger::{Durability, Ledger as _, Projection, SqliteLedger, read, write};

#[cfg(test)]
pub use self::outcome::Json;
use self::outcome::Outcome;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::gateway::{self, Way};
use crate::home::Home;
use crate::platform::Lock;
use crate::scope::{KindsArg, ScopeArgs, Shown, as_if_added};
use crate::{clock, commands::projection::add, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.sync/1";

/// How often is sealed beside a worker at most, so that a commit that git cannot read is in nobody's way.
const ROUNDS: u32 = 64;

/// How long is waited for what a worker has in its hands, and how often is looked.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

/// Send sessions, sealed turns and commits to the team's gateway
///
/// `--to` adds a gateway. Siglum remembers it and sends everything in its scope, and the worker sends new data from
/// then on. The scope is the repository of the current directory unless flags say otherwise: a repository in which
/// Siglum is enabled later is out of scope until `siglum projection scope NAME --add PATH` adds it. `--dry-run`
/// shows the scope with its counts and sends nothing. Without `--to`, every remembered gateway gets the data that it
/// lacks. While a gateway is unreachable, data waits, for days if need be; nothing is lost or applied twice.
///
/// Sends sessions with their links, sealed turns, statements, and commits with their local verdicts. All data is
/// redacted again before it leaves. The gateway stores a replica: this ledger stays its home.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Add a gateway and send this repository
    siglum sync --to https://siglum.example.org --token-file ~/token --name team

  Show what would be sent to it (dry run)
    siglum sync --to https://siglum.example.org --dry-run")]
pub struct Args {
    /// Gateway URL: https://…, or http://… on this machine
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Name of the gateway: up to 64 of a-z, 0-9 and -
    #[arg(long, value_name = "NAME", value_parser = add::name, requires = "to")]
    name: Option<String>,
    /// File with the gateway token; default: SIGLUM_GATEWAY_TOKEN; the token is stored, readable only by you
    #[arg(long, value_name = "FILE", requires = "to")]
    token_file: Option<PathBuf>,
    /// Allow unencrypted requests to another machine
    #[arg(long, requires = "to")]
    allow_plain: bool,
    /// Send once, without remembering the gateway
    #[arg(long, requires = "to", conflicts_with = "dry_run")]
    once: bool,
    /// Send only this session and those derived from it, once, without remembering the gateway
    #[arg(long, value_name = "SESSION", requires = "to", conflicts_with_all = ["once", "dry_run", "name"])]
    session: Option<String>,
    /// Show what would be sent, without sending or remembering anything
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    kinds: KindsArg,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let named = match &args.to {
        Some(to) => {
            let plain = match args.allow_plain {
                true => Plain::Anywhere,
                false => Plain::Loopback,
            };
            let token = gateway::given_token(args.token_file.as_deref())?;
            Some((gateway::address(to, plain)?, token))
        }
        None => None,
    };
    let (mut ledger, _) = cx.settled()?;
    if let (Some(session), Some((address, token))) = (&args.session, &named) {
        let session = find::session(&mut ledger, session)?;
        let token = match token {
            Some(token) => Some(token.clone()),
            None => {
                let kept = gateway::at(&mut ledger, address)?.map(|p| p.name);
                gateway::token_for(&cx.home, address, kept.as_deref())?
            }
        };
        let passed = send_session(cx, session, (address, token), None)?;
        return outcome::session(cx, session, address, &passed);
    }
    if named.is_none() && args.scope.is_given(args.kinds) {
        return Err(CommandError::usage("options for a scope need a gateway").hint(
            "Run `siglum projection scope NAME` to change the scope of a gateway, or pass `--to`.",
        ));
    }
    drop_left_over(&mut ledger)?;
    catch_up(cx, &mut ledger, None)?;
    let mut forget = None;
    let mut lent = None;
    let destinations = match named {
        Some((address, token)) => {
            let name = args.name.as_deref();
            let (mut projection, before) =
                gateway::destination(&mut ledger, &address, name, clock::now())?;
            let known = projection.scope.as_ref();
            let scope = args.scope.resolve(cx, &mut ledger, known, args.kinds)?;
            if args.once && !before {
                // Nobody else feeds it, though this process may be killed before it takes it away again.
                projection.name = project::once(std::process::id());
                forget = Some(projection.name.clone());
                lent.clone_from(&token);
            }
            if !args.dry_run {
                let kept = token.as_ref().filter(|_| forget.is_none());
                gateway::remember(cx, &mut ledger, &projection, &scope, kept)?;
            }
            projection.scope = Some(scope);
            vec![projection]
        }
        None => gateway::remembered(&mut ledger)?,
    };
    if destinations.is_empty() {
        return Err(CommandError::failed("no gateway configured")
            .hint("Run `siglum sync --to URL` to add one."));
    }
    let mut outcomes = Vec::new();
    for projection in destinations {
        let outcome = match args.dry_run {
            true => planned(&mut ledger, projection)?,
            false => send_all(cx, &mut ledger, projection, lent.clone())?,
        };
        outcomes.push(outcome);
    }
    match &forget {
        Some(name) => {
            write(&mut ledger, Durability::Disk, |tx| tx.drop_projection(name))?;
        }
        None if !args.dry_run => cx.home.start_worker(),
        None => {}
    }
    outcome::tell(cx, &outcomes, forget.is_none())
}

/// Sends one session and what belongs to it to a gateway, until it has everything, cannot be reached, or the time is
/// over. Nothing is remembered.
pub fn send_session(
    cx: &Cx,
    session: SessionId,
    (address, token): (&Address, Option<Token>),
    until: Option<Instant>,
) -> Result<Passed, CommandError> {
    let mut ledger = cx.open_ledger()?;
    catch_up(cx, &mut ledger, until)?;
    // A worker may be at one of its commits, and nothing is sent a second time.
    let patience = Instant::now() + PATIENCE;
    let patience = until.map_or(patience, |until| until.min(patience));
    let world = cx.world()?;
    while !replica::is_settled(&world, &mut ledger, session)? && Instant::now() < patience {
        std::thread::sleep(LOOK);
    }
    let mut way = Way(GatewayClient::new(address.clone(), token, timeouts(until)));
    let in_time = || until.is_none_or(|until| Instant::now() < until);
    let host = gateway::host();
    Ok(replica::pass(
        &world,
        &mut ledger,
        session,
        &host,
        &mut way,
        &in_time,
    )?)
}

fn timeouts(until: Option<Instant>) -> Timeouts {
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    let whole = until.map_or(Timeouts::default().whole, left);
    Timeouts {
        connect: Timeouts::default().connect.min(whole),
        whole: whole.max(Duration::from_millis(1)),
    }
}

/// What would be sent to a destination with this scope, whether it is remembered or not.
fn planned(ledger: &mut SqliteLedger, projection: Projection) -> Result<Outcome, CommandError> {
    let home = ledger.id();
    let (due, shown) = as_if_added(ledger, &projection, |tx, shown| {
        Ok((replica::due_in(tx, home, &projection.name)?, shown))
    })?;
    Ok(Outcome::planned(due, projection, shown))
}

/// Takes away what a `--once` left that was killed.
fn drop_left_over(ledger: &mut SqliteLedger) -> Result<(), CommandError> {
    let known = read(ledger, |tx| tx.projections())?;
    let own = std::process::id();
    let is_over = |p: &&Projection| {
        project::is_once(&p.name).is_some_and(|process| process == own || !is_running(process))
    };
    for projection in known.iter().filter(is_over) {
        let name = &projection.name;
        write(ledger, Durability::Process, |tx| tx.drop_projection(name))?;
    }
    Ok(())
}

fn is_running(process: u32) -> bool {
    let pid = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Seals what is complete and asks git about new commits, as the worker does, and beside it where it is at work.
pub fn catch_up(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    until: Option<Instant>,
) -> Result<(), CommandError> {
    let world = cx.world()?;
    let mut run = Run::default();
    let in_time = || until.is_none_or(|until| Instant::now() < until);
    let spools = cx.spools();
    let Some(_lock) = Lock::try_take(&cx.home.worker_lock()) else {
        for _ in 0..ROUNDS {
            if !in_time() || worker::seal_beside(&world, ledger, &spools, &mut run)? == Slice::Idle
            {
                break;
            }
        }
        return Ok(());
    };
    while in_time() && worker::slice(&world, ledger, &spools, &mut run)? == Slice::Worked {}
    Ok(())
}

/// Sends what a destination lacks, until it has everything or cannot be reached.
fn send_all(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    projection: Projection,
    lent: Option<Token>,
) -> Result<Outcome, CommandError> {
    let world = cx.world()?;
    let name = projection.name.clone();
    // A sync that was killed keeps nothing back, and whoever asks for one does not wait for a pause to end.
    project::take_over(&world, ledger, &name)?;
    write(ledger, Durability::Process, |tx| {
        match tx.destination(&name)? {
            Some(before) => tx.put_destination(
                &name,
                &siglum_ledger::Destination {
                    retry_at: siglum_domain::Timestamp::default(),
                    ..before
                },
            ),
            None => Ok(()),
        }
    })?;
    let home = lent.is_none().then_some(&cx.home);
    let mut way = match way_to(cx, &projection, lent) {
        Ok(way) => way,
        // The other destinations get what they lack all the same.
        Err(error) => {
            let words = [vec![format!("{:#}", error.source)], error.hints].concat();
            return finished(ledger, projection, Sent::default(), Some(words.join(". ")));
        }
    };
    let host = gateway::host();
    let to = Destined {
        name: &name,
        host: &host,
    };
    // What is new leaves first: a sync that is cut short has got further each time.
    let (mut sent, mut trouble) = feed_all(&world, ledger, &to, home, &mut way)?;
    if !matches!(trouble, Some(GateError::Unavailable(_))) {
        let rechecked = replica::recheck(&world, ledger, &to, &mut way)?;
        trouble = rechecked.trouble.or(trouble);
        if rechecked.lacking > 0 || rechecked.was_restored {
            let sessions = ui::plural(rechecked.lacking, "session");
            cx.ui.warning(match rechecked.was_restored {
                true => {
                    format!("{name} was restored from an older backup; what it lacks is sent again")
                }
                false => format!(
                    "{name} has less of {sessions} than was sent; the missing part is sent again"
                ),
            });
            let (again, failed) = feed_all(&world, ledger, &to, home, &mut way)?;
            sent += again;
            trouble = failed.or(trouble);
        }
    }
    finished(
        ledger,
        projection,
        sent,
        trouble.map(|error| error.to_string()),
    )
}

/// The way to a destination, with a token that is used for once, or by what there is for it.
fn way_to(cx: &Cx, projection: &Projection, lent: Option<Token>) -> Result<Way, CommandError> {
    let Some(token) = lent else {
        return gateway::client(&cx.home, projection, timeouts(None)).map(Way);
    };
    let address = Address::parse(&projection.target, Plain::Anywhere);
    let address = address.map_err(CommandError::failed)?;
    Ok(Way(GatewayClient::new(
        address,
        Some(token),
        timeouts(None),
    )))
}

fn finished(
    ledger: &mut SqliteLedger,
    projection: Projection,
    sent: Sent,
    trouble: Option<String>,
) -> Result<Outcome, CommandError> {
    let remains = replica::due(ledger, &projection.name)?;
    let shown = read(ledger, |tx| {
        Shown::new(tx, &projection.name, projection.scope.as_ref())
    })?;
    Ok(Outcome {
        shown,
        projection,
        sent: Some(sent),
        remains,
        trouble,
    })
}

/// Sends batch after batch; gives what was taken, and what went wrong last. With a home, by the token that is kept there.
fn feed_all(
    world: &World<'_>,
    ledger: &mut SqliteLedger,
    to: &Destined<'_>,
    home: Option<&Home>,
    way: &mut Way,
) -> Result<(Sent, Option<GateError>), CommandError> {
    let (mut sender, mut sent, mut trouble) = (Sender::default(), Sent::default(), None);
    loop {
        if let Some(home) = home {
            way.renew(home, to.name, timeouts(None));
        }
        let fed = sender.feed(world, ledger, to, way)?;
        sent += fed.sent;
        match fed.trouble {
            Some(error @ GateError::Unavailable(_)) => return Ok((sent, Some(error))),
            Some(error) => trouble = Some(error),
            None if fed.slice == Slice::Idle => return Ok((sent, trouble)),
            None => {}
        }
    }
}
