//! Search at the team's gateway, for `siglum search --team`.

use siglum_domain::search::SearchQuery;
use siglum_engine::views::search::{SearchListJson, SearchResultJson};

use super::{Answer, Args, PRINTED};
use crate::clock;
use crate::commands::team::{reader, redact};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::reader::Paging;

/// The most sessions of a page.
const PAGE: usize = 100;
/// How many sessions a gateway looks through for one page.
const WITHIN: usize = 500;
/// The most pages.
const PAGES: usize = 100;

pub(super) fn find(args: &Args, cx: &Cx) -> Result<Answer, CommandError> {
    let words = args.words.join(" ");
    SearchQuery::parse(&words, clock::now())
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let (reader, mut parameters) = reader(cx, &args.place, args.period)?;
    parameters.push(("q", words.trim().to_owned()));
    let agent = args.agent.as_ref();
    parameters.extend(agent.map(|agent| ("agent", agent.to_string())));
    let paging = Paging {
        rows: args.limit.unwrap_or(PRINTED),
        page: PAGE,
        pages: match args.within {
            0 => PAGES,
            within => within.div_ceil(WITHIN).min(PAGES),
        },
    };
    let mut list = SearchListJson::default();
    reader.pages("/v1/search", &parameters, paging, |page: SearchListJson| {
        let (count, next) = (page.items.len(), page.next);
        list.items.extend(page.items.into_iter().map(cleaned));
        (list.more, list.next, list.index) = (next.is_some(), next, page.index);
        (count, next.map(|session| session.to_string()))
    })?;
    Ok(Answer {
        list,
        looked_at: None,
        source: Some(reader.source()),
    })
}

/// The same without secrets. What a gateway says of commands is not passed on.
fn cleaned(mut found: SearchResultJson) -> SearchResultJson {
    for hit in &mut found.hits {
        hit.show = None;
        redact(&mut hit.text);
    }
    SearchResultJson {
        session: found.session.cleaned(),
        hits: found.hits,
        resume: None,
    }
}

/// Says how to find more.
pub(super) fn note_more(args: &Args, cx: &Cx, list: &SearchListJson) {
    if list.more {
        cx.ui.hint(match (args.limit, args.within) {
            (Some(0), 0) => "There are more sessions than are searched at once; name a time with `--since` and `--until`.",
            _ => "There are more sessions; pass `--within 0` to search all of them, `--limit 0` to show all matches.",
        });
    }
}
