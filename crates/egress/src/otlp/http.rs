//! OTLP over HTTP.

use std::io::Write as _;

use flate2::write::GzEncoder;
use ureq::Agent;
use ureq::http::StatusCode;

use super::after::retry_after;
use super::refusal::Refusal;
use super::{Compression, OtlpAnswer, OtlpClient, OtlpError, Protocol, Signal, only_signal};
use crate::agent::ANSWER_MOST;

impl OtlpClient {
    /// Where a signal goes.
    fn url(&self, signal: Signal) -> String {
        let address = &self.settings.address;
        match only_signal(address) {
            Some(_) => address.to_string(),
            None => address.join(signal.path()),
        }
    }

    pub(super) fn post(
        &self,
        agent: &Agent,
        signal: Signal,
        body: &[u8],
    ) -> Result<OtlpAnswer, OtlpError> {
        let form = match self.settings.protocol {
            Protocol::HttpJson => "application/json",
            Protocol::HttpProtobuf | Protocol::Grpc => "application/x-protobuf",
        };
        let mut request = agent
            .post(self.url(signal))
            .header("accept", form)
            .content_type(form);
        for header in &self.settings.headers {
            request = request.header(header.name(), header.sensitive());
        }
        let sent = match self.settings.compression {
            Compression::Gzip => request
                .header("content-encoding", "gzip")
                .send(gzip(body).as_slice()),
            Compression::None => request.send(body),
        };
        let mut response = sent.map_err(|e| self.unreachable(e))?;
        let status = response.status();
        let after = retry_after(response.headers());
        let content_type = response.headers().get("content-type");
        let content_type = content_type.and_then(|v| v.to_str().ok());
        let content_type = content_type.unwrap_or(form).to_ascii_lowercase();
        // The status says whether it was taken. That the rest does not arrive changes nothing about that.
        let body = response.body_mut().with_config().limit(ANSWER_MOST);
        let body = body.read_to_vec().unwrap_or_default();
        if status.is_success() {
            return Ok(OtlpAnswer { content_type, body });
        }
        let refusal = Refusal::http(status.as_u16(), &content_type, &body);
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => self.busy(refusal, after),
            StatusCode::PAYLOAD_TOO_LARGE => self.too_large(refusal),
            _ => self.refused(elsewhere(status, refusal)),
        })
    }
}

/// A server that sends to another address has no reason of its own: no other is asked.
fn elsewhere(status: StatusCode, mut refusal: Refusal) -> Refusal {
    if status.is_redirection() {
        "it redirects to another address; redirects are not followed"
            .clone_into(&mut refusal.message);
    }
    refusal
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let done = packed.write_all(body).and_then(|()| packed.finish());
    done.expect("because writing to memory cannot go wrong")
}
