//! What commands need for `--team`, which shows what the team's gateway has, and nothing of this machine.

mod documents;

pub use documents::{LogEntry, link_words, redact, state};
use siglum_domain::link::Link;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::team::Source;
use crate::team::reader::{Parameters, Reader};
use crate::time::Period;
use crate::ui::{self, Style};

/// The gateway for a list, and the filters of the list.
pub fn reader(
    cx: &Cx,
    place: &Where,
    period: Period,
) -> Result<(Reader, Parameters), CommandError> {
    let repository = place.name_at_gateway(cx)?;
    let mut parameters = Parameters::new();
    parameters.extend(repository.map(|name| ("repository", name)));
    parameters.extend(period.since.map(|at| ("since", at.to_string())));
    parameters.extend(period.until.map(|at| ("until", at.to_string())));
    Ok((Reader::find(cx, place.is_elsewhere())?, parameters))
}

/// The parameters that have only sessions or turns with these links.
pub fn linked(links: &[Link]) -> Parameters {
    let parameter = |link: &Link| (link.field(), link.value());
    links.iter().map(parameter).collect()
}

/// Says where an answer is from.
pub fn print_source(cx: &Cx, source: &Source) -> Result<(), CommandError> {
    let (gateway, at) = (&source.gateway, ui::when(source.at));
    let text = format!("from {gateway}, as of {at}");
    cx.ui.line(cx.ui.paint(Style::Dim, text))
}
