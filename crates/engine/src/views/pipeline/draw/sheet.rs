//! The whole drawing: head, phases with arrows between, totals.

use siglum_domain::SessionId;
use siglum_domain::pipeline::{Graph, Phase};

use super::canvas::{Drawing, FRAME, Line, Style, Tone};
use super::measure::{clean, count, duration, plural, width};
use super::phase::Drawn;
use super::symbols::of_state;

/// How wide a drawing is at most.
const WIDEST: usize = 100;
/// How narrow one may become.
const NARROWEST: usize = 20;
/// How wide the content of a phase is at least, where there is room.
const CONTENT_LEAST: usize = 44;
/// How wide the bar is.
const BAR: usize = 40;

/// Draws a pipeline.
#[must_use]
pub fn draw(graph: &Graph, style: &Style) -> Drawing {
    let style = Style {
        width: style.width.clamp(NARROWEST, WIDEST),
        ..*style
    };
    let sheet = Sheet { graph, style };
    let mut lines = sheet.head();
    lines.extend(sheet.phases());
    lines.extend(sheet.totals());
    let cut = |line: Line| match line.width() > style.width {
        true => line.fitted(style.width, style.ascii).0,
        false => line.0,
    };
    Drawing {
        lines: lines.into_iter().map(cut).collect(),
    }
}

struct Sheet<'a> {
    graph: &'a Graph,
    style: Style,
}

impl Sheet<'_> {
    fn dot(&self) -> &'static str {
        if self.style.ascii { ", " } else { " · " }
    }

    fn head(&self) -> Vec<Line> {
        let graph = self.graph;
        let (sign, tone) = of_state(graph.state, self.style.ascii);
        let id = clean(&graph.pipeline, self.style.ascii);
        let about = format!(
            "{}{}{}{}",
            self.dot(),
            graph.state,
            self.dot(),
            duration(graph.duration_ms)
        );
        // A long id must not hide how it stands.
        let room = self.style.width.saturating_sub(2 + width(&about)).max(8);
        let id = super::measure::cut(&id, room, self.style.ascii);
        let title = Line::new(tone, format!("{sign} "))
            .and(Tone::Title, id)
            .and(tone, about);
        let mut lines = vec![title];
        if !graph.phases.is_empty() {
            lines.extend([self.progress(), self.row()]);
        }
        lines.push(Line::default());
        lines
    }

    /// How far it has come: what is over counts one, what was begun a half.
    fn progress(&self) -> Line {
        let (all, halves) = (self.graph.phases.len() * 2, self.graph.halves());
        let percent = format!(" {} %", halves * 100 / all);
        let over = self
            .graph
            .phases
            .iter()
            .filter(|p| p.state.is_over())
            .count();
        let text = format!(
            "{}{over} of {} over",
            self.dot(),
            plural(self.graph.phases.len() as u64, "phase")
        );
        let bar = BAR.min(self.style.width.saturating_sub(percent.len()));
        let full = bar * halves / all;
        let (done, open) = if self.style.ascii {
            ("#", ".")
        } else {
            ("█", "░")
        };
        Line::new(Tone::Good, done.repeat(full))
            .and(Tone::Dim, open.repeat(bar - full))
            .and(Tone::Plain, percent)
            .and(Tone::Dim, text)
    }

    /// The phases on one line, what goes on in brackets.
    fn row(&self) -> Line {
        let mut line = Line::default();
        for (nth, phase) in self.graph.phases.iter().enumerate() {
            if nth > 0 {
                let arrow = if self.style.ascii { " -> " } else { " → " };
                line = line.and(Tone::Dim, arrow);
            }
            let (sign, tone) = of_state(phase.state, self.style.ascii);
            let name = clean(phase.name.as_deref().unwrap_or_default(), self.style.ascii);
            let label = format!("{sign} {name}");
            line = line.and(
                tone,
                if phase.is_current() {
                    format!("[{label}]")
                } else {
                    label
                },
            );
        }
        line
    }

    fn phases(&self) -> Vec<Line> {
        let names = |session: SessionId| self.name_of(session);
        let loose = Some(&self.graph.loose);
        let loose = loose.filter(|l| {
            !l.waves.is_empty() || !Drawn::new(l, self.style, &names).words().is_empty()
        });
        let all: Vec<&Phase> = self.graph.phases.iter().chain(loose).collect();
        let wish = all
            .iter()
            .map(|p| Drawn::new(p, self.style, &names).wish())
            .max();
        let room = self.style.width - FRAME;
        let inner = wish.unwrap_or(0).max(CONTENT_LEAST).min(room);
        let mut lines = Vec::new();
        for (nth, phase) in all.iter().enumerate() {
            if nth > 0 && phase.name.is_some() {
                let middle = " ".repeat((inner + FRAME) / 2);
                let signs = if self.style.ascii {
                    ["|", "v"]
                } else {
                    ["│", "▼"]
                };
                lines.extend(signs.map(|sign| Line::new(Tone::Dim, format!("{middle}{sign}"))));
            }
            if nth > 0 && phase.name.is_none() {
                lines.push(Line::default());
            }
            lines.extend(Drawn::new(phase, self.style, &names).block(inner).lines);
        }
        if all.is_empty() {
            lines.push(Line::new(Tone::Dim, "No phase and no session is known."));
        }
        lines
    }

    /// What a session is called in the graph.
    fn name_of(&self, session: SessionId) -> Option<String> {
        let mut all = self.graph.all_phases().flat_map(Phase::instances);
        all.find(|i| i.member.session == session)
            .map(siglum_domain::pipeline::Instance::label)
    }

    fn totals(&self) -> Vec<Line> {
        let totals = &self.graph.totals;
        let mut sessions = plural(totals.sessions, "session");
        if totals.live > 0 {
            sessions += &format!(" ({} live)", totals.live);
        }
        let tokens = totals.tokens;
        let cached = tokens.cache_read + tokens.cache_write;
        let tokens = format!(
            "tokens: {} in, {} cached, {} out",
            count(tokens.input),
            count(cached),
            count(tokens.output)
        );
        let mut parts = vec![sessions, plural(totals.commits, "commit"), tokens];
        parts.extend(totals.cost.map(|cost| format!("cost {cost}")));
        let mut lines = vec![Line::default()];
        let mut line = String::new();
        for part in parts {
            let longer = width(&line) + width(self.dot()) + width(&part);
            if !line.is_empty() && longer > self.style.width {
                lines.push(Line::new(Tone::Plain, std::mem::take(&mut line)));
            }
            if !line.is_empty() {
                line.push_str(self.dot());
            }
            line.push_str(&part);
        }
        lines.push(Line::new(Tone::Plain, line));
        lines.extend(self.checks());
        lines
    }

    fn checks(&self) -> Option<Line> {
        let checks = &self.graph.totals.checks;
        if checks.all() == 0 {
            return None;
        }
        let counts = [
            (checks.passed, "passed"),
            (checks.failed, "failed"),
            (checks.skipped, "skipped"),
            (checks.errored, "errored"),
            (checks.contradictory, "contradictory"),
        ];
        let counts = counts.into_iter().filter(|(n, _)| *n > 0);
        let parts: Vec<String> = counts.map(|(n, word)| format!("{n} {word}")).collect();
        let (all, tone) = if checks.is_all_passed() {
            ("all passed", Tone::Good)
        } else {
            ("not all passed", Tone::Warning)
        };
        Some(
            Line::new(Tone::Plain, "checks: ")
                .and(tone, all)
                .and(Tone::Plain, format!(": {}", parts.join(", "))),
        )
    }
}
