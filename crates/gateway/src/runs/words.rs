//! Text that grows: told while it comes, without secrets.

use siglum_domain::redact::Redactor;

/// A line that is longer than this is told in parts.
const LINE_MOST: usize = 4 << 10;

/// Text of an agent on its way to those who follow it. A secret may come in parts, so that the last word of what there is
/// waits until it is known to be whole.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The line that is not at its end.
    line: String,
    /// What was told of it.
    sent: String,
}

impl Words {
    /// Takes more; gives what can be told now.
    pub(crate) fn more(&mut self, text: &str) -> String {
        self.line.push_str(text);
        let mut out = String::new();
        while let Some(end) = self.line.find('\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            out.push_str(&self.tell(&line));
            self.sent.clear();
        }
        let whole = self.line.rfind(char::is_whitespace).map_or(0, |at| {
            at + self.line[at..].chars().next().map_or(1, char::len_utf8)
        });
        if self.line.len() > LINE_MOST {
            out.push_str(&self.end());
        } else if whole > 0 {
            let part = self.line[..whole].to_owned();
            out.push_str(&self.tell(&part));
        }
        out
    }

    /// Gives what was not told yet.
    pub(crate) fn end(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let out = self.tell(&line);
        self.sent.clear();
        out
    }

    /// What of a part of the line was not told.
    fn tell(&mut self, part: &str) -> String {
        let redacted = Redactor::shared().redact(part).into_string();
        let same = redacted
            .char_indices()
            .zip(self.sent.chars())
            .take_while(|((_, a), b)| a == b)
            .last()
            .map_or(0, |((at, c), _)| at + c.len_utf8());
        let more = redacted[same..].to_owned();
        self.sent = redacted;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parts: &[&str], expected: &[&str]) {
        let mut words = Words::default();
        let mut sent: Vec<String> = parts.iter().map(|part| words.more(part)).collect();
        sent.push(words.end());
        assert_eq!(sent, expected);
    }

    #[test]
    fn words_are_sent_when_they_are_whole() {
        check(
            &["Hel", "lo wor", "ld\nnext", " ", "é\u{a0}ü"],
            &["", "Hello ", "world\n", "next ", "é\u{a0}", "ü"],
        );
    }

    #[test]
    fn a_secret_that_comes_in_parts_is_not_sent() {
        let secret = format!("ghp_{}", "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk");
        for at in 1..secret.len() {
            let mut words = Words::default();
            let (head, tail) = secret.split_at(at);
            let mut sent = words.more(&format!("it is {head}"));
            sent.push_str(&words.more(tail));
            sent.push_str(&words.more(" indeed"));
            sent.push_str(&words.end());
            assert!(!sent.contains("9fK2mQ"), "{sent}");
            assert!(
                sent.starts_with("it is ") && sent.ends_with(" indeed"),
                "{sent}"
            );
        }
    }
}
