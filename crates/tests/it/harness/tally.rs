//! Many commits on a busy machine: the load, and what came of them.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

/// Work for the processors that has nothing to do with all this.
pub(crate) struct Load(Vec<Child>);

impl Load {
    /// One that runs until this is dropped.
    pub(crate) fn new() -> Self {
        let busy = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).spawn().expect("a shell")
        };
        Self((0..2).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How many commits got which verdict, by who really made them.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<(String, String), usize>);

impl Tally {
    /// Counts one.
    pub(crate) fn add(&mut self, who: &str, verdict: &str) {
        *self
            .0
            .entry((who.to_owned(), verdict.to_owned()))
            .or_default() += 1;
    }

    /// How many are certain or likely, and how many there are.
    pub(crate) fn known(&self) -> (usize, usize) {
        let named = |(_, verdict): &(String, String)| verdict == "certain" || verdict == "likely";
        let known = self.0.iter().filter(|(key, _)| named(key)).map(|(_, n)| n);
        (known.sum(), self.0.values().sum())
    }

    /// Says it; nothing in it is false, else the test had failed before.
    pub(crate) fn print(&self, what: &str) {
        let (known, all) = self.known();
        eprintln!("{what}: {known} of {all} commits certain or likely, no false statement");
        for ((who, verdict), count) in &self.0 {
            eprintln!("  {who:8} {verdict:10} {count:3}");
        }
    }
}
