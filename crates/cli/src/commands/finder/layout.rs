//! What is drawn of the finder: the line that is typed, the sessions, and beside or below them the conversation of the
//! chosen one.

use siglum_domain::Timestamp;
use siglum_engine::views::search::{Hit, IndexUse};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::messages::{Item, Passage, Purpose};
use super::state::{Finder, Standing};
use crate::ui::{self, Frame, Row, Size, Style, Ui};

/// From so many columns on, the preview stands beside the list.
const BESIDE_LEAST: usize = 120;
/// From so many rows on, it stands below it.
const BELOW_LEAST: usize = 10;
/// Rows of the list above a preview, at least.
const LIST_LEAST: usize = 4;
/// From so many columns on, a row of the list has agent and age.
const DETAILS_LEAST: usize = 60;
/// The widths of these.
const AGENT: usize = 11;
const AGE: usize = 10;
/// Lines of one text of a conversation, at most.
const PASSAGE_LINES: usize = 12;

const TERMS: &str =
    "word  \"a phrase\"  pre*  path: agent: repo: tool: since: issue: pr: #42 is:error";
const KEYS_OF_SEARCH: &str =
    "Enter show  Ctrl-R resume  Ctrl-Y copy id  Shift-Up/Down scroll  Esc leave";
const KEYS_OF_RESUME: &str = "Enter resume  Ctrl-Y copy id  Shift-Up/Down scroll  Esc leave";

/// Where the preview is.
enum Arrangement {
    Nowhere,
    /// Below so many rows.
    Below(usize),
    /// Beside so many columns.
    Beside(usize),
}

impl Arrangement {
    fn new(columns: usize, rows: usize) -> Self {
        match (columns, rows) {
            (BESIDE_LEAST.., _) => Self::Beside(columns * 9 / 20),
            (_, BELOW_LEAST..) => Self::Below((rows * 2 / 5).max(LIST_LEAST)),
            _ => Self::Nowhere,
        }
    }
}

/// Draws the finder; with it, how many lines of the preview can be scrolled away.
pub(super) fn draw(finder: &Finder, size: Size, ui: &Ui, now: Timestamp) -> (Frame, usize) {
    let view = View { finder, ui, now };
    let Size { columns, rows } = size;
    let (query, column) = view.query(columns);
    let mut all = vec![Row::new(query), Row::new(view.status(columns))];
    let foot = view.foot(size);
    let body = rows.saturating_sub(all.len() + foot.len());
    let mut scrolled = 0;
    match Arrangement::new(columns, body) {
        Arrangement::Nowhere => all.extend(view.list(columns, body).into_iter().map(Row::new)),
        Arrangement::Below(above) => {
            all.extend(view.list(columns, above).into_iter().map(Row::new));
            all.push(Row::new(ui.paint(Style::Dim, "─".repeat(columns))));
            let (preview, most) = view.preview(columns, body - above - 1);
            all.extend(preview.into_iter().map(Row::new));
            scrolled = most;
        }
        Arrangement::Beside(left) => {
            let (preview, most) = view.preview(columns - left - 3, body);
            let list = view.list(left, body).into_iter();
            all.extend(list.zip(preview).map(|(text, line)| Row {
                text,
                beside: Some((left + 1, format!("{} {line}", ui.paint(Style::Dim, "│")))),
            }));
            scrolled = most;
        }
    }
    all.extend(foot.into_iter().map(Row::new));
    all.truncate(rows);
    let frame = Frame {
        rows: all,
        cursor: (0, column.min(columns.saturating_sub(1))),
    };
    (frame, scrolled)
}

/// What is needed for a line.
struct View<'a> {
    finder: &'a Finder,
    ui: &'a Ui,
    now: Timestamp,
}

impl View<'_> {
    /// The line that is typed, and the column of the cursor. Of one that is too long, its end before the cursor is shown.
    fn query(&self, columns: usize) -> (String, usize) {
        let label = match self.finder.purpose {
            Purpose::Search => "Search: ",
            Purpose::Resume => "Resume: ",
        };
        let room = columns.saturating_sub(label.len() + 1);
        let (before, behind) = self.finder.line.halves();
        let before = ui::visible(before);
        let mut used = 0;
        let beyond = before.char_indices().rfind(|(_, sign)| {
            used += sign.width().unwrap_or(0);
            used > room
        });
        let start = beyond.map_or(0, |(at, sign)| at + sign.len_utf8());
        let before = &before[start..];
        let behind = match room.saturating_sub(before.width()) {
            0 => String::new(),
            left => ui::clipped(behind, left),
        };
        let label_width = label.len();
        let label = self.ui.paint(Style::Heading, label);
        let column = label_width + before.width();
        (format!("{label}{before}{behind}"), column)
    }

    /// How the search stands.
    fn status(&self, columns: usize) -> String {
        let (look, text) = match (&self.finder.note, &self.finder.standing) {
            (Some(note), _) => (Style::Added, note.clone()),
            (None, Standing::Begun) => (Style::Dim, "Reading the ledger…".to_owned()),
            (None, Standing::Refused(rule)) => (Style::Warning, rule.clone()),
            (None, Standing::Listed { more, index }) => match index_note(*index) {
                Some(note) => (Style::Warning, format!("{}; {note}", self.count(*more))),
                None => (Style::Dim, self.count(*more)),
            },
        };
        self.ui.paint(look, ui::one_line(&text, columns))
    }

    /// How many sessions are listed.
    fn count(&self, more: bool) -> String {
        let is_search = !self.finder.line.text().trim().is_empty();
        let count = ui::plural(self.finder.items.len() as u64, "session");
        match (self.finder.items.len(), self.finder.purpose) {
            (0, _) if is_search => "No matches".to_owned(),
            (0, Purpose::Search) => {
                "No sessions yet: start an agent, or run `siglum import`".to_owned()
            }
            (0, Purpose::Resume) => "No session can be resumed here".to_owned(),
            _ if more && is_search => format!("The best {count}"),
            _ if more => format!("The newest {count}"),
            _ if is_search => format!("{count} found"),
            _ => count,
        }
    }

    /// What can be typed, as far as there is room.
    fn foot(&self, size: Size) -> Vec<String> {
        let keys = match self.finder.purpose {
            Purpose::Search => KEYS_OF_SEARCH,
            Purpose::Resume => KEYS_OF_RESUME,
        };
        let lines = match size.rows {
            0..6 => Vec::new(),
            6..12 => vec![keys],
            _ => vec![TERMS, keys],
        };
        let line = |text: &str| self.ui.paint(Style::Dim, ui::one_line(text, size.columns));
        lines.into_iter().map(line).collect()
    }

    /// So many rows of the list, with the one at the cursor among them.
    fn list(&self, width: usize, rows: usize) -> Vec<String> {
        let finder = self.finder;
        let last = finder.items.len().saturating_sub(rows);
        let top = finder.selected.saturating_sub(rows / 2).min(last);
        let items = finder.items.iter().enumerate().skip(top).take(rows);
        let mut lines: Vec<String> = items
            .map(|(at, item)| self.row(item, at == finder.selected, width))
            .collect();
        lines.resize(rows, String::new());
        lines
    }

    fn row(&self, item: &Item, is_selected: bool, width: usize) -> String {
        let ui = self.ui;
        let mark = if is_selected { "> " } else { "  " };
        let mut line = format!("{mark}{}  ", ui.paint(Style::Id, item.session.short()));
        let mut used = mark.len() + item.session.short().len() + 2;
        if width >= DETAILS_LEAST {
            let agent = ui::one_line(&item.agent, AGENT);
            let age = ui::age(item.last_at, self.now);
            line += &ui.paint(Style::Agent, format!("{agent:<AGENT$}"));
            line += "  ";
            line += &ui.paint(Style::Time, format!("{age:<AGE$}"));
            line += "  ";
            used += AGENT + 2 + AGE + 2;
        }
        let room = width.saturating_sub(used);
        let text = match (item.hits.first(), &item.title) {
            (Some(hit), _) => ui::marked(ui, &hit.excerpt.text, &hit.excerpt.ranges, room),
            (None, Some(title)) if is_selected => {
                ui.paint(Style::Heading, ui::one_line(title, room))
            }
            (None, Some(title)) => ui::one_line(title, room),
            (None, None) => ui.paint(Style::Dim, ui::one_line("(no prompt)", room)),
        };
        line + &text
    }

    /// So many rows of the preview, and how many of its lines can be scrolled away.
    fn preview(&self, width: usize, rows: usize) -> (Vec<String>, usize) {
        let all = match self.finder.chosen() {
            Some(item) => self.preview_lines(item, width),
            None => Vec::new(),
        };
        let most = all.len().saturating_sub(rows);
        let skipped = self.finder.scroll.min(most);
        let mut lines: Vec<String> = all.into_iter().skip(skipped).take(rows).collect();
        lines.resize(rows, String::new());
        (lines, most)
    }

    fn preview_lines(&self, item: &Item, width: usize) -> Vec<String> {
        let ui = self.ui;
        let (agent, short) = (ui::one_line(&item.agent, 30), item.session.short());
        let room = width.saturating_sub(agent.width() + short.len() + 3);
        let title = ui::one_line(item.title.as_deref().unwrap_or("(no prompt)"), room);
        let facts = format!(
            "{}, {}, {}  {}",
            ui::ago(item.last_at, self.now),
            ui::plural(item.turns, "turn"),
            ui::plural(item.commits, "commit"),
            item.directory
        );
        let mut lines = vec![
            format!(
                "{} {}  {}",
                ui.paint(Style::Agent, agent),
                ui.paint(Style::Id, short),
                ui.paint(Style::Heading, title)
            ),
            ui.paint(Style::Dim, ui::one_line(&facts, width)),
        ];
        lines.extend(item.hits.iter().map(|hit| self.hit(hit, width)));
        lines.push(String::new());
        match self.finder.passages() {
            None => lines.push(ui.paint(Style::Dim, "…")),
            Some([]) => lines.push(ui.paint(Style::Dim, "(no conversation is stored)")),
            Some(passages) => {
                for passage in passages {
                    self.passage(passage, width, &mut lines);
                }
            }
        }
        lines
    }

    fn hit(&self, hit: &Hit, width: usize) -> String {
        let place = hit.place.word();
        let label = match hit.turn {
            Some(turn) => format!("turn {turn}, {place}: "),
            None => format!("{place}: "),
        };
        let room = width.saturating_sub(label.len());
        let text = ui::marked(self.ui, &hit.excerpt.text, &hit.excerpt.ranges, room);
        format!("{}{text}", self.ui.paint(Style::Dim, label))
    }

    /// The lines of a text, the first one behind its mark.
    fn passage(&self, passage: &Passage, width: usize, lines: &mut Vec<String>) {
        let paint = |line: &str| match passage.look {
            Some(look) => self.ui.paint(look, line),
            None => line.to_owned(),
        };
        let indent = match passage.mark {
            "" => 0,
            mark => mark.len() + 1,
        };
        let room = width.saturating_sub(indent);
        let wrapped = ui::wrap(&passage.text, room.max(1));
        for (at, line) in wrapped.iter().take(PASSAGE_LINES).enumerate() {
            let mark = if at == 0 { passage.mark } else { "" };
            let line = paint(&ui::clipped(line, room));
            lines.push(format!("{mark:<indent$}{line}"));
        }
        if wrapped.len() > PASSAGE_LINES {
            lines.push(format!("{:<indent$}{}", "", self.ui.paint(Style::Dim, "…")));
        }
    }
}

/// What the search index lacks.
fn index_note(index: IndexUse) -> Option<String> {
    match (index.is_used, index.waiting) {
        (true, 0) => None,
        (true, waiting) => Some(format!(
            "the index lacks the newest state of {}",
            ui::plural(waiting, "session")
        )),
        (false, waiting) => Some(format!(
            "no index yet ({} to go): prompts, names and commits only",
            ui::count(waiting)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::Answer;
    use super::super::state::tests::{WHOLE, answer, item};
    use super::*;
    use crate::ui::{Color, Key};

    fn passages() -> Vec<Passage> {
        let passage = |mark, text: &str, look| Passage {
            mark,
            text: text.to_owned(),
            look,
        };
        vec![
            passage("", "Turn 3", Some(Style::Heading)),
            passage(
                ">",
                "Round the totals of the cart to whole cents, please, and say what you changed in the end",
                None,
            ),
            passage(" ", "Bash cargo test", Some(Style::Dim)),
            passage("<", "Done.", None),
        ]
    }

    fn finder(text: &str, items: Vec<Item>) -> Finder {
        let mut finder = Finder::new(Purpose::Search, text.to_owned());
        let question = finder.next_question().expect("because it is new");
        finder.receive(answer(question.number, items));
        if let Some(of) = finder.next_preview() {
            finder.receive_preview(of, passages());
        }
        finder
    }

    fn two() -> Vec<Item> {
        vec![
            item(1, "Round the cart", true),
            item(2, "日本語の検索", false),
        ]
    }

    fn drawn(finder: &Finder, columns: usize, rows: usize) -> (Frame, usize) {
        let ui = Ui::new(Color::Never, false, false);
        let now = Timestamp::from_seconds(1_300);
        draw(finder, Size { columns, rows }, &ui, now)
    }

    fn texts(frame: &Frame) -> Vec<&str> {
        frame.rows.iter().map(|row| row.text.as_str()).collect()
    }

    #[test]
    fn at_80_columns_the_conversation_stands_below() {
        let (frame, scrolled) = drawn(&finder("cart", two()), 80, 16);
        let line = "─".repeat(80);
        let expected = [
            "Search: cart",
            "2 sessions found",
            "> 00000001  claude-code  5 min       the answer of Round the cart",
            "  00000002  claude-code  5 min       日本語の検索",
            "",
            "",
            &line,
            "claude-code 00000001  Round the cart",
            "5 min ago, 4 turns, 1 commit  ~/shop",
            "turn 3, answer: the answer of Round the cart",
            "",
            "Turn 3",
            "> Round the totals of the cart to whole cents, please, and say what you changed",
            "  in the end",
            "word  \"a phrase\"  pre*  path: agent: repo: tool: since: issue: pr: #42 is:error",
            "Enter show  Ctrl-R resume  Ctrl-Y copy id  Shift-Up/Down scroll  Esc leave",
        ];
        assert_eq!(texts(&frame), expected);
        assert_eq!((frame.cursor, scrolled), ((0, 12), 2));
    }

    #[test]
    fn at_160_columns_it_stands_beside() {
        let (frame, scrolled) = drawn(&finder("cart", two()), 160, 10);
        let beside = frame.rows.iter().filter_map(|row| row.beside.as_ref());
        let beside: Vec<(usize, &str)> = beside.map(|(at, text)| (*at, text.as_str())).collect();
        let expected = [
            "│ claude-code 00000001  Round the cart",
            "│ 5 min ago, 4 turns, 1 commit  ~/shop",
            "│ turn 3, answer: the answer of Round the cart",
            "│ ",
            "│ Turn 3",
            "│ > Round the totals of the cart to whole cents, please, and say what you changed in",
            "│   the end",
        ];
        assert_eq!(beside, expected.map(|text| (73, text)));
        assert_eq!(frame.rows.len(), 10);
        assert!(texts(&frame)[9].starts_with("Enter show"));
        assert_eq!(scrolled, 2);
    }

    #[test]
    fn the_preview_is_scrolled_and_the_list_follows_the_cursor() {
        let items = (1..=30).map(|n| item(n, &format!("title {n}"), false));
        let mut finder = finder("", items.collect());
        finder.scroll = 1;
        let (frame, _) = drawn(&finder, 80, 16);
        assert_eq!(texts(&frame)[1], "30 sessions");
        assert!(texts(&frame)[7].starts_with("5 min ago"), "{frame:?}");
        for _ in 0..25 {
            finder.press(Key::Down);
        }
        let (frame, _) = drawn(&finder, 80, 16);
        let selected = texts(&frame).into_iter().find(|row| row.starts_with("> "));
        assert!(
            selected.is_some_and(|row| row.ends_with("title 26")),
            "{frame:?}"
        );
    }

    #[test]
    fn what_the_index_lacks_and_what_is_no_query_is_shown() {
        let status = |finder: &Finder| texts(&drawn(finder, 80, 24).0)[1].to_owned();
        let mut one = finder("cart", Vec::new());
        assert_eq!(status(&one), "No matches");
        for (index, expected) in [
            (
                IndexUse {
                    is_used: false,
                    waiting: 1_200,
                },
                "No matches; no index yet (1 200 to go): prompts, names and commits only",
            ),
            (
                IndexUse {
                    waiting: 1,
                    ..WHOLE
                },
                "No matches; the index lacks the newest state of 1 session",
            ),
        ] {
            let mut other = answer(0, Vec::new());
            if let Ok(list) = &mut other.result {
                list.index = index;
            }
            one.receive(other);
            assert_eq!(status(&one), expected);
        }
        one.receive(Answer {
            number: 0,
            result: Err("`a\nb`: no".to_owned()),
        });
        assert_eq!(status(&one), "`a b`: no");
        one.note = Some("Sent".to_owned());
        assert_eq!(status(&one), "Sent");
        let none = finder("", Vec::new());
        assert!(status(&none).starts_with("No sessions yet"));
    }

    #[test]
    fn what_is_typed_is_shown_up_to_the_cursor() {
        let (frame, _) = drawn(&finder(&"ab".repeat(40), Vec::new()), 40, 8);
        assert_eq!(texts(&frame)[0], format!("Search: b{}", "ab".repeat(15)));
        assert_eq!(frame.cursor, (0, 39));
        let mut short = finder("one two", Vec::new());
        short.press(Key::Home);
        let (frame, _) = drawn(&short, 12, 8);
        assert_eq!(texts(&frame)[0], "Search: on…");
        assert_eq!(frame.cursor, (0, 8));
    }

    #[test]
    fn every_size_has_its_rows_and_no_line_is_wider() {
        let finder = finder("cart", two());
        for columns in (0..170).step_by(7) {
            for rows in 0..40 {
                let (frame, _) = drawn(&finder, columns, rows);
                assert_eq!(frame.rows.len(), rows, "{columns}");
                for row in frame.rows.iter().filter(|_| columns >= 28) {
                    assert!(row.text.width() <= columns, "{columns}: {row:?}");
                    let (at, beside) = row.beside.clone().unwrap_or_default();
                    assert!(at + beside.width() <= columns, "{columns}: {row:?}");
                }
            }
        }
    }
}
