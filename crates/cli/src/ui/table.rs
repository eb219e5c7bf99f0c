//! Tables: no borders, two spaces between columns, the last column cut to the width.

use unicode_width::UnicodeWidthStr;

use super::{Style, Ui, one_line, visible};

/// One cell.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Option<Style>,
    /// Parts of the text that have a style of their own, in characters.
    marks: Vec<(usize, usize)>,
    right: bool,
}

impl Cell {
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self {
            text: visible(text.as_ref()).into_owned(),
            style: None,
            marks: Vec::new(),
            right: false,
        }
    }

    /// A text in which some places stand out: characters, each from and before which. Where something of the text has to
    /// be shown as what it is, nobody knows where they are.
    pub fn marked(text: &str, marks: &[(usize, usize)]) -> Self {
        let cell = Self::plain(text);
        let marks = match cell.text == text {
            true => marks.to_vec(),
            false => Vec::new(),
        };
        Self { marks, ..cell }
    }

    pub fn styled(style: Style, text: impl AsRef<str>) -> Self {
        Self::plain(text).with(style)
    }

    /// The same text in this style.
    #[must_use]
    pub fn with(self, style: Style) -> Self {
        Self {
            style: Some(style),
            ..self
        }
    }

    /// A number, aligned to the right.
    pub fn number(text: impl AsRef<str>) -> Self {
        Self {
            right: true,
            ..Self::plain(text)
        }
    }
}

/// A text in the last column, and one in the middle, has this much room at least, in columns.
const LAST_LEAST: usize = 12;
const MIDDLE_LEAST: usize = 8;

/// Rows under a heading.
#[derive(Debug, Default)]
pub struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub const fn new(heading: Vec<&'static str>) -> Self {
        Self {
            heading,
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether each row has room for its numbers and for the beginning of its last text.
    pub fn fits(&self, ui: &Ui) -> bool {
        let mut widths = self.widths();
        let last = widths.pop().unwrap_or(0);
        before(&widths) + last.min(LAST_LEAST) <= ui.width()
    }

    /// The width of each column as it would be with any room.
    fn widths(&self) -> Vec<usize> {
        let width_of = |at: usize| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(at))
                .map(|c| c.text.width());
            cells.chain([self.heading[at].width()]).max().unwrap_or(0)
        };
        (0..self.heading.len()).map(width_of).collect()
    }

    pub fn lines(&self, ui: &Ui) -> Vec<String> {
        let columns = self.heading.len();
        let mut widths = self.widths();
        let before = |widths: &[usize]| before(&widths[..columns - 1]);
        let room = ui.width().saturating_sub(LAST_LEAST);
        // Where that is too little, the widest texts in the middle are cut.
        while let Some(over) = before(&widths).checked_sub(room).filter(|over| *over > 0) {
            let shrinks = |at: &usize| {
                let is_number = self
                    .rows
                    .iter()
                    .any(|row| row.get(*at).is_some_and(|c| c.right));
                !is_number && widths[*at] > self.heading[*at].width().max(MIDDLE_LEAST)
            };
            let Some(at) = (1..columns - 1)
                .filter(shrinks)
                .max_by_key(|at| widths[*at])
            else {
                break;
            };
            let least = self.heading[at].width().max(MIDDLE_LEAST);
            widths[at] = widths[at].saturating_sub(over).max(least);
        }
        let last = ui.width().saturating_sub(before(&widths)).max(LAST_LEAST);
        let heading = self
            .heading
            .iter()
            .map(|h| Cell::styled(Style::Heading, *h))
            .collect();
        std::iter::once(&heading)
            .chain(&self.rows)
            .map(|row| line(ui, row, &widths, last))
            .collect()
    }
}

/// What columns take with the space behind each.
fn before(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + 2).sum()
}

fn line(ui: &Ui, row: &[Cell], widths: &[usize], last: usize) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        let is_last = at + 1 == widths.len();
        let text = match is_last {
            true => one_line(&cell.text, last),
            false if cell.text.width() > widths[at] => one_line(&cell.text, widths[at]),
            false => cell.text.clone(),
        };
        let padding = " ".repeat(if is_last {
            0
        } else {
            widths[at].saturating_sub(text.width())
        });
        let painted = match cell.style {
            Some(style) => ui.paint(style, &text),
            None => painted_marks(ui, &text, &cell.marks),
        };
        line += &if cell.right {
            padding + &painted
        } else {
            painted + &padding
        };
        if !is_last {
            line += "  ";
        }
    }
    line.trim_end().to_owned()
}

/// A text on one line, cut to a width, in which some places stand out: characters, each from and before which.
pub fn marked(ui: &Ui, text: &str, marks: &[(usize, usize)], width: usize) -> String {
    let cell = Cell::marked(text, marks);
    painted_marks(ui, &one_line(&cell.text, width), &cell.marks)
}

/// A text with the places that stand out.
fn painted_marks(ui: &Ui, text: &str, marks: &[(usize, usize)]) -> String {
    let signs: Vec<char> = text.chars().collect();
    let part = |from: usize, past: usize| -> String {
        let past = past.min(signs.len());
        signs[from.min(past)..past].iter().collect()
    };
    let (mut painted, mut at) = (String::new(), 0);
    for (from, past) in marks {
        painted += &part(at, *from);
        painted += &ui.paint(Style::Heading, part(*from, *past));
        at = (*past).max(at);
    }
    painted + &part(at, signs.len())
}
