//! Cost at the team's gateway, for `siglum cost --team`.

use siglum_domain::SessionId;
use siglum_engine::views::cost::CostReportJson;

use super::{Answer, Args, Since};
use crate::commands::team::{linked, reader, redact};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::time::Period;

/// The most rows that a gateway gives.
const ROWS_MOST: usize = 10_000;

pub(super) fn find(args: &Args, cx: &Cx) -> Result<Answer, CommandError> {
    let period = Period {
        since: args.from(),
        until: args.until,
    };
    let (reader, mut parameters) = reader(cx, &args.place, period)?;
    if args.since == Some(Since::All) {
        // A gateway, too, answers for the last days where it is asked for no time.
        parameters.push(("since", "all".to_owned()));
    }
    if let Some(session) = &args.session {
        let id = session.parse::<SessionId>().map_err(|_| {
            CommandError::usage("`--session` with `--team` needs the whole id of a session")
                .hint("`siglum session list --team --json` shows it.")
        })?;
        // A session is one, wherever it works.
        parameters.retain(|(name, _)| *name != "repository");
        parameters.push(("session", id.to_string()));
    }
    parameters.push(("by", args.by.word().to_owned()));
    let agent = args.agent.as_ref();
    parameters.extend(agent.map(|agent| ("agent", agent.to_string())));
    parameters.extend(args.model.clone().map(|model| ("model", model)));
    parameters.extend(linked(&args.link));
    let limit = match args.limit {
        0 => ROWS_MOST,
        limit => limit.min(ROWS_MOST),
    };
    parameters.push(("limit", limit.to_string()));
    let report: CostReportJson = reader.get("/v1/cost", &parameters)?;
    Ok(Answer {
        report: cleaned(report),
        explained: None,
        repositories: Vec::new(),
        source: Some(reader.source()),
    })
}

/// The same without secrets.
fn cleaned(mut report: CostReportJson) -> CostReportJson {
    redact(&mut report.by);
    redact(&mut report.prices);
    for row in &mut report.rows {
        let texts = [
            &mut row.key,
            &mut row.repository,
            &mut row.repository_remote,
            &mut row.title,
        ];
        texts.into_iter().flatten().for_each(redact);
    }
    let models = report.unpriced.iter_mut();
    models
        .filter_map(|unpriced| unpriced.model.as_mut())
        .for_each(redact);
    report
}
