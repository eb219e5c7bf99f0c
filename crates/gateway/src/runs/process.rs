//! The process of an agent: started in a group of its own, and ended with all below it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use siglum_domain::redact::Redactor;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::settings::Over;

/// How much of what an agent writes to standard error is kept, in bytes.
const TAIL_MOST: usize = 4 << 10;
/// How long is waited for the last words of a process that is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// What of it is told.
const TEXT_MOST: usize = 600;

/// How a process is started.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) cwd: &'a Path,
    pub(crate) variables: Vec<(OsString, Option<OsString>)>,
    pub(crate) over: Over,
}

/// A process that runs, and is ended with all below it when this is let go.
pub(crate) struct Process {
    pid: u32,
    _child: Child,
    tail: Arc<Tail>,
    listening: Option<JoinHandle<()>>,
    _over: Over,
}

impl Process {
    /// Starts it.
    pub(crate) fn start(start: Start<'_>) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new(start.program);
        command
            .args(&start.arguments)
            .current_dir(start.cwd)
            .env("PWD", start.cwd)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &start.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.spawn()?;
        let gone = || std::io::Error::other("the process has no pipes");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.ok_or_else(gone)?, stdout.ok_or_else(gone)?);
        let tail = Arc::new(Tail::default());
        let listening = child.stderr.take();
        let listening = listening.map(|stderr| tokio::spawn(listen(stderr, Arc::clone(&tail))));
        let process = Self {
            pid: child.id().ok_or_else(gone)?,
            _child: child,
            tail,
            listening,
            _over: start.over,
        };
        Ok((process, stdin, stdout))
    }

    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for its last words, where it is gone.
    pub(crate) async fn hear_out(&mut self) {
        if let Some(listening) = &mut self.listening
            && tokio::time::timeout(LAST_WORDS, listening).await.is_ok()
        {
            self.listening = None;
        }
    }

    /// What it wrote last that nobody asked for, redacted.
    pub(crate) fn stderr_tail(&self) -> Arc<Tail> {
        Arc::clone(&self.tail)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        siglum_platform::tree::end(self.pid);
    }
}

/// The last lines that a process wrote, and whether it will say more.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<String>>, AtomicBool);

impl Tail {
    /// Takes a line.
    pub(crate) fn take(&self, line: &str) {
        let line: String = line.chars().take(TEXT_MOST).collect();
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(Redactor::shared().redact(&line).into_string());
        while lines.iter().map(String::len).sum::<usize>() > TAIL_MOST {
            lines.pop_front();
        }
    }

    /// It closed its output: it says nothing any more.
    pub(crate) fn close(&self) {
        self.1.store(true, Ordering::Release);
    }

    /// Whether it closed its output, which is known before the system lets go of its process.
    pub(crate) fn is_closed(&self) -> bool {
        self.1.load(Ordering::Acquire)
    }

    /// A text, and behind it the last of what the process wrote.
    pub(crate) fn after(&self, text: &str) -> String {
        match self.last_lines() {
            Some(lines) => format!("{text} (it wrote: {lines})"),
            None => text.to_owned(),
        }
    }

    /// The last of it, in one line.
    pub(crate) fn last_lines(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = |line: &String| {
            let line: String = line.chars().filter(|c| !c.is_control()).collect();
            let line = line.trim().to_owned();
            (!line.is_empty()).then_some(line)
        };
        let mut last: Vec<String> = lines.iter().rev().filter_map(plain).take(3).collect();
        last.reverse();
        let text: String = last.join(" / ").chars().take(TEXT_MOST).collect();
        (!text.is_empty()).then_some(text)
    }
}

async fn listen(from: impl AsyncRead + Unpin, tail: Arc<Tail>) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match bounded_line(&mut lines, &mut line, 64 << 10).await {
            Ok(true) => tail.take(&String::from_utf8_lossy(&line)),
            _ => return,
        }
    }
}

/// Reads one line without its end; what is longer than `most` is cut off. `false` at the end.
pub(crate) async fn bounded_line<R: AsyncRead + Unpin>(
    from: &mut BufReader<R>,
    into: &mut Vec<u8>,
    most: usize,
) -> std::io::Result<bool> {
    let mut any = false;
    loop {
        let room = from.fill_buf().await?;
        if room.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = room.iter().position(|b| *b == b'\n');
        let part = &room[..end.unwrap_or(room.len())];
        into.extend_from_slice(&part[..part.len().min(most.saturating_sub(into.len()))]);
        let used = end.map_or(room.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_lines_are_cut_and_the_next_one_is_whole() {
        let text = [vec![b'a'; 100], b"\nshort\nlast".to_vec()].concat();
        let mut from = BufReader::with_capacity(7, &text[..]);
        let mut lines = Vec::new();
        let mut line = Vec::new();
        while bounded_line(&mut from, &mut line, 10).await.unwrap() {
            lines.push(String::from_utf8(std::mem::take(&mut line)).unwrap());
        }
        assert_eq!(lines, ["a".repeat(10).as_str(), "short", "last"]);
    }

    #[test]
    fn what_an_agent_wrote_is_shown_short_and_without_secrets() {
        let tail = Tail::default();
        tail.take(&format!(
            "token=ghp_{}",
            "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk"
        ));
        (0..100).for_each(|n| tail.take(&format!("line {n} {}", "x".repeat(200))));
        tail.take("the end");
        let text = tail.last_lines().unwrap();
        assert!(text.len() <= TEXT_MOST && text.ends_with("the end") || text.len() == TEXT_MOST);
        assert!(!text.contains("9fK2mQ"));
    }
}
