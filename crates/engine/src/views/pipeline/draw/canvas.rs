//! Lines in pieces, boxes around lines, boxes beside boxes.

use super::measure::{cut, width};

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub ascii: bool,
    /// How many columns there are.
    pub width: usize,
}

/// What a piece of text is, for those who colour it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// A name.
    Title,
    /// Something that went well.
    Good,
    /// Something that went wrong.
    Bad,
    /// Something that goes on.
    Live,
    /// Something to look at twice.
    Warning,
    /// Something of less weight.
    Dim,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub tone: Tone,
    /// The text, without control characters.
    pub text: String,
}

/// A drawing, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    pub lines: Vec<Vec<Piece>>,
}

impl Drawing {
    /// The drawing as plain text, each line with its end.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let whole: String = line.iter().map(|piece| piece.text.as_str()).collect();
            text.push_str(whole.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A line in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(pub(super) Vec<Piece>);

impl Line {
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().and(tone, text)
    }

    #[must_use]
    pub(super) fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Piece { tone, text });
        }
        self
    }

    fn text(&self) -> String {
        self.0.iter().map(|piece| piece.text.as_str()).collect()
    }

    pub(super) fn width(&self) -> usize {
        width(&self.text())
    }

    /// The line in exactly so many columns: cut, or with blanks behind it.
    #[must_use]
    pub(super) fn fitted(mut self, columns: usize, ascii: bool) -> Self {
        if self.width() > columns {
            self = self.shortened(columns, ascii);
        }
        let missing = columns.saturating_sub(self.width());
        self.and(Tone::Plain, " ".repeat(missing))
    }

    fn shortened(self, columns: usize, ascii: bool) -> Self {
        let mut kept = Self::default();
        for piece in self.0 {
            let left = columns.saturating_sub(kept.width());
            let text = cut(&piece.text, left, ascii);
            let was_cut = text != piece.text;
            kept = kept.and(piece.tone, text);
            if was_cut {
                break;
            }
        }
        // What is beside it may make a character wider than it is alone.
        while kept.width() > columns {
            kept.0.pop();
        }
        kept
    }
}

/// Lines of one width.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub(super) lines: Vec<Line>,
    pub(super) width: usize,
}

/// The characters of a border.
pub(super) struct Border {
    corners: [&'static str; 4],
    across: &'static str,
    down: &'static str,
}

impl Border {
    /// Heavy where something goes on.
    pub(super) const fn new(live: bool, ascii: bool) -> Self {
        match (live, ascii) {
            (false, false) => Self {
                corners: ["┌", "┐", "└", "┘"],
                across: "─",
                down: "│",
            },
            (true, false) => Self {
                corners: ["┏", "┓", "┗", "┛"],
                across: "━",
                down: "┃",
            },
            (false, true) => Self {
                corners: ["+"; 4],
                across: "-",
                down: "|",
            },
            (true, true) => Self {
                corners: ["+"; 4],
                across: "=",
                down: "|",
            },
        }
    }
}

/// What a border takes of a width, with a blank on each side.
pub(super) const FRAME: usize = 4;

/// Puts a border around lines; `inner` is the width of what is within.
pub(super) fn boxed(
    lines: Vec<Line>,
    inner: usize,
    tone: Tone,
    border: &Border,
    ascii: bool,
) -> Block {
    let [top_left, top_right, bottom_left, bottom_right] = border.corners;
    let across = border.across.repeat(inner + 2);
    let mut drawn = vec![Line::new(tone, format!("{top_left}{across}{top_right}"))];
    for line in lines {
        let mut whole = Line::new(tone, border.down).and(Tone::Plain, " ");
        whole.0.extend(line.fitted(inner, ascii).0);
        drawn.push(whole.and(Tone::Plain, " ").and(tone, border.down));
    }
    drawn.push(Line::new(
        tone,
        format!("{bottom_left}{across}{bottom_right}"),
    ));
    Block {
        lines: drawn,
        width: inner + FRAME,
    }
}

/// Puts blocks beside one another, with a blank between; shorter ones get blanks below.
pub(super) fn beside(blocks: Vec<Block>) -> Block {
    let height = blocks.iter().map(|b| b.lines.len()).max().unwrap_or(0);
    let mut all = Block {
        lines: vec![Line::default(); height],
        width: 0,
    };
    for (nth, block) in blocks.into_iter().enumerate() {
        let gap = usize::from(nth > 0);
        all.width += gap + block.width;
        let mut own = block.lines.into_iter();
        for line in &mut all.lines {
            line.0.push(Piece {
                tone: Tone::Plain,
                text: " ".repeat(gap),
            });
            match own.next() {
                Some(piece) => line.0.extend(piece.0),
                None => line.0.push(Piece {
                    tone: Tone::Plain,
                    text: " ".repeat(block.width),
                }),
            }
        }
    }
    all
}
