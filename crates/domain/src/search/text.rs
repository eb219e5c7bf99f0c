//! What an index holds of a part of a turn: its texts, with bounds, and their words.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::term::{IndexTerm, words_of};
use crate::id::RepositoryId;
use crate::time::Timestamp;

/// The version of the words of a text and of its stored form: an index of another one is made anew.
pub const VERSION: u32 = 1;

/// So much of the prompts of a part is found as a prompt before all else, in bytes.
const PROMPTS_MOST: usize = 32 << 10;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    Prompt,
    /// The id and the subject of a commit.
    Commit,
    /// An id or a name of the session.
    Name,
    Link,
    /// What the agent said.
    Answer,
    /// The path of a file that a call names or changed.
    Path,
    /// The path of the directory or checkout that the session works in.
    Directory,
    /// What a tool was called with.
    Call,
    /// What a tool returned.
    Result,
}

impl PieceKind {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Commit => "commit",
            Self::Name => "name",
            Self::Link => "link",
            Self::Answer => "answer",
            Self::Path => "path",
            Self::Directory => "directory",
            Self::Call => "call",
            Self::Result => "result",
        }
    }

    /// How many bytes of such a text are found at most: of its start, and of its end.
    #[must_use]
    pub const fn bounds(self) -> (usize, usize) {
        match self {
            Self::Prompt | Self::Answer => (16 << 10, 0),
            Self::Call => (4 << 10, 0),
            // What failed says so at its end.
            Self::Result => (2 << 10, 512),
            _ => (1 << 10, 0),
        }
    }

    /// How much more a word counts in such a text than in what a tool returned.
    #[must_use]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Prompt => 10.0,
            Self::Commit => 8.0,
            Self::Name | Self::Link => 6.0,
            Self::Answer => 4.0,
            Self::Path | Self::Directory => 3.0,
            Self::Call => 2.0,
            Self::Result => 1.0,
        }
    }
}

/// A text of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub kind: PieceKind,
    pub text: String,
    /// The tool, of a call and its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it is the result of a call that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Where a commit was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryId>,
    /// When it was said or made.
    pub at: Timestamp,
}

impl Piece {
    /// A text, cut to what is found of its kind.
    #[must_use]
    pub fn new(kind: PieceKind, text: &str, at: Timestamp) -> Self {
        let (start, end) = kind.bounds();
        let text = match text.len() > start + end {
            true => {
                let tail = text.ceil_char_boundary(text.len() - end);
                let tail = &text[tail..];
                let gap = if tail.is_empty() { "" } else { "\n…\n" };
                format!("{}{gap}{tail}", cut(text, start))
            }
            false => text.to_owned(),
        };
        Self {
            kind,
            text,
            tool: None,
            failed: false,
            repository: None,
            at,
        }
    }
}

/// What a part of a turn is beside its texts, or has in one kind of them. Its words are told from all others by a sign
/// that is of no word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    /// A word of a prompt or of the subject of a commit.
    Prompt,
    /// A word of a path.
    Path,
    /// The name of a tool.
    Tool,
    /// A call of a tool failed; without a name, of any.
    Failed,
    /// A repository that the session works in, in hex.
    Repository,
    Agent,
    /// Whose store it is, where several share an index.
    Tenant,
}

impl Facet {
    const fn mark(self) -> char {
        match self {
            Self::Prompt => '\u{e000}',
            Self::Path => '\u{e001}',
            Self::Tool => '\u{e002}',
            Self::Failed => '\u{e003}',
            Self::Repository => '\u{e004}',
            Self::Agent => '\u{e005}',
            Self::Tenant => '\u{e006}',
        }
    }

    /// A term of this facet.
    #[must_use]
    pub fn term(self, term: IndexTerm) -> IndexTerm {
        term.after(self.mark())
    }

    /// A word of this facet.
    #[must_use]
    pub fn word(self, word: &str) -> String {
        format!("{}{word}", self.mark())
    }
}

/// The texts of a part of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnText {
    /// The agent of the session.
    pub agent: String,
    /// The repositories that the session works in.
    pub repositories: Vec<RepositoryId>,
    pub pieces: Vec<Piece>,
}

impl TurnText {
    /// All words by which it is found, each once, in order. Whoever takes them out of an index must get the same that were
    /// put in: they depend on the text alone, and on [`VERSION`].
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = HashSet::new();
        let mut prompts = PROMPTS_MOST;
        for piece in &self.pieces {
            words_of(&piece.text, &mut words);
            match piece.kind {
                PieceKind::Prompt | PieceKind::Commit => {
                    let part = cut(&piece.text, prompts);
                    prompts -= part.len();
                    facet_words(Facet::Prompt, part, &mut words);
                }
                PieceKind::Path => facet_words(Facet::Path, &piece.text, &mut words),
                _ => {}
            }
            if piece.failed {
                words.insert(Facet::Failed.word(""));
            }
            if let Some(tool) = &piece.tool {
                let tool = tool_word(tool);
                if piece.failed {
                    words.insert(Facet::Failed.word(&tool));
                }
                words.insert(Facet::Tool.word(&tool));
            }
        }
        for repository in &self.repositories {
            words.insert(Facet::Repository.word(&repository.uuid().simple().to_string()));
        }
        words.insert(Facet::Agent.word(&self.agent));
        let mut words: Vec<String> = words.into_iter().collect();
        words.sort_unstable();
        words
    }

    /// How many bytes its texts have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.len()).sum()
    }
}

/// The name of a tool as it is searched for: without case, and without what is of no word.
pub(super) fn tool_word(tool: &str) -> String {
    let signs = tool.chars().flat_map(char::to_lowercase);
    signs
        .filter(|c| c.is_alphanumeric() || *c == '_')
        .take(64)
        .collect()
}

/// The start of a text, of `most` bytes or less.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn facet_words(facet: Facet, text: &str, words: &mut HashSet<String>) {
    let mut own = HashSet::new();
    words_of(text, &mut own);
    words.extend(own.iter().map(|word| facet.word(word)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_its_bounds() {
        let text = format!("{}{}", "ä".repeat(5_000), "the end");
        let piece = Piece::new(PieceKind::Result, &text, Timestamp::default());
        assert!(piece.text.starts_with('ä') && piece.text.ends_with("the end"));
        assert!(piece.text.len() < 2_600, "{}", piece.text.len());
        let piece = Piece::new(PieceKind::Call, &text, Timestamp::default());
        assert_eq!(piece.text.len(), 4 << 10);
        assert_eq!(
            Piece::new(PieceKind::Path, "a", Timestamp::default()).text,
            "a"
        );
    }

    fn has(words: &[String], word: &str) -> bool {
        words.iter().any(|own| own == word)
    }

    #[test]
    fn facets_are_no_words_of_texts() {
        let at = Timestamp::default();
        let text = TurnText {
            agent: "codex".to_owned(),
            repositories: Vec::new(),
            pieces: vec![
                Piece::new(PieceKind::Prompt, "mend it \u{e002}bash", at),
                Piece {
                    tool: Some("Bash".to_owned()),
                    failed: true,
                    ..Piece::new(PieceKind::Result, "boom", at)
                },
            ],
        };
        let words = text.words();
        for word in [
            "mend",
            "bash",
            "boom",
            "\u{e000}mend",
            "\u{e003}",
            "\u{e003}bash",
            "\u{e002}bash",
        ] {
            assert!(has(&words, word), "{word:?} {words:?}");
        }
        assert!(!has(&words, "\u{e000}boom") && !has(&words, "codex"));
        let quoted = TurnText {
            pieces: vec![Piece::new(PieceKind::Answer, "\u{e002}bash", at)],
            ..TurnText::default()
        };
        assert!(!has(&quoted.words(), "\u{e002}bash"));
    }
}
