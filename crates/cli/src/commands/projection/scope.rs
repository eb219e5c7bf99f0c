//! `siglum projection scope`.

use serde::Serialize;
use siglum_engine::share::project;
use siglum_ledger::read;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::{KindsArg, ReachJson, ScopeArgs, ScopeJson, Shown, scoped};
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.scope/1";

/// Show or change which sessions are sent to a projection
///
/// A session is in scope if all repositories that it works in are, and if it began late enough. A repository in which
/// Siglum is enabled later is out of scope until it is added here. Sessions that were held back are sent once
/// they are in scope; data that was sent before stays where it is.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the scope of a projection
    siglum projection scope team

  Show the effect of adding a repository (dry run)
    siglum projection scope team --add ../api --dry-run")]
pub struct Args {
    /// Name of the projection
    #[arg(value_name = "NAME")]
    name: String,
    /// Add a repository: a path inside it, or its id
    #[arg(long, value_name = "PATH|ID", conflicts_with_all = ["repository", "all_repositories"])]
    add: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    kinds: KindsArg,
    /// Show the resulting scope with its counts, without writing or sending anything
    #[arg(long)]
    dry_run: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    /// Whether it was only looked, and nothing was written.
    dry_run: bool,
    /// What may leave; absent where no scope is chosen, and nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeJson>,
    reach: ReachJson,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let mut projection = super::named(&mut ledger, &args.name)?;
    if !args.add.is_empty() || args.scope.is_given(args.kinds) {
        let added = scoped(cx, &mut ledger, &args.add)?;
        let before = projection.scope.clone();
        let before = match added.is_empty() {
            true => before,
            false => {
                let mut scope = before.unwrap_or_default();
                scope.repositories.extend(added);
                Some(scope)
            }
        };
        let scope = args
            .scope
            .resolve(cx, &mut ledger, before.as_ref(), args.kinds)?;
        if !args.dry_run {
            let (kind, target) = (&projection.kind, &projection.target);
            project::add(&*cx.world()?, &mut ledger, &args.name, kind, target, &scope)?;
            store::start_worker(cx);
        }
        projection.scope = Some(scope);
    }
    let shown = match args.dry_run {
        true => Shown::planned(&mut ledger, &projection)?,
        false => read(&mut ledger, |tx| {
            Shown::new(tx, &args.name, projection.scope.as_ref())
        })?,
    };
    if cx.ui.json {
        let (scope, reach) = shown.json();
        let answer = Json {
            name: projection.name,
            dry_run: args.dry_run,
            scope,
            reach,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui
        .paragraph(0, format!("{}: {}", args.name, shown.text()))
}
