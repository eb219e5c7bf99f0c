//! Lines of our extension → observations.

use serde_json::{Map, Value};

use super::discover::sessions;
use crate::draft::word;
use crate::hook::{Declined, HookCall, ReduceError, Reduced};
use crate::paths::accept_below;
use crate::record::RecordLine;

/// Reads the payload of a hook: a line of the record protocol with the session file beside it.
pub(super) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let fields: Result<Map<String, Value>, _> = serde_json::from_slice(call.payload);
    let mut fields = fields.map_err(|_| ReduceError::NotJson {
        bytes: call.payload.len(),
    })?;
    let file = fields.remove("transcript_path");
    let mut out = RecordLine::from_fields(fields)?.reduce(call);
    // A session that Pi does not keep has none.
    if let Some(Value::String(file)) = file {
        out.transcript = accept_below(&sessions(call.agent_dir), "jsonl", &file);
        if out.transcript.is_none() {
            let detail = call.redactor.redact_cow(&word(&file)).into_owned();
            out.declines.push(Declined {
                reason: "transcript_outside",
                detail,
            });
        }
    }
    Ok(out)
}
