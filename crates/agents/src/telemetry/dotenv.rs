//! The variable for headers in a file of variables.

use super::{Export, Set};

const NAME: &str = "OTEL_EXPORTER_OTLP_HEADERS";

fn line(export: &Export) -> String {
    format!("{NAME}=\"{}\"", export.header())
}

/// The lines that set the variable.
fn setting(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split('=').next().map(str::trim) == Some(NAME)
    })
}

pub(super) fn set(text: Option<&str>, export: &Export) -> Set {
    let (before, line) = (text.unwrap_or_default(), line(export));
    if setting(before).next().is_some() {
        return Set {
            text: text.map(str::to_owned),
            added: Vec::new(),
            kept: Vec::new(),
        };
    }
    Set {
        text: Some(match before.is_empty() || before.ends_with('\n') {
            true => format!("{before}{line}\n"),
            false => format!("{before}\n{line}"),
        }),
        added: vec![NAME.to_owned()],
        kept: Vec::new(),
    }
}

/// The text without our line.
pub(super) fn unset(text: &str, export: &Export) -> Option<String> {
    let ours = line(export);
    if let Some(before) = text.strip_suffix(&format!("\n{ours}")) {
        return Some(before.to_owned());
    }
    let left: String = text
        .split_inclusive('\n')
        .filter(|line| line.trim_end_matches(['\r', '\n']) != ours)
        .collect();
    (!left.is_empty()).then_some(left)
}

/// The variable, where a person set it to something else.
pub(super) fn elsewhere(text: &str, export: &Export) -> Option<String> {
    let ours = line(export);
    let mut lines = setting(text);
    lines.any(|line| line != ours).then(|| NAME.to_owned())
}
