//! Reads one record.

use siglum_domain::Timestamp;
use siglum_domain::trace::{SpanId, TraceId};

use super::claims::{Claims, Origin};
use super::heard::Heard;
use crate::wire::{Item, View};

/// Listens to one record.
pub(super) fn hear(view: &View<'_>) -> Heard {
    Heard {
        record: view.index,
        at: Timestamp::from_nanos(0),
        name: String::new(),
        trace: None,
        span: None,
        parent: None,
        claims: Claims {
            agent: None,
            session: None,
            natives: Vec::new(),
            conflict: false,
            call: None,
            origin: Origin::Other,
            subagent: None,
        },
        observations: Vec::new(),
    }
}
