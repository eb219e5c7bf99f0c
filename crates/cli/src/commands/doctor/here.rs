//! What holds for this repository and for the agents on this machine.

use std::collections::BTreeSet;
use std::path::Path;

use siglum_agents::{AGENTS, AgentSpec, InstallState, TELEMETRY, TelemetrySpec, TelemetryState};
use siglum_egress::EgressError;
use siglum_engine::record::import::{self, ImportableTranscript};
use siglum_gitstore::Repo;
use siglum_gitstore::hooks::{self, HookCondition};

use super::{Check, FIX, machine};
use crate::clock;
use crate::config::Config;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::home::repository_spool;
use crate::team::reader::{Reader, Right};
use crate::telemetry::settings::export;
use crate::ui;

/// Transcripts that are deleted sooner than this may be gone before they are read, in days.
const DAYS_FEW: u32 = 7;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How many directories of transcripts are shown.
const DIRECTORIES_SHOWN: usize = 3;
/// What the checks of gateways are about.
const AREA: &str = "gateway";

pub(super) fn checks(cx: &Cx) -> Vec<Check> {
    let mut checks = Vec::new();
    match cx.find_repo() {
        None => checks.push(Check::note(
            "repository",
            format!("{} is not inside a git repository", Cx::tilde(&cx.dir)),
        )),
        Some(repo) if !repo.is_on() => checks.push(off(cx, &repo)),
        Some(repo) => {
            let worktree = Cx::tilde(repo.worktree());
            checks.push(Check::ok(
                "repository",
                format!("Siglum is enabled in {worktree}"),
            ));
            checks.extend(git_hooks(cx, &repo));
            let spool = repository_spool(&repo.siglum_dir());
            checks.push(machine::spool("spool", "in this repository", &spool));
        }
    }
    let checkout = cx.find_repo();
    for agent in AGENTS {
        checks.extend(settings(cx, agent, checkout.as_ref()));
    }
    checks.extend(telemetry(cx));
    checks.extend(gateways(cx));
    checks
}

/// Whether the gateways answer that are read from here, and what their tokens allow.
fn gateways(cx: &Cx) -> Vec<Check> {
    let ledger = cx.has_ledger().then(|| cx.open_ledger().ok());
    match Reader::all(cx, ledger.flatten().as_mut()) {
        Ok(readers) => {
            let checks = readers.into_iter();
            checks
                .map(|reader| reader.map_or_else(no_token, |reader| gateway(&reader)))
                .collect()
        }
        Err(error) => vec![no_token(error)],
    }
}

fn no_token(error: CommandError) -> Check {
    let check = Check::problem(AREA, format!("{:#}", error.source));
    match error.hints.into_iter().next() {
        Some(hint) => check.remedy(hint),
        None => check,
    }
}

fn gateway(reader: &Reader) -> Check {
    let address = reader.address();
    match reader.right() {
        Ok(Right::Everything) => {
            let text = format!("{address} answers; the token reads commits, sessions and cost");
            Check::ok(AREA, text)
        }
        Ok(Right::Commits) => {
            let text = format!(
                "{address} answers; the token reads who made commits, not sessions and cost"
            );
            Check::ok(AREA, text)
        }
        Ok(Right::Nothing) => {
            let text = format!("{address} answers, but the token does not allow to read from it");
            // A token may be for sending alone.
            Check::note(AREA, text).remedy("To read, ask its operator for a token with that right.")
        }
        Err(error @ EgressError::Refused { .. }) => {
            Check::problem(AREA, error.to_string()).remedy("Ask its operator for another token.")
        }
        Err(error) => Check::note(AREA, error.to_string())
            .remedy("Cached answers are used for commits known only to the gateway."),
    }
}

/// Whether the agents that were told to send their telemetry still do.
fn telemetry(cx: &Cx) -> Vec<Check> {
    const AREA: &str = "telemetry";
    const AGAIN: &str =
        "Run `siglum init --telemetry` to restore them; it shows the changes first.";
    let (kept, export) = match export(cx) {
        Ok(Some(found)) => found,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Check::problem(AREA, format!("{:#}", error.source))],
    };
    let check = |spec: &TelemetrySpec| {
        let files = env::read_settings(spec.settings(&env::telemetry_dir(spec)));
        let state = files.and_then(|files| spec.inspect(&files, &export));
        let (title, gateway) = (spec.title, &kept.gateway);
        match state {
            Ok(TelemetryState::Current) => {
                Check::ok(AREA, format!("{title} sends its telemetry to {gateway}"))
            }
            Ok(TelemetryState::Drifted(lacking)) => Check::problem(
                AREA,
                format!(
                    "{title} should send its telemetry to {gateway}, but its settings have changed"
                ),
            )
            .details(lacking)
            .remedy(AGAIN),
            Ok(TelemetryState::Elsewhere(setting)) => Check::note(
                AREA,
                format!("{title} sends its telemetry elsewhere (`{setting}`)"),
            ),
            Err(error) => {
                Check::problem(AREA, error.to_string()).remedy("Repair the file by hand.")
            }
        }
    };
    let specs = TELEMETRY.iter().filter(|spec| kept.has(spec));
    specs.map(check).collect()
}

fn off(cx: &Cx, repo: &Repo) -> Check {
    let text = format!("Siglum is not enabled in {}", Cx::tilde(repo.worktree()));
    if cx.home.everywhere().exists() {
        let text = format!("{text}; sessions are recorded anyway, commits are not");
        return Check::note("repository", text).remedy("Run `siglum init` to enable it.");
    }
    Check::note("repository", text).remedy("Run `siglum init` to enable it.")
}

fn git_hooks(cx: &Cx, repo: &Repo) -> Vec<Check> {
    let site = match cx.hook_site(repo) {
        Ok(site) => site,
        Err(error) => return vec![Check::problem("git hooks", format!("{:#}", error.source))],
    };
    if let Some(obstacle) = site.obstacle() {
        let check = Check::problem("git hooks", obstacle.text());
        return vec![
            check.remedy("To record commits, change core.hooksPath, then run `siglum init`."),
        ];
    }
    let notes = hooks::advice(&site).into_iter();
    let mut checks: Vec<_> = notes.map(|note| Check::note("git hooks", note)).collect();
    if site.present_dir() != site.theirs_dir() {
        checks.push(Check::ok(
            "git hooks",
            format!(
                "siglum's hooks are in {} and call those in {}",
                Cx::tilde(&site.present_dir()),
                Cx::tilde(&site.theirs_dir())
            ),
        ));
    }
    let states = hooks::inspect(&site, &cx.home.shim());
    let all = states.len();
    let is_theirs = |state: HookCondition| {
        matches!(state, HookCondition::NotPassedOn | HookCondition::NotLinked)
    };
    let commits_are_seen = states
        .iter()
        .all(|hook| hook.state == HookCondition::Current || is_theirs(hook.state));
    let wrong: Vec<String> = states
        .into_iter()
        .filter_map(|hook| Some(format!("{} {}", hook.name, complaint(hook.state)?)))
        .collect();
    checks.push(if wrong.is_empty() {
        Check::ok("git hooks", format!("all {all} are installed"))
    } else {
        let problem = match commits_are_seen {
            true => "your own hooks are not called, or lack what they need",
            false => "commits are not recorded, or only in part",
        };
        Check::problem("git hooks", problem)
            .details(wrong)
            .remedy(FIX)
    });
    checks
}

const fn complaint(state: HookCondition) -> Option<&'static str> {
    match state {
        HookCondition::Current => None,
        HookCondition::Missing => Some("does not call siglum"),
        HookCondition::NotPassedOn => Some("is missing, so that yours does not run"),
        HookCondition::NotLinked => {
            Some("is not found beside siglum's hooks, where yours may look")
        }
        HookCondition::Outdated => Some(
            "has a damaged block, one of another version, or one that calls other hooks than yours by now",
        ),
        HookCondition::OtherShim => Some("calls another siglum"),
        HookCondition::NotExecutable => Some("is not executable"),
    }
}

fn settings(cx: &Cx, agent: &'static AgentSpec, checkout: Option<&Repo>) -> Vec<Check> {
    let dir = env::agent_dir(agent);
    let files = match env::settings_in(agent, checkout.map(Repo::worktree)) {
        Ok(files) => files,
        Err(error) => return vec![Check::problem(agent.name, error.to_string())],
    };
    if !dir.is_dir() && files.iter().all(|file| file.text.is_none()) {
        return vec![Check::note(
            agent.name,
            format!("{} has not been used here", agent.title),
        )];
    }
    let shown = Cx::tilde(&files[0].path);
    let state = (agent.inspect)(&files, &cx.home.shim().to_string_lossy());
    let hooks = match state {
        Ok(InstallState::Current) => Check::ok(agent.name, format!("all hooks are in {shown}")),
        Ok(InstallState::Missing) => Check::problem(
            agent.name,
            format!("{shown} has no hooks, so sessions are not recorded while they run"),
        )
        .remedy("Run `siglum init` to add them; it shows the changes first."),
        Ok(InstallState::Partial(events)) => Check::problem(
            agent.name,
            format!("hooks are missing in {shown}: {}", events.join(", ")),
        )
        .remedy("Run `siglum init` to add them; it shows the changes first."),
        Ok(InstallState::OtherShim(program)) => Check::problem(
            agent.name,
            format!("the hooks in {shown} call another program: {program}"),
        )
        .remedy("Run `siglum init` to correct them; it shows the changes first."),
        Ok(InstallState::Untrusted(events)) => Check::problem(
            agent.name,
            format!(
                "{} silently skips hooks in {shown} that are not trusted or are disabled: {}",
                agent.title,
                events.join(", ")
            ),
        )
        .remedy("Run `siglum init` to trust them (it shows the changes first), or use `/hooks` in the agent."),
        Ok(InstallState::SwitchedOff { setting, path }) => Check::problem(
            agent.name,
            format!(
                "`{setting}` in {} prevents {} from running siglum's hooks",
                Cx::tilde(&path),
                agent.title
            ),
        )
        .remedy("To record sessions, change the setting by hand; siglum does not change it."),
        Err(error) => {
            Check::problem(agent.name, error.to_string()).remedy("Repair the file by hand.")
        }
    };
    let mut checks = vec![hooks];
    if let Some(days) = (agent.retention_days)(&files) {
        checks.push(retention(agent, days));
        checks.extend(deleted_soon(cx, agent, days, checkout));
    }
    checks
}

/// How long the agent keeps what Siglum has not read yet.
fn retention(agent: &AgentSpec, days: u32) -> Check {
    let text = format!(
        "{} deletes transcripts after {}; Siglum keeps its redacted copy",
        agent.title,
        ui::plural(u64::from(days), "day")
    );
    if days < DAYS_FEW {
        Check::note("transcripts", text).remedy("Run `siglum import --all` to import them now.")
    } else {
        Check::ok("transcripts", text)
    }
}

/// The transcripts that the agent deletes soon, or with its next start, and that are not in the ledger yet. Those of
/// repositories in which nothing is recorded are meant to go.
fn deleted_soon(
    cx: &Cx,
    agent: &'static AgentSpec,
    days: u32,
    checkout: Option<&Repo>,
) -> Option<Check> {
    let mut ledger = cx.has_ledger().then(|| cx.open_ledger().ok()).flatten()?;
    let days_left = i64::from(days.saturating_sub(DAYS_FEW));
    let until = clock::now().plus_millis(-days_left * DAY_MS);
    let all = import::unread_since(&mut ledger, agent, &env::agent_dir(agent), until);
    let mut all = all.ok()?;
    all.retain(|found| {
        let worktree = found.place.as_ref().map(|place| Path::new(&place.worktree));
        worktree.is_none_or(|worktree| Config::load(Some(worktree)).records())
    });
    let oldest = all.iter().map(ImportableTranscript::modified).min()?;
    let text = format!(
        "{} deletes {} within {} that {} not archived yet; the oldest was last written at {}",
        agent.title,
        ui::plural(all.len() as u64, "transcript"),
        ui::plural(u64::from(DAYS_FEW.min(days)), "day"),
        if all.len() == 1 { "is" } else { "are" },
        ui::when(oldest),
    );
    let is_here = |found: &ImportableTranscript| {
        let here = checkout.map(|repo| repo.place.common_dir.as_str());
        here.is_some() && found.place.as_ref().map(|p| p.common_dir.as_str()) == here
    };
    let command = match all.iter().all(is_here) {
        true => "siglum import",
        false => "siglum import --all",
    };
    let dirs: BTreeSet<&str> = all.iter().map(|found| found.cwd.as_str()).collect();
    let shown = dirs.iter().take(DIRECTORIES_SHOWN);
    let shown = shown.map(|dir| Cx::tilde(Path::new(dir)));
    let more = dirs.len().saturating_sub(DIRECTORIES_SHOWN);
    let more = (more > 0).then(|| format!("and {more} more directories"));
    Some(
        Check::note("transcripts", text)
            .details(shown.chain(more))
            .remedy(format!("Run `{command}` to archive them.")),
    )
}
