//! Text that compresses as what agents store does: words by how often they are used, and sources made from a grammar.

use crate::clock::Chance;

/// The words that are used most, the most frequent first.
const COMMON: &[&str] = &[
    "the", "to", "and", "a", "of", "in", "is", "it", "for", "that", "this", "with", "on", "be",
    "as", "not", "are", "we", "file", "test", "now", "from", "by", "can", "if", "will", "an", "or",
    "error", "code", "I", "should", "was", "all", "add", "use", "function", "let", "at", "line",
    "when", "which", "has", "but", "have", "new", "return", "check", "first", "then", "so", "type",
    "value", "change", "same", "only", "run", "where", "there", "one", "before", "after", "fix",
    "name", "does", "call", "its", "no", "still", "see", "what", "set", "each", "also", "read",
    "write", "path", "list", "state", "build", "needs", "because", "out", "into", "two", "commit",
    "make", "work", "without", "server", "config", "user", "request", "module", "branch", "table",
];
/// How many words there are.
const WORDS: usize = 20_000;
/// Of what other words are made.
const SYLLABLES: &[&str] = &[
    "ba", "con", "de", "fer", "gra", "hel", "in", "jo", "ka", "lo", "mer", "no", "or", "pla",
    "qui", "re", "sta", "ti", "ur", "ve", "wi", "xe", "ya", "zo", "ex", "im", "pro", "sub", "ta",
    "li", "mo", "ser", "tor", "nal", "den", "mic", "tra", "vi", "sol", "ben",
];
/// How many source files the repositories have.
const SOURCES: usize = 1_500;
/// The digits of base64.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A source file of a repository.
#[derive(Debug)]
pub(super) struct Source {
    /// Its path below the checkout.
    pub(super) path: String,
    pub(super) text: String,
}

/// The vocabulary of a corpus, and the files that its sessions work on.
pub(super) struct Text {
    words: Vec<String>,
    /// How much weight a word has together with all before it.
    weights: Vec<u64>,
    sources: Vec<Source>,
}

impl Text {
    pub(super) fn new(seed: u64) -> Self {
        let chance = Chance::new(seed);
        let mut words: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
        while words.len() < WORDS {
            let syllables = 2 + chance.below(3);
            let word = (0..syllables).map(|_| SYLLABLES[chance.below(SYLLABLES.len())]);
            words.push(word.collect());
        }
        // Zipf's law: a word is used as often as the inverse of its place.
        let weights = (0..words.len() as u64).scan(0, |sum, place| {
            *sum += 1_000_000_000 / (place + 3);
            Some(*sum)
        });
        let mut text = Self {
            weights: weights.collect(),
            words,
            sources: Vec::new(),
        };
        text.sources = (0..SOURCES).map(|nth| text.source(&chance, nth)).collect();
        text
    }

    fn word(&self, chance: &Chance) -> &str {
        let all = self.weights.last().copied().unwrap_or(1);
        let at = chance.next() % all;
        let place = self.weights.partition_point(|sum| *sum <= at);
        &self.words[place]
    }

    /// Sentences of about so many words.
    pub(super) fn prose(&self, chance: &Chance, words: usize) -> String {
        let mut out = String::with_capacity(words * 7);
        let mut left = 0;
        for nth in 0..words {
            if left == 0 {
                left = 5 + chance.below(14);
                if nth > 0 {
                    out.push_str(if chance.below(5) == 0 { ".\n\n" } else { ". " });
                }
            } else {
                out.push(' ');
            }
            match chance.below(14) {
                0 => out.push_str(&format!("`{}`", self.snake(chance))),
                1 if !self.sources.is_empty() => out.push_str(&self.file(chance).path),
                _ => out.push_str(self.word(chance)),
            }
            left -= 1;
        }
        out.push('.');
        out
    }

    /// One of the source files; some are worked on more than others.
    pub(super) fn file(&self, chance: &Chance) -> &Source {
        let most = 1 + chance.below(self.sources.len());
        &self.sources[chance.below(most)]
    }

    /// What a command prints: results of tests, lines that were found, or a log.
    pub(super) fn output(&self, chance: &Chance, lines: usize) -> String {
        let kind = chance.below(3);
        let mut out = String::with_capacity(lines * 60);
        for nth in 0..lines {
            let line = match kind {
                0 => format!(
                    "test {}::{} ... ok\n",
                    self.snake(chance),
                    self.snake(chance)
                ),
                1 => {
                    let file = self.file(chance);
                    let found = file.text.lines().nth(chance.below(40)).unwrap_or_default();
                    format!("{}:{}:{found}\n", file.path, 1 + chance.below(400))
                }
                _ => format!(
                    "2026-03-0{} 1{}:{:02}:{:02}  INFO {}: {} {}={}\n",
                    1 + nth % 9,
                    nth % 10,
                    chance.below(60),
                    chance.below(60),
                    self.snake(chance),
                    self.word(chance),
                    self.word(chance),
                    chance.below(100_000),
                ),
            };
            out.push_str(&line);
        }
        out
    }

    /// Something that must not be stored; made up, as everything here.
    pub(super) fn secret(chance: &Chance) -> String {
        let digits = chance.hex(36);
        match chance.below(3) {
            0 => format!("GITHUB_TOKEN={}_{digits}\n", "ghp"),
            1 => format!("export DATABASE_PASSWORD='{digits}'\n"),
            _ => format!("Authorization: Bearer {digits}{digits}\n"),
        }
    }

    /// An image in base64, of so many digits: like a compressed one, it has no two parts that are the same.
    pub(super) fn image(chance: &Chance, digits: usize) -> String {
        let mut out = String::with_capacity(digits + 16);
        out.push_str("iVBORw0KGgoAAAANSUhEUgAA");
        while out.len() < digits {
            let mut bits = chance.next();
            for _ in 0..10 {
                out.push(char::from(BASE64[usize::try_from(bits % 64).unwrap_or(0)]));
                bits /= 64;
            }
        }
        out
    }

    /// A name as `snake_case` has it.
    fn snake(&self, chance: &Chance) -> String {
        let mut name = self.word(chance).to_lowercase();
        for _ in 0..1 + chance.below(2) {
            name.push('_');
            name.push_str(&self.word(chance).to_lowercase());
        }
        name
    }

    /// A name as `CamelCase` has it.
    fn camel(&self, chance: &Chance) -> String {
        let mut name = String::new();
        for _ in 0..1 + chance.below(2) {
            let word = self.word(chance);
            let (first, rest) = word.split_at(1);
            name.push_str(&first.to_uppercase());
            name.push_str(rest);
        }
        name
    }

    fn source(&self, chance: &Chance, nth: usize) -> Source {
        let name = self.snake(chance);
        let part = nth % 60;
        let mut text = format!("//! {}\n\n", self.prose(chance, 14));
        for _ in 0..1 + chance.below(4) {
            let (a, b) = (self.snake(chance), self.camel(chance));
            text.push_str(&format!("use crate::{a}::{b};\n"));
        }
        text.push('\n');
        for _ in 0..2 + chance.below(14) {
            self.declaration(chance, &mut text);
        }
        Source {
            path: format!("src/part{part:03}/{name}_{nth}.rs"),
            text,
        }
    }

    fn declaration(&self, chance: &Chance, out: &mut String) {
        let (name, owner, error) = (self.snake(chance), self.camel(chance), self.camel(chance));
        out.push_str(&format!("/// {}\n", self.prose(chance, 9)));
        if chance.below(4) == 0 {
            out.push_str(&format!("#[derive(Debug, Clone)]\npub struct {owner} {{\n"));
            for _ in 0..2 + chance.below(6) {
                let (field, kind) = (self.snake(chance), self.camel(chance));
                out.push_str(&format!("    {field}: Option<{kind}>,\n"));
            }
        } else {
            out.push_str(&format!(
                "pub fn {name}(&self, input: &{owner}) -> Result<(), {error}> {{\n"
            ));
            for _ in 0..2 + chance.below(10) {
                self.statement(chance, out);
            }
            out.push_str("    Ok(())\n");
        }
        out.push_str("}\n\n");
    }

    fn statement(&self, chance: &Chance, out: &mut String) {
        let (a, b, c) = (self.snake(chance), self.snake(chance), self.camel(chance));
        let number = chance.below(1_000);
        let statement = match chance.below(5) {
            0 => format!("    let {a} = input.{b}()?;\n"),
            1 => format!("    if {a} > {number} {{\n        return Err({c}::new({b}));\n    }}\n"),
            2 => {
                format!("    for {a} in self.{b}.iter() {{\n        {a}.push({number});\n    }}\n")
            }
            3 => format!(
                "    tracing::debug!(\"{} {{{a}}}\");\n",
                self.prose(chance, 5)
            ),
            _ => format!(
                "    let {a}: Vec<{c}> = {b}.into_iter().filter(|x| x.id != {number}).collect();\n"
            ),
        };
        out.push_str(&statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_text() {
        let (one, other) = (Text::new(7), Text::new(7));
        let make = |text: &Text| {
            let chance = Chance::new(1);
            let image = Text::image(&chance, 100);
            let file = text.file(&chance).text.clone();
            (
                text.prose(&chance, 50),
                text.output(&chance, 20),
                file,
                image,
            )
        };
        assert_eq!(make(&one), make(&other));
        assert_ne!(make(&one), make(&Text::new(8)));
    }

    #[test]
    fn few_words_are_used_often() {
        let (text, chance) = (Text::new(7), Chance::new(1));
        let common = (0..10_000)
            .filter(|_| COMMON.contains(&text.word(&chance)))
            .count();
        assert!((3_000..8_000).contains(&common), "{common}");
    }
}
