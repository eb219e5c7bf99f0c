//! An agent that is run once, by its own headless mode: it reads its prompt, and writes a record of what it does in each
//! line. It names its native session in the first one, so that it is told its prompt as it begins.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use siglum_domain::NativeId;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::claude_code::Records;
use super::error::{AgentError, Refused};
use super::lines::next_message;
use super::{AgentMessage, Answer, BEGIN, Opening, WAITING};
use crate::runs::process::{Process, Start, Tail};

/// How long an agent that told its result may take to end by itself.
const LINGER: Duration = Duration::from_secs(10);

/// How a run of its program ended, as an answer to its prompt.
type Outcome = Result<Value, Refused>;

/// An agent that is run once.
pub(crate) struct Headless {
    process: Process,
    pub(super) messages: mpsc::Receiver<AgentMessage>,
    tail: Arc<Tail>,
    native: Option<NativeId>,
    model: Option<String>,
    /// What it is told by, and what listens to it, until it has its prompt.
    pipes: Option<(ChildStdin, Listener)>,
    outcome: Option<oneshot::Receiver<Outcome>>,
    cancelled: Arc<AtomicBool>,
}

impl Headless {
    /// Starts its program, which waits for its prompt.
    pub(super) fn start(start: Start<'_>) -> Result<Self, AgentError> {
        let program = start.program.to_owned();
        let (process, stdin, stdout) =
            Process::start(start).map_err(|error| AgentError::not_started(&program, &error))?;
        let (tell, messages) = mpsc::channel(WAITING);
        let (tell_outcome, outcome) = oneshot::channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let listener = Listener {
            from: BufReader::new(stdout),
            tail: process.stderr_tail(),
            tell,
            outcome: tell_outcome,
            cancelled: Arc::clone(&cancelled),
        };
        Ok(Self {
            tail: process.stderr_tail(),
            process,
            messages,
            native: None,
            model: None,
            pipes: Some((stdin, listener)),
            outcome: Some(outcome),
            cancelled,
        })
    }

    /// Tells it the prompt, and waits until it names its native session.
    pub(super) async fn open(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        let code = match opening.native {
            Some(_) => "cannot-resume",
            None => "agent-not-ready",
        };
        let gone = || AgentError::new("agent-not-ready", "the agent already has its prompt");
        let (stdin, listener) = self.pipes.take().ok_or_else(gone)?;
        let (begin, begun) = oneshot::channel();
        tokio::spawn(tell(stdin, opening.blocks.join("\n\n")));
        tokio::spawn(listener.listen(begin));
        match timeout(BEGIN, begun).await {
            Ok(Ok((native, model))) => {
                self.native = Some(native);
                self.model = model;
                Ok(())
            }
            // It ended before.
            Ok(Err(_)) => {
                let outcome = match self.outcome.take() {
                    Some(outcome) => outcome.await.ok().and_then(Result::err),
                    None => None,
                };
                let refused =
                    outcome.unwrap_or_else(|| Refused::new("the agent exited immediately"));
                let text = self.refused(code, &refused).await.text;
                Err(AgentError::new(code, text))
            }
            Err(_) => {
                let text = format!("the agent named no session in {} s", BEGIN.as_secs());
                Err(AgentError::new("agent-not-ready", self.tail.after(&text)))
            }
        }
    }

    pub(super) const fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) const fn native(&self) -> Option<&NativeId> {
        self.native.as_ref()
    }

    pub(super) fn model(&self) -> Option<String> {
        self.model.clone()
    }

    pub(super) fn lives(&self) -> bool {
        !self.messages.is_closed() && siglum_platform::process(self.pid()).is_some()
    }

    /// What comes of the prompt that it was told.
    pub(super) fn answer(&mut self) -> Result<Answer, AgentError> {
        let gone = || AgentError::new("agent-died", "the agent accepts only one prompt");
        let outcome = self.outcome.take().ok_or_else(gone)?;
        Ok(Box::pin(async move {
            let lost = |_| Err(Refused::new("the run no longer listens to the agent"));
            outcome.await.unwrap_or_else(lost)
        }))
    }

    /// Ends it, with all below it.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        siglum_platform::tree::end(self.pid());
    }

    /// What a refusal comes to, with its last words.
    pub(super) async fn refused(&mut self, code: &'static str, refused: &Refused) -> AgentError {
        self.process.hear_out().await;
        let code = refused.code.unwrap_or(code);
        AgentError::new(code, self.tail.after(&refused.text))
    }
}

async fn tell(mut stdin: ChildStdin, prompt: String) {
    // One that is gone is found out otherwise; the prompt ends with its pipe.
    let _ = stdin.write_all(prompt.as_bytes()).await;
    let _ = stdin.shutdown().await;
}

/// Listens to what a program writes, until it ends.
struct Listener {
    from: BufReader<ChildStdout>,
    tail: Arc<Tail>,
    tell: mpsc::Sender<AgentMessage>,
    outcome: oneshot::Sender<Outcome>,
    cancelled: Arc<AtomicBool>,
}

impl Listener {
    async fn listen(mut self, begin: oneshot::Sender<(NativeId, Option<String>)>) {
        let (mut records, mut begin) = (Records::default(), Some(begin));
        while let Some(record) = self.next(&records).await {
            let updates = records.take(&record);
            if let Some(native) = records.native()
                && let Some(begin) = begin.take()
            {
                // Whoever waited may have gone.
                let _ = begin.send((native.clone(), records.model()));
            }
            for update in updates {
                let _ = self.tell.send(AgentMessage::Update(update)).await;
            }
        }
        // It may have been done before it was ended.
        let is_cut = self.cancelled.load(Ordering::Acquire) && !records.has_result();
        // What was told is looked at before.
        let _ = self.outcome.send(match is_cut {
            true => Ok(records.cancelled()),
            false => records.ended(),
        });
    }

    /// The next record; none when the program is done, or takes too long to end.
    async fn next(&mut self, records: &Records) -> Option<Value> {
        let done = records.has_result();
        let lingers = async move {
            match done {
                true => sleep(LINGER).await,
                false => pending().await,
            }
        };
        let next = async {
            loop {
                let line = next_message(&mut self.from, &self.tail).await?.ok()?;
                match serde_json::from_str(&line) {
                    Ok(record) => return Some(record),
                    Err(_) => self.tail.take(&line),
                }
            }
        };
        tokio::select! {
            record = next => record,
            () = lingers => None,
        }
    }
}
