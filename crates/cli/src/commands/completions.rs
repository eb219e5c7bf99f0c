//! `siglum completions`: what a shell needs to complete command lines.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::cx::Cx;
use crate::error::CommandError;

/// Print completions for a shell
///
/// For bash: `siglum completions bash > ~/.local/share/bash-completion/completions/siglum`.
/// For zsh: put the output into a file `_siglum` in a directory of `$fpath`.
/// For fish: `siglum completions fish > ~/.config/fish/completions/siglum.fish`.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "siglum", &mut script);
    cx.ui.block(String::from_utf8_lossy(&script).trim_end())
}
