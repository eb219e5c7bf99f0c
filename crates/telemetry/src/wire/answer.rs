//! What the sender is told.

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use serde_json::json;

use super::batch::{Batch, Encoding, Signal};

impl Batch {
    /// The answer to the request: empty, or how many records were left out and why the first of them was.
    #[must_use]
    pub fn answer(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Protobuf => self.answer_protobuf(),
            Encoding::Json => self.answer_json(),
        }
    }

    fn partial_success(&self) -> Option<(i64, String)> {
        let rejected = i64::try_from(self.rejected).unwrap_or(i64::MAX);
        let why = self.problem.clone().unwrap_or_default();
        (rejected > 0).then_some((rejected, why))
    }

    fn answer_protobuf(&self) -> Vec<u8> {
        let rejection = self.partial_success();
        match self.signal() {
            Signal::Traces => ExportTraceServiceResponse {
                partial_success: rejection.map(|(n, why)| ExportTracePartialSuccess {
                    rejected_spans: n,
                    error_message: why,
                }),
            }
            .encode_to_vec(),
            Signal::Logs => ExportLogsServiceResponse {
                partial_success: rejection.map(|(n, why)| ExportLogsPartialSuccess {
                    rejected_log_records: n,
                    error_message: why,
                }),
            }
            .encode_to_vec(),
            Signal::Metrics => ExportMetricsServiceResponse {
                partial_success: rejection.map(|(n, why)| ExportMetricsPartialSuccess {
                    rejected_data_points: n,
                    error_message: why,
                }),
            }
            .encode_to_vec(),
        }
    }

    fn answer_json(&self) -> Vec<u8> {
        let Some((rejected, why)) = self.partial_success() else {
            return b"{}".to_vec();
        };
        let key = match self.signal() {
            Signal::Traces => "rejectedSpans",
            Signal::Logs => "rejectedLogRecords",
            Signal::Metrics => "rejectedDataPoints",
        };
        // 64-bit numbers are texts in this form.
        let value = json!({ key: rejected.to_string(), "errorMessage": why });
        json!({ "partialSuccess": value }).to_string().into_bytes()
    }
}
