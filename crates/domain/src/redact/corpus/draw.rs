//! Fills in what the data files leave open, the same way in every run.

/// Draws signs.
pub(super) struct Draw {
    state: u64,
}

const DIGITS: &str = "0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl Draw {
    pub(super) fn new() -> Self {
        Self {
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 11
    }

    /// Replaces `{w36}` and the like.
    pub(super) fn fill(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let inside = rest[at + 1..].split('}').next().unwrap_or_default();
            if let Some(drawn) = self.draw(inside) {
                out.push_str(&drawn);
                rest = &rest[at + inside.len() + 2..];
            } else {
                out.push('{');
                rest = &rest[at + 1..];
            }
        }
        out + rest
    }

    fn draw(&mut self, what: &str) -> Option<String> {
        if what == "uuid" {
            let parts = [8, 4, 3, 3, 12].map(|n| self.signs("0123456789abcdef", n));
            let [a, b, c, d, e] = parts;
            return Some(format!("{a}-{b}-4{c}-9{d}-{e}"));
        }
        let kind = what.chars().next()?;
        let count = what[kind.len_utf8()..].parse().ok()?;
        let letters = [LOWER, UPPER, DIGITS].concat();
        let signs = match kind {
            'w' => letters,
            'b' => letters + "-_",
            'B' => letters + "+/",
            'l' => [LOWER, DIGITS].concat(),
            'U' => [UPPER, DIGITS].concat(),
            'h' => "0123456789abcdef".to_owned(),
            'H' => "0123456789ABCDEF".to_owned(),
            'd' => DIGITS.to_owned(),
            'N' => [UPPER, "234567"].concat(),
            _ => return None,
        };
        let mut drawn = self.signs(&signs, count);
        if count >= 10 && signs.contains('0') {
            // What is drawn at random nearly always has a digit; here it always has one.
            drawn.replace_range(count / 2..=count / 2, "7");
        }
        Some(drawn)
    }

    /// Signs of which the first and the last are letters or digits.
    fn signs(&mut self, of: &str, count: usize) -> String {
        let signs = of.as_bytes();
        let mut drawn = String::new();
        while drawn.len() < count {
            let sign = char::from(signs[usize::try_from(self.next()).unwrap_or(0) % signs.len()]);
            let at_an_end = drawn.is_empty() || drawn.len() + 1 == count;
            if sign.is_ascii_alphanumeric() || !at_an_end {
                drawn.push(sign);
            }
        }
        drawn
    }
}
