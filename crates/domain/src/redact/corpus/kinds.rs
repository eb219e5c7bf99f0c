//! The kinds of secrets that other scanners name, as `scanners.txt` lists them.

use super::draw::Draw;

/// A kind of secret that a scanner names.
pub(super) struct Kind {
    pub(super) scanner: &'static str,
    pub(super) name: &'static str,
    /// Whether it is known by its own form; else by a name before it.
    pub(super) is_own: bool,
    pub(super) form: &'static str,
}

impl Kind {
    /// A text that looks like it and is no secret: the form cut short, or the same signs without a name.
    pub(super) fn lookalike(&self, draw: &mut Draw) -> Option<String> {
        let is_bare = self.form.starts_with('{') && self.form.ends_with('}');
        if self.form.contains("://") {
            return None;
        }
        if self.is_own {
            let literal = self.form.split('{').next().unwrap_or_default();
            return (literal.len() >= 2).then(|| format!("It begins with {literal} as a rule."));
        }
        (is_bare && self.form.matches('{').count() == 1)
            .then(|| draw.fill(&format!("build {} is done", self.form)))
    }
}

/// All of them; several scanners may name the same form.
pub(super) fn kinds() -> Vec<Kind> {
    let lines = include_str!("scanners.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [scanner, name, known, form] = columns[..] else {
            panic!("not four columns: {line}");
        };
        Kind {
            scanner,
            name,
            is_own: known == "own",
            form,
        }
    })
    .collect()
}
