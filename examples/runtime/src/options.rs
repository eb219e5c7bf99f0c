//! What the person asked for on the command line.

use std::path::PathBuf;

const USAGE: &str = "runtime --ledger FILE [--conversation NAME] [--issue N] [--turns N] [--once] \
[--documents DIR] [--snapshots DIR] [--crash-after STEP[:TURN]]
STEP is prompt, call, result, answer, stop or commit";

/// The steps of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Prompt,
    Call,
    Result,
    Answer,
    Stop,
    Commit,
}

const STEPS: &[Step] = &[
    Step::Prompt,
    Step::Call,
    Step::Result,
    Step::Answer,
    Step::Stop,
    Step::Commit,
];

impl Step {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Call => "call",
            Self::Result => "result",
            Self::Answer => "answer",
            Self::Stop => "stop",
            Self::Commit => "commit",
        }
    }
}

pub struct Options {
    pub ledger: PathBuf,
    pub conversation: String,
    pub issue: Option<u64>,
    pub turns: u64,
    /// One turn, and then leave.
    pub once: bool,
    /// The runtime's own store.
    pub documents: Option<PathBuf>,
    /// Where the snapshot sink writes.
    pub snapshots: Option<PathBuf>,
    crash: Option<(Step, u64)>,
}

impl Options {
    pub fn read() -> Result<Self, String> {
        let mut options = Self {
            ledger: PathBuf::new(),
            conversation: "example".to_owned(),
            issue: None,
            turns: 3,
            once: false,
            documents: None,
            snapshots: None,
            crash: None,
        };
        let mut args = std::env::args().skip(1);
        while let Some(flag) = args.next() {
            if flag == "--once" {
                options.once = true;
                continue;
            }
            let value = args.next().ok_or(USAGE)?;
            match flag.as_str() {
                "--ledger" => options.ledger = value.into(),
                "--conversation" => options.conversation = value,
                "--issue" => options.issue = Some(value.parse().map_err(|_| USAGE)?),
                "--turns" => options.turns = value.parse().map_err(|_| USAGE)?,
                "--documents" => options.documents = Some(value.into()),
                "--snapshots" => options.snapshots = Some(value.into()),
                "--crash-after" => options.crash = Some(crash(&value).ok_or(USAGE)?),
                _ => return Err(USAGE.to_owned()),
            }
        }
        match options.ledger.as_os_str().is_empty() {
            true => Err(USAGE.to_owned()),
            false => Ok(options),
        }
    }

    /// Dies like a process that is killed, where the person asked for it.
    pub fn crash(&self, turn: u64, step: Step) {
        if self.crash == Some((step, turn)) {
            println!("crashed");
            std::process::abort();
        }
    }
}

/// `STEP` of the second turn, or `STEP:TURN`.
fn crash(text: &str) -> Option<(Step, u64)> {
    let (word, turn) = text.split_once(':').unwrap_or((text, "2"));
    let step = STEPS.iter().find(|s| s.word() == word)?;
    Some((*step, turn.parse().ok()?))
}
