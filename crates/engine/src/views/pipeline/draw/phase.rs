//! One phase: its head, its sessions in waves, what was checked, reviewed and agreed on.

use siglum_domain::SessionId;
use siglum_domain::pipeline::{Check, CheckEvidence, CheckResult, Instance, Phase, Review, State};

use super::canvas::{Block, Border, FRAME, Line, Style, Tone, beside, boxed};
use super::measure::{clean, duration, plural, width};
use super::symbols::{of_activity, of_result, of_state, of_verdict};

/// How wide the content of a session's box is at most.
const SESSION_MOST: usize = 30;
/// How wide a line of words makes a box at most.
const WORDS_MOST: usize = 72;

/// One phase in the making.
pub(super) struct Drawn<'a> {
    phase: &'a Phase,
    style: Style,
    /// The sessions of the whole pipeline, by what they are called.
    names: &'a dyn Fn(SessionId) -> Option<String>,
}

impl<'a> Drawn<'a> {
    pub(super) const fn new(
        phase: &'a Phase,
        style: Style,
        names: &'a dyn Fn(SessionId) -> Option<String>,
    ) -> Self {
        Self {
            phase,
            style,
            names,
        }
    }

    /// How wide the content would like to be.
    pub(super) fn wish(&self) -> usize {
        let [left, right] = self.head();
        let head = left.width() + 3 + right.width();
        let wave = |wave: &Vec<Instance>| {
            let boxes: usize = wave.iter().map(|i| self.session(i).width).sum();
            boxes + wave.len().saturating_sub(1)
        };
        let waves = self.phase.waves.iter().map(wave);
        let words = self.words().into_iter().map(|l| l.width().min(WORDS_MOST));
        waves.chain(words).chain([head]).max().unwrap_or(0)
    }

    /// The box, with content of this width.
    pub(super) fn block(&self, inner: usize) -> Block {
        let [left, right] = self.head();
        let gap = inner.saturating_sub(left.width() + right.width());
        let mut lines = Vec::new();
        if gap > 0 {
            let mut head = left.and(Tone::Plain, " ".repeat(gap));
            head.0.extend(right.0);
            lines.push(head);
        } else {
            lines.extend([left, right]);
        }
        for (nth, wave) in self.phase.waves.iter().enumerate() {
            if nth > 0 {
                let arrow = if self.style.ascii { "v" } else { "↓" };
                lines.push(Line::new(Tone::Dim, format!("   {arrow}")));
            }
            lines.extend(self.wave(wave, inner));
        }
        let works = self.phase.instances().any(|i| i.member.activity.is_live());
        if self.phase.is_current() && !works {
            lines.push(Line::new(Tone::Dim, "no session is at work"));
        }
        lines.extend(self.words());
        let live = self.phase.is_current();
        let (_, tone) = of_state(self.phase.state, self.style.ascii);
        let tone = if live { tone } else { Tone::Dim };
        boxed(
            lines,
            inner,
            tone,
            &Border::new(live, self.style.ascii),
            self.style.ascii,
        )
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.style.ascii)
    }

    fn name(&self) -> String {
        let name = self.phase.name.as_deref();
        name.map_or_else(|| "no phase".to_owned(), |name| self.clean(name))
    }

    fn dot(&self) -> &'static str {
        if self.style.ascii { ", " } else { " · " }
    }

    /// What stands at the left and at the right of the first line.
    fn head(&self) -> [Line; 2] {
        let phase = self.phase;
        let (sign, tone) = of_state(phase.state, self.style.ascii);
        let left = Line::new(tone, format!("{sign} ")).and(Tone::Title, self.name());
        let mut right = Line::new(tone, phase.state.word());
        if phase.cycles > 1 {
            right = right.and(
                Tone::Warning,
                format!("{}cycle {}", self.dot(), phase.cycles),
            );
        }
        if phase.state != State::Pending && phase.started.is_some() {
            let time = format!("{}{}", self.dot(), duration(phase.duration_ms));
            right = right.and(Tone::Dim, time);
        }
        [left, right]
    }

    /// A wave: its boxes side by side, as many as fit, the others below.
    fn wave(&self, wave: &[Instance], inner: usize) -> Vec<Line> {
        let mut rows: Vec<Vec<Block>> = Vec::new();
        let mut used = usize::MAX;
        for instance in wave {
            let block = self.session_within(instance, inner);
            let wanted = used.saturating_add(1 + block.width);
            match rows.last_mut() {
                Some(row) if wanted <= inner => {
                    used = wanted;
                    row.push(block);
                }
                _ => {
                    used = block.width;
                    rows.push(vec![block]);
                }
            }
        }
        let mut lines = Vec::new();
        if rows.len() > 1 {
            lines.push(Line::new(Tone::Dim, format!("{} at one time:", wave.len())));
        }
        lines.extend(rows.into_iter().flat_map(|row| beside(row).lines));
        lines
    }

    fn session(&self, instance: &Instance) -> Block {
        self.session_within(instance, usize::MAX)
    }

    fn session_within(&self, instance: &Instance, most: usize) -> Block {
        let lines = self.session_lines(instance);
        let wish = lines.iter().map(Line::width).max().unwrap_or(0);
        let inner = wish.min(SESSION_MOST).min(most.saturating_sub(FRAME));
        let live = instance.member.activity.is_live();
        let (_, tone) = of_activity(instance.member.activity, self.style.ascii);
        let tone = if live { tone } else { Tone::Dim };
        boxed(
            lines,
            inner,
            tone,
            &Border::new(live, self.style.ascii),
            self.style.ascii,
        )
    }

    fn session_lines(&self, instance: &Instance) -> Vec<Line> {
        let member = &instance.member;
        let (sign, tone) = of_activity(member.activity, self.style.ascii);
        let number = match instance.number {
            1 => String::new(),
            n => format!(" #{n}"),
        };
        // A long name must not hide which one it is.
        let room = SESSION_MOST.saturating_sub(2 + width(&number));
        let name = super::measure::cut(&self.clean(&instance.name), room, self.style.ascii);
        let mut lines = vec![
            Line::new(tone, format!("{sign} "))
                .and(Tone::Title, name)
                .and(Tone::Title, number),
        ];
        let state = if member.detached {
            "detached"
        } else {
            member.activity.word()
        };
        let time = format!("{}{}", self.dot(), duration(instance.duration_ms));
        lines.push(Line::new(tone, state).and(Tone::Plain, time));
        let short = member.session.short();
        let agent = member.agent.as_ref();
        let agent = agent.map(|agent| self.clean(agent.as_str()));
        let agent = agent.filter(|agent| *agent != instance.name);
        lines.push(Line::new(
            Tone::Dim,
            match agent {
                Some(agent) => format!("{short} {agent}"),
                None => short,
            },
        ));
        if member.commits > 0 {
            lines.push(Line::new(Tone::Plain, plural(member.commits, "commit")));
        }
        lines
    }

    /// What was agreed on, checked and reviewed, a line each.
    pub(super) fn words(&self) -> Vec<Line> {
        let contract = |c: &siglum_domain::pipeline::Contract| {
            let version = c
                .version
                .as_ref()
                .map_or_else(String::new, |v| format!(" {v}"));
            Line::new(Tone::Dim, "contract ")
                .and(Tone::Plain, self.clean(&format!("{}{version}", c.name)))
                .and(
                    Tone::Dim,
                    format!(" {}", &c.digest[..c.digest.len().min(8)]),
                )
        };
        let contracts = self.phase.contracts.iter().map(contract);
        let checks = self.phase.checks.iter().map(|c| self.check(c));
        let reviews = self.phase.reviews.iter().map(|r| self.review(r));
        contracts.chain(checks).chain(reviews).collect()
    }

    fn check(&self, check: &Check) -> Line {
        // What contradicts itself is no result.
        let shown = match check.contradictory {
            true => CheckResult::Errored,
            false => check.result,
        };
        let (sign, tone) = of_result(shown, self.style.ascii);
        let doubt = match check.contradictory {
            true => " but says it was skipped, not counted",
            false => "",
        };
        let runs = if check.runs > 1 {
            format!(", run {}", check.runs)
        } else {
            String::new()
        };
        Line::new(Tone::Dim, "check ")
            .and(tone, format!("{sign} "))
            .and(Tone::Plain, self.clean(&check.name))
            .and(tone, format!(" {}{doubt}{runs}", check.result))
            .and(Tone::Plain, self.source(check))
            .and(
                Tone::Dim,
                self.first_line_suffix(check.summary.as_ref().map(|s| s.as_str())),
            )
    }

    /// Whose word the result of a check is.
    fn source(&self, check: &Check) -> String {
        match (check.evidence, check.session) {
            (CheckEvidence::Session, Some(session)) => {
                format!(", run in session {}", session.short())
            }
            _ => format!(", reported by {}", self.clean(&check.by)),
        }
    }

    fn review(&self, review: &Review) -> Line {
        let (sign, tone) = of_verdict(review.verdict, self.style.ascii);
        let own = || review.session.and_then(|s| (self.names)(s));
        let who = review
            .role
            .clone()
            .or_else(own)
            .unwrap_or_else(|| review.by.clone());
        Line::new(Tone::Dim, "review ")
            .and(tone, format!("{sign} "))
            .and(tone, review.verdict.word().replace('_', " "))
            .and(Tone::Plain, format!(" by {}", self.clean(&who)))
            .and(Tone::Plain, self.validated(review))
            .and(
                Tone::Dim,
                self.first_line_suffix(review.text.as_ref().map(|t| t.as_str())),
            )
    }

    /// Which contract a review validates the work against, and whether its author gave it.
    fn validated(&self, review: &Review) -> String {
        let Some(contract) = &review.contract else {
            return String::new();
        };
        let name = self.clean(&contract.name);
        match (&contract.stated, review.is_by_another()) {
            (None, _) => format!(" of contract {name}, which is not recorded"),
            (Some(_), Some(false)) => format!(" of its own contract {name}"),
            (Some(_), Some(true)) => format!(" of contract {name} of another session"),
            (Some(_), None) => format!(" of contract {name}"),
        }
    }

    /// The first line of what was said.
    fn first_line_suffix(&self, text: Option<&str>) -> String {
        let first = text.and_then(|t| t.lines().find(|l| !l.trim().is_empty()));
        first.map_or_else(String::new, |line| format!(": {}", self.clean(line)))
    }
}
