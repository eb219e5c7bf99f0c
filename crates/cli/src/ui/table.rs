//! Tables: no borders, two spaces between columns, the last column cut to the width.

use unicode_width::UnicodeWidthStr;

use super::{Style, Ui, one_line, visible};

/// One cell.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Option<Style>,
    right: bool,
}

impl Cell {
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self {
            text: visible(text.as_ref()).into_owned(),
            style: None,
            right: false,
        }
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

    pub(super) fn lines(&self, ui: &Ui) -> Vec<String> {
        let columns = self.heading.len();
        let width_of = |at: usize| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(at))
                .map(|c| c.text.width());
            cells.chain([self.heading[at].width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let before: usize = widths[..columns - 1].iter().map(|w| w + 2).sum();
        let last = ui.width().saturating_sub(before).max(12);
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

fn line(ui: &Ui, row: &[Cell], widths: &[usize], last: usize) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        let is_last = at + 1 == widths.len();
        let text = if is_last {
            one_line(&cell.text, last)
        } else {
            cell.text.clone()
        };
        let padding = " ".repeat(if is_last {
            0
        } else {
            widths[at].saturating_sub(text.width())
        });
        let painted = cell
            .style
            .map_or_else(|| text.clone(), |style| ui.paint(style, &text));
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
