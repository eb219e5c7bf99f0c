//! A store that does not forget.

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Forgetting, Holdings, KeptTelemetry, LedgerError, Payload, Segment, TelemetryStore, TextColumn,
};

use super::verbs::broken;
use super::{BrokenTx, Kind};

broken! { Forgetting, FORGETTING, LIMITED;
    Find holdings(session: SessionId) -> Option<Holdings>;
    Write forget_session(session: SessionId, at: Timestamp) -> ();
    Write forget_parts(session: SessionId, at: Timestamp) -> ();
    List payloads(after: u64; limit) -> Vec<Payload>;
    Write put_payload(position: u64, fact: Option<&str>) -> ();
    List segments(stream: &str, first: u64; limit) -> Vec<Segment>;
    Write put_lines(segment: &Segment) -> ();
    List objects_of(session: SessionId) -> Vec<String>;
    List objects_of_others(sessions: &[SessionId]) -> Vec<String>;
    Write drop_object(address: &str) -> ();
    List texts(column: TextColumn, after: &str; limit) -> Vec<String>;
    Write replace_text(column: TextColumn, old: &str, new: Option<&str>) -> ();
    List text_columns() -> Vec<(String, String)>;
    List kept_telemetry(store: TelemetryStore, after: u64; limit) -> Vec<KeptTelemetry>;
    Write drop_telemetry(store: TelemetryStore, sequence: u64) -> ();
}
