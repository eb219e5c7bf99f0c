//! A ledger and a sink that do what they should, until a step said otherwise.

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use siglum_domain::{LedgerId, SessionId};
use siglum_engine::share::project::{Position, Sealed, Sink, SinkError};
use siglum_ledger::{Durability, Ledger, LedgerError, Transaction};

type Work<'a> = &'a mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>;

/// What goes wrong, at which writing transaction from now on, and where in it.
pub(crate) struct Fault {
    at: u64,
    times: u64,
    place: String,
    what: String,
}

impl Fault {
    /// `{"at": 1, "times": 1, "where": "before" | "inside" | "after", "what": "die" | "stop" | "fail" | "unknown"}`
    pub(crate) fn read(step: &Value) -> Self {
        let text = |key: &str| step[key].as_str().unwrap().to_owned();
        Self {
            at: step["at"].as_u64().unwrap_or(1),
            times: step["times"].as_u64().unwrap_or(1),
            place: text("where"),
            what: text("what"),
        }
    }

    fn strike(&self) -> Result<(), LedgerError> {
        match self.what.as_str() {
            "die" => die(),
            "stop" => stop(),
            "fail" => return Err(LedgerError::Unwritable("told to fail".into())),
            "unknown" => return Err(LedgerError::Unknown("told to lose the answer".into())),
            other => panic!("no such fault: {other}"),
        }
        Ok(())
    }
}

/// As the kernel would: without a word.
pub(crate) fn die() {
    kill_process(getpid(), Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

pub(crate) fn stop() {
    kill_process(getpid(), Signal::STOP).unwrap();
}

pub(crate) struct Faulty {
    pub(crate) inner: Box<dyn Ledger + Send>,
    pub(crate) fault: Option<Fault>,
    /// Writing transactions since the fault was named.
    pub(crate) writes: u64,
}

impl Faulty {
    fn is_due(&self, place: &str) -> bool {
        let due = |f: &Fault| f.place == place && (f.at..f.at + f.times).contains(&self.writes);
        self.fault.as_ref().is_some_and(due)
    }

    fn strike_at(&self, place: &str) -> Result<(), LedgerError> {
        match &self.fault {
            Some(fault) if self.is_due(place) => fault.strike(),
            _ => Ok(()),
        }
    }
}

impl Ledger for Faulty {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }

    fn key(&self) -> [u8; 32] {
        self.inner.key()
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), LedgerError> {
        self.inner.read(work)
    }

    fn write(&mut self, durability: Durability, work: Work<'_>) -> Result<(), LedgerError> {
        self.writes += 1;
        self.strike_at("before")?;
        let inside = self.is_due("inside");
        let fault = self.fault.take();
        let done = self.inner.write(durability, &mut |tx| {
            work(tx)?;
            match &fault {
                Some(fault) if inside => fault.strike(),
                _ => Ok(()),
            }
        });
        self.fault = fault;
        done?;
        self.strike_at("after")
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.inner.maintain()
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        self.inner.maintain_at_work()
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.inner.scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.inner.check()
    }
}

/// A sink that at one receipt, or at all, does what a step says.
pub(crate) struct FaultySink<'a> {
    pub(crate) inner: Box<dyn Sink>,
    /// `{"what": …, "session": …, "number": …}`
    pub(crate) fault: &'a Value,
    pub(crate) took: Vec<(SessionId, u64)>,
}

impl FaultySink<'_> {
    fn what(&self, sealed: &Sealed<'_>) -> &str {
        let session = self.fault["session"].as_str();
        let number = self.fault["number"].as_u64();
        let this = session.is_none_or(|s| s == sealed.session.id.to_string())
            && number.is_none_or(|n| n == sealed.receipt.number);
        self.fault["what"].as_str().filter(|_| this).unwrap_or("")
    }
}

impl Sink for FaultySink<'_> {
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError> {
        self.inner.position(session)
    }

    fn take(&mut self, ledger: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        let Some(first) = sealed.first() else {
            return Ok(());
        };
        let what = self.what(first).to_owned();
        match what.as_str() {
            "refuse" => return Err(SinkError::Refused("told to refuse".to_owned())),
            "fail" => return Err(SinkError::Unavailable("told to fail".to_owned())),
            "die before" => die(),
            _ => {}
        }
        self.inner.take(ledger, sealed)?;
        let took = sealed.iter().map(|s| (s.session.id, s.receipt.number));
        self.took.extend(took);
        match what.as_str() {
            "apply, then fail" => Err(SinkError::Unavailable("told to fail".to_owned())),
            "die after" => {
                die();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn reset(&mut self, session: SessionId) -> Result<(), SinkError> {
        self.inner.reset(session)
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        self.inner.clear()
    }
}
