//! The command line.

use std::path::PathBuf;

pub(crate) const HELP: &str = "\
cargo xtask bench [ROW]... [OPTIONS]

Rows (all of them if none is named)
  hooks      agent hooks against an empty process, with old sessions and long transcripts
  commits    git commit against git commit with hooks that do nothing; processor time of commit, amend and rebase
  messages   four who commit at once in one checkout: how many commits get the message of another one
  edits      300 edits of a 309 KB file: bytes on disk, time of each hook
  import     a transcript of 100 MB: speed, memory, size of the ledger
  search     search over 1 GB of transcripts of all agents: planted needles, time and memory of a whole process, warm and
             cold, beside ripgrep where it is; size of the index; what is left of a needle that was forgotten
  queries    why, log and status on 10,000 sessions
  growth     hooks, git commit and commands with 0, 100, 500 and 10,000 old sessions side by side
  turns      durable turns by the API against the same rows inserted by hand, behind 10 to 100,000 events
  reopen     a session of 1,000,000 events whose driver is killed in mid-turn: opened, settled, answered
  gateway    turns through the gateway over 32 connections: a second, processor, memory; two of them, one killed;
             on PostgreSQL, too, where SIGLUM_TEST_PG names a server
  ingest     spans of agents in batches of 512 to the gateway and to Phoenix: a second, until they can be seen, processor,
             memory; without Phoenix where SIGLUM_BENCH_PHOENIX does not name its program
  size       size of the program in packages; with --cold, from clone to first answer
  corpus     import of 10 GB of transcripts of all agents in 20,000 sessions: speed, memory, size of ledger and index; killed
             twenty times on the way; a second import. Only where it is named: it takes an hour and 30 GB
  million    lists, cost, search and single answers on 1,000,000 sessions in PostgreSQL, where SIGLUM_TEST_PG names a server,
             and on 100,000 there and in SQLite; bytes of an event. Only where it is named: it takes an hour

Options
  --quick    fewer rounds, 1,000 sessions, 20 MB; `corpus`: 50 MB in 300 sessions
  --json     print one JSON object
  --report   exit 0 even if a bound is exceeded
  --cold     build a fresh clone with nothing built (minutes)
  --sessions N
             how many sessions `million` has at most, and how many `corpus` and `search` have
  --megabytes N
             how much `corpus` and `search` write
  --write-corpus DIR
             write the corpus into a directory, as the home of a user, and measure nothing
  --help     print this

Environment
  SIGLUM_BIN the program to measure; default: the one beside this program
  SIGLUM_BENCH_PHOENIX
             the program of Phoenix; `cargo xtask bench ingest` installs it and names it
  TMPDIR     where repositories and ledgers are made; the disk that is measured";

/// Rows that run only where they are named.
const BY_HAND: &[&str] = &["corpus", "million"];

/// What the person wants.
pub(crate) enum Wish {
    Help,
    Bench(Args),
    /// Write a corpus into a directory.
    Corpus(PathBuf, Args),
    /// Import the transcripts of a home, then tell what it took. For the bench itself.
    Import(PathBuf),
    /// Drive a session until killed. For the bench itself.
    Drive(PathBuf, String),
    /// Go on with a session whose driver was killed, and tell how long it took. For the bench itself.
    Reopen(PathBuf),
    /// Be a client of a gateway, as the input says. For the bench itself.
    Load,
    /// Send spans, as the input says. For the bench itself.
    Spans,
}

/// How to run.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    rows: Vec<String>,
    pub(crate) quick: bool,
    pub(crate) json: bool,
    pub(crate) report: bool,
    pub(crate) cold: bool,
    /// How many sessions there are at most, where a row has very many.
    pub(crate) sessions: Option<usize>,
    /// How much a corpus has.
    pub(crate) megabytes: Option<usize>,
}

impl Args {
    /// Reads the command line; these are the names of the rows.
    pub(crate) fn parse(
        words: impl Iterator<Item = String>,
        rows: &[&str],
    ) -> Result<Wish, String> {
        let mut args = Self::default();
        let mut corpus = None;
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => args.quick = true,
                "--json" => args.json = true,
                "--report" => args.report = true,
                "--cold" => args.cold = true,
                "--sessions" => args.sessions = Some(number(&word, words.next())?),
                "--megabytes" => args.megabytes = Some(number(&word, words.next())?),
                "--write-corpus" => {
                    corpus = Some(words.next().ok_or("--write-corpus needs a directory")?);
                }
                "--help" | "-h" | "help" => return Ok(Wish::Help),
                "--import-here" => {
                    let home = words.next().ok_or("--import-here needs a directory")?;
                    return Ok(Wish::Import(home.into()));
                }
                "--drive-here" => {
                    let dir = words.next().ok_or("--drive-here needs a directory")?;
                    return Ok(Wish::Drive(dir.into(), words.next().unwrap_or_default()));
                }
                "--reopen-here" => {
                    let dir = words.next().ok_or("--reopen-here needs a directory")?;
                    return Ok(Wish::Reopen(dir.into()));
                }
                "--load-here" => return Ok(Wish::Load),
                "--spans-here" => return Ok(Wish::Spans),
                row if rows.contains(&row) => args.rows.push(word),
                other => return Err(format!("there is no row and no option `{other}`")),
            }
        }
        Ok(match corpus {
            Some(dir) => Wish::Corpus(dir.into(), args),
            None => Wish::Bench(args),
        })
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        match self.rows.is_empty() {
            true => !BY_HAND.contains(&row),
            false => self.rows.iter().any(|r| r == row),
        }
    }
}

/// The number behind an option.
fn number(option: &str, word: Option<String>) -> Result<usize, String> {
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("{option} needs a number"))
}
