//! What an agent writes, line by line.

use std::io;

use tokio::io::BufReader;
use tokio::process::ChildStdout;

use crate::runs::process::{Tail, bounded_line};

/// The longest message of an agent, in bytes.
const LINE_MOST: usize = 64 << 20;

/// The next line that may be a message; programs write other things there, too.
pub(super) async fn next_message(
    from: &mut BufReader<ChildStdout>,
    tail: &Tail,
) -> Option<io::Result<String>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        match bounded_line(from, &mut line, LINE_MOST).await {
            Ok(true) => {}
            Ok(false) => {
                tail.close();
                return None;
            }
            Err(error) => return Some(Err(error)),
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim_start().starts_with('{') {
            return Some(Ok(text.into_owned()));
        }
        tail.take(&text);
    }
}
