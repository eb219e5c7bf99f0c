//! `siglum pipeline show`.

use std::process::ExitCode;

use siglum_engine::views::pipeline::{self, Tone};

use super::{Look, watch};
use crate::commands::cost;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::store;
use crate::ui::Style;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.pipeline.show/1";

/// Draw a pipeline: phases, sessions, checks, reviews and totals
///
/// Phases appear in order, sessions in waves. Running items have a heavy border. Sessions side by side ran at the
/// same time; those below an arrow started later.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Draw a pipeline
    siglum pipeline show issue-42

  Redraw it on every change until it ends
    siglum pipeline show issue-42 --watch")]
pub struct Args {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Redraw on every change until the pipeline has ended
    #[arg(long)]
    watch: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<ExitCode, CommandError> {
    let mut ledger = store::open(cx)?;
    let look = Look {
        ascii: args.ascii || !is_unicode(),
        cx,
    };
    let world = cx.world()?;
    let prices = cost::prices()?;
    let mut ask = || Ok(pipeline::graph(&world, ledger.as_mut(), &args.id, &prices)?);
    if args.watch {
        return watch::watch(&look, &mut ask);
    }
    look.print(&ask()?)?;
    Ok(ExitCode::SUCCESS)
}

/// How a tone looks here.
pub const fn tone(tone: Tone) -> Option<Style> {
    match tone {
        Tone::Plain => None,
        Tone::Title => Some(Style::Heading),
        Tone::Good => Some(Style::Added),
        Tone::Bad => Some(Style::Removed),
        Tone::Live => Some(Style::Agent),
        Tone::Warning => Some(Style::Warning),
        Tone::Dim => Some(Style::Dim),
    }
}

/// Whether the language settings name a character set that has more than ASCII; where nothing is set, it has.
fn is_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(env::text);
    set.is_none_or(|set| {
        let set = set.to_ascii_lowercase();
        set.contains("utf-8") || set.contains("utf8")
    })
}
