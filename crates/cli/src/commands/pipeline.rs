//! `siglum pipeline`: what happened in a pipeline, recorded and seen.

pub mod export;
pub mod list;
pub mod record;
pub mod show;
mod watch;

use std::process::ExitCode;

use siglum_domain::pipeline::Graph;
use siglum_engine::views::pipeline::{self, Drawing, GraphJson, draw};

use crate::cx::Cx;
use crate::error::CommandError;

/// Record the progress of a pipeline and show it as a graph
///
/// A pipeline is identified by the id that its sessions are linked to (`siglum run --pipeline ID`). These commands
/// record the facts that only its runner knows: phases, contracts, reviews, checks. They start, stop and block
/// nothing.
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  Draw a pipeline and redraw it on every change
    siglum pipeline show issue-42 --watch

  Record that a phase starts
    siglum pipeline phase start issue-42 implement")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Export(export::Args),
    Plan(record::Plan),
    #[command(subcommand)]
    Phase(record::Phase),
    Check(record::Check),
    Review(record::Review),
    Contract(record::Contract),
    End(record::End),
}

pub fn run(command: &Command, cx: &Cx) -> Result<ExitCode, CommandError> {
    let done = match command {
        Command::Show(args) => return show::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Export(args) => export::run(args, cx),
        Command::Plan(args) => record::plan(args, cx),
        Command::Phase(command) => record::phase(command, cx),
        Command::Check(args) => record::check(args, cx),
        Command::Review(args) => record::review(args, cx),
        Command::Contract(args) => record::contract(args, cx),
        Command::End(args) => record::end(args, cx),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// How a graph is shown here.
pub struct Look<'a> {
    pub cx: &'a Cx,
    ascii: bool,
}

impl Look<'_> {
    /// Writes it as the answer.
    pub fn print(&self, graph: &Graph) -> Result<(), CommandError> {
        if self.cx.ui.json {
            return self.cx.ui.json(show::SCHEMA, GraphJson::from(graph));
        }
        for line in self.lines(graph) {
            self.cx.ui.line(line)?;
        }
        Ok(())
    }

    /// The drawing, line by line, in colours if there are any.
    pub fn lines(&self, graph: &Graph) -> Vec<String> {
        let style = pipeline::Style {
            ascii: self.ascii,
            width: self.cx.ui.width(),
        };
        self.painted(&draw(graph, &style))
    }

    fn painted(&self, drawing: &Drawing) -> Vec<String> {
        let paint = |piece: &pipeline::Piece| match show::tone(piece.tone) {
            Some(style) => self.cx.ui.paint(style, &piece.text),
            None => piece.text.clone(),
        };
        let line = |line: &Vec<pipeline::Piece>| {
            let whole: String = line.iter().map(paint).collect();
            whole.trim_end().to_owned()
        };
        drawing.lines.iter().map(line).collect()
    }
}
