//! The command line.

use std::path::PathBuf;

use crate::constructions::CONSTRUCTIONS;

pub(crate) const HELP: &str = "\
siglum-truth [OPTIONS]

Plays commits whose maker is known from outside, and compares what `siglum why` says of them.

Options
  --cases N       how many cases to play; default: 2000
  --seed N        what decides each story; default: 1
  --from N        the number of the first case, to play some again; default: 0
  --only NAME     one construction only; may be given several times
  --jobs N        worlds at a time; default: twice the processors
  --block N       cases in one world, one after the other; default: 40
  --program PATH  the siglum to judge; default: $SIGLUM_BIN, else the one beside this program
  --story         print the story of each case, whatever comes of it
  --json          print the table as JSON
  --help          print this

Exit code 1: a statement was false, or a case could not be played.";

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) cases: u64,
    pub(crate) seed: u64,
    pub(crate) from: u64,
    pub(crate) only: Vec<String>,
    pub(crate) jobs: usize,
    pub(crate) block: u64,
    pub(crate) program: PathBuf,
    pub(crate) story: bool,
    pub(crate) json: bool,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let mut options = Self {
            cases: 2000,
            seed: 1,
            from: 0,
            only: Vec::new(),
            jobs: processors * 2,
            block: 40,
            program: PathBuf::new(),
            story: false,
            json: false,
        };
        let mut arguments = arguments;
        while let Some(flag) = arguments.next() {
            match flag.as_str() {
                "--story" => options.story = true,
                "--json" => options.json = true,
                "--help" | "-h" => return Err(String::new()),
                _ => {
                    let value = arguments
                        .next()
                        .ok_or_else(|| format!("{flag} needs a value"))?;
                    options.set(&flag, value)?;
                }
            }
        }
        if options.program.as_os_str().is_empty() {
            options.program = default_program()?;
        }
        if !options.program.is_file() {
            let program = options.program.display();
            return Err(format!("there is no program at {program}: build it first"));
        }
        let program = options.program.canonicalize();
        options.program = program.map_err(|e| e.to_string())?;
        Ok(options)
    }

    fn set(&mut self, flag: &str, value: String) -> Result<(), String> {
        let number = || -> Result<u64, String> {
            let wrong = |_| format!("{flag} needs a number, not {value:?}");
            value.parse::<u64>().map_err(wrong)
        };
        match flag {
            "--cases" => self.cases = number()?,
            "--seed" => self.seed = number()?,
            "--from" => self.from = number()?,
            "--block" => self.block = number()?.max(1),
            "--jobs" => self.jobs = usize::try_from(number()?.max(1)).unwrap_or(1),
            "--program" => self.program = PathBuf::from(value),
            "--only" => {
                if !CONSTRUCTIONS.iter().any(|c| c.name == value) {
                    let names: Vec<_> = CONSTRUCTIONS.iter().map(|c| c.name).collect();
                    return Err(format!("{value:?} is none of {}", names.join(", ")));
                }
                self.only.push(value);
            }
            _ => return Err(format!("unknown argument {flag}")),
        }
        Ok(())
    }
}

fn default_program() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("SIGLUM_BIN") {
        return Ok(PathBuf::from(path));
    }
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(own.with_file_name("siglum"))
}
