//! `siglum man`: manual pages, from the same definitions as the help.

use std::path::PathBuf;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::commands::cli::Cli;
use crate::cx::Cx;
use crate::error::CommandError;

/// Print the manual page, or write the pages of all commands
///
/// To read it: `siglum man | man -l -`.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_long_help = "\
Examples:
  Print the manual page
    siglum man

  Write one page per command, for a package
    siglum man --to /usr/local/share/man/man1")]
pub struct Args {
    /// Write siglum.1, siglum-why.1 and so on to this existing directory
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let command = Cli::command();
    if let Some(dir) = &args.to {
        return clap_mangen::generate_to(command, cx.dir.join(dir)).map_err(CommandError::at(dir));
    }
    let mut page = Vec::new();
    // Nothing can go wrong: it is written into memory.
    let _ = Man::new(command).render(&mut page);
    cx.ui.block(String::from_utf8_lossy(&page).trim_end())
}
