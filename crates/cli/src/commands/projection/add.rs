//! `siglum projection add`.

use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use siglum_domain::link::SECRET_RULE;
use siglum_domain::redact::Redactor;
use siglum_engine::share::project;
use siglum_ledger::{Projection, read};

use super::{SEARCH, SUMMARIES};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::{KindsArg, ReachJson, ScopeArgs, ScopeJson, Shown};
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.add/1";
/// The longest name.
const NAME_MOST: usize = 64;

/// Add a directory or program that receives sealed turns
///
/// Delivers the sealed turns of the sessions in its scope, past and future. The scope is the repository of the
/// current directory unless flags say otherwise; `siglum projection scope` changes it later.
///
/// A directory gets one file per session, with one line per receipt. A program is run by the shell once per receipt,
/// with that line on stdin; exit code 65 rejects the receipt, and any other nonzero exit code causes a retry.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("target").required(true)))]
#[command(override_usage = "\
siglum projection add [OPTIONS] --directory <DIR> <NAME>
       siglum projection add [OPTIONS] --program <COMMAND> <NAME>")]
#[command(after_long_help = "\
Examples:
  Write the sessions of this repository to a directory
    siglum projection add copies --directory ~/copies

  Run a program for each receipt, without conversations
    siglum projection add hook --program ./deliver.sh --kinds verdicts")]
pub struct Args {
    /// Name of the projection: up to 64 of a-z, 0-9 and -
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Directory to write to
    #[arg(long, value_name = "DIR", group = "target")]
    directory: Option<PathBuf>,
    /// Shell command to run for each receipt
    #[arg(long, value_name = "COMMAND", group = "target")]
    program: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    kinds: KindsArg,
    /// Show the scope with its counts, without writing or sending anything
    #[arg(long)]
    dry_run: bool,
}

pub fn name(text: &str) -> Result<String, String> {
    let is_good = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if text.is_empty() || text.len() > NAME_MOST || !text.bytes().all(is_good) {
        return Err(format!("must be 1 to {NAME_MOST} of a-z, 0-9 and -"));
    }
    if [SUMMARIES, SEARCH].contains(&text) {
        return Err(format!("`{text}` is reserved for the ledger's own tables"));
    }
    if Redactor::shared().has_secret(text) {
        return Err(SECRET_RULE.to_owned());
    }
    Ok(text.to_owned())
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    /// `directory` or `program`.
    kind: String,
    target: String,
    /// Whether it was there before, just so.
    before: bool,
    /// Whether it was only looked, and nothing was written.
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeJson>,
    reach: ReachJson,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (kind, target) = match (&args.directory, &args.program) {
        (Some(dir), _) => ("directory", directory(cx, dir)?),
        (None, Some(command)) => ("program", program(command)?),
        (None, None) => return Err(CommandError::usage("no directory or program given")),
    };
    // Whoever may write to the store would run programs on the machines of gateways, and each has directories of its own.
    store::refuse_server(
        "projection add",
        "On a server, gateways deliver to OTLP endpoints: `siglum otel add` adds one.",
    )?;
    let mut ledger = store::open(cx)?;
    let known = read(&mut ledger, |tx| tx.projections())?;
    let before = is_there(&known, &args.name, kind, &target)?;
    let scoped = known.iter().find(|p| p.name == args.name);
    let scoped = scoped.and_then(|p| p.scope.as_ref());
    let scope = args.scope.resolve(cx, &mut ledger, scoped, args.kinds)?;
    let world = cx.world()?;
    if !args.dry_run {
        if !before || scoped != Some(&scope) {
            project::add(&world, &mut ledger, &args.name, kind, &target, &scope)?;
        }
        store::start_worker(cx);
    }
    let planned = Projection {
        name: args.name.clone(),
        kind: kind.to_owned(),
        target: target.clone(),
        at: world.now(),
        scope: Some(scope),
    };
    let shown = Shown::planned(&mut ledger, &planned)?;
    if cx.ui.json {
        let (scope, reach) = shown.json();
        let answer = Json {
            name: args.name.clone(),
            kind: kind.to_owned(),
            target,
            before,
            dry_run: args.dry_run,
            scope,
            reach,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.status(match (args.dry_run, before) {
        (true, false) => format!("Would add projection {}; nothing was written.", args.name),
        (true, true) => format!(
            "Projection {} already exists; nothing was written.",
            args.name
        ),
        (false, true) => format!("Projection {} already exists.", args.name),
        (false, false) => format!("Added projection {}.", args.name),
    });
    cx.ui.status(format!("Scope: {}.", shown.text()));
    Ok(())
}

/// Whether this projection is there already, just so.
fn is_there(
    known: &[Projection],
    name: &str,
    kind: &str,
    target: &str,
) -> Result<bool, CommandError> {
    if let Some(other) = known.iter().find(|p| p.name == name) {
        if (other.kind.as_str(), other.target.as_str()) == (kind, target) {
            return Ok(true);
        }
        return Err(CommandError::failed(format!(
            "`{name}` is another projection: {} {}",
            other.kind, other.target
        ))
        .hint(format!(
            "Run `siglum projection remove {name}` first, or choose another name."
        )));
    }
    let twice = |p: &&Projection| kind == "directory" && p.kind == kind && p.target == target;
    match known.iter().find(twice) {
        Some(other) => Err(CommandError::failed(format!(
            "projection `{}` already writes to {target}",
            other.name
        ))),
        None => Ok(false),
    }
}

fn program(command: &str) -> Result<String, CommandError> {
    if command.trim().is_empty() || command.contains('\0') {
        return Err(CommandError::usage("`--program` is not a command"));
    }
    Ok(command.to_owned())
}

/// The directory as the worker finds it from wherever it runs.
fn directory(cx: &Cx, dir: &Path) -> Result<String, CommandError> {
    if dir.as_os_str().is_empty() {
        return Err(CommandError::usage("`--directory` is empty"));
    }
    let whole = real(&cx.dir.join(dir));
    let shown = whole.display();
    if whole.starts_with(real(cx.home.dir())) {
        return Err(CommandError::usage(format!(
            "{shown} is inside Siglum's own home"
        )));
    }
    if whole.exists() && !whole.is_dir() {
        return Err(CommandError::usage(format!("{shown} is not a directory")));
    }
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| CommandError::usage(format!("{shown} is not UTF-8")))
}

/// A path without links and dots, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
        plain = plain.canonicalize().unwrap_or(plain);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_to_its_grammar() {
        for text in ["a", "snapshots-2", &"x".repeat(64)] {
            assert_eq!(name(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "A",
            "a b",
            "a_b",
            "../x",
            "ä",
            "summaries",
            &"x".repeat(65),
        ] {
            assert!(name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn links_and_dots_hide_no_directory() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap().join("home");
        std::fs::create_dir(&home).unwrap();
        std::os::unix::fs::symlink(&home, root.path().join("link")).unwrap();
        for way in ["home/x/y", "link/x", "other/../home", "link/../home/./x"] {
            let path = real(&root.path().join(way));
            assert!(path.starts_with(&home), "{way}: {path:?}");
        }
        assert!(!real(&root.path().join("home-2")).starts_with(&home));
    }
}
