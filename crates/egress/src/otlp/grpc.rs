//! OTLP over gRPC.
//!
//! The calls run on a runtime of one thread, the caller's: between calls the connection rests.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf as _, BufMut as _};
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use ureq::http::uri::PathAndQuery;

use super::after::MOST;
use super::{
    Compression, OtlpAnswer, OtlpClient, OtlpError, OtlpSettings, Refusal, Signal, refusal,
};
use crate::agent::{ANSWER_MOST, NAME};
use crate::problem::shown;

/// The way to a server, from the first call on.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<Option<Arc<Open>>>);

#[derive(Debug)]
struct Open {
    channel: Channel,
    runtime: Runtime,
}

impl Calls {
    fn open(&self, settings: &OtlpSettings) -> Result<Arc<Open>, Box<dyn Error>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut endpoint = Endpoint::from_shared(settings.address.as_str().to_owned())?
            .user_agent(NAME)?
            .connect_timeout(settings.timeouts.connect);
        if settings.address.is_encrypted() {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots())?;
        }
        let entered = runtime.enter();
        let channel = endpoint.connect_lazy();
        drop(entered);
        let made = Arc::new(Open { channel, runtime });
        *open = Some(Arc::clone(&made));
        Ok(made)
    }
}

impl OtlpClient {
    pub(super) fn call(
        &self,
        calls: &Calls,
        signal: Signal,
        body: &[u8],
    ) -> Result<OtlpAnswer, OtlpError> {
        let open = calls
            .open(&self.settings)
            .map_err(|e| self.unreachable(e))?;
        let mut request = Request::new(body.to_vec());
        for header in &self.settings.headers {
            let key = AsciiMetadataKey::from_bytes(header.name().as_bytes())
                .expect("because the names of headers are checked");
            let value = AsciiMetadataValue::try_from(header.sensitive().as_bytes());
            let mut value = value.expect("because the values of headers are checked");
            value.set_sensitive(true);
            request.metadata_mut().insert(key, value);
        }
        let mut client = Grpc::new(open.channel.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(usize::try_from(ANSWER_MOST).unwrap_or(usize::MAX));
        if self.settings.compression == Compression::Gzip {
            client = client.send_compressed(CompressionEncoding::Gzip);
        }
        let answer = open.runtime.block_on(async {
            let call = async {
                let ready = client.ready().await;
                ready.map_err(|e| Status::from_error(Box::new(e)))?;
                client.unary(request, path(signal), Raw).await
            };
            tokio::time::timeout(self.settings.timeouts.whole, call).await
        });
        match answer {
            Ok(Ok(answer)) => Ok(OtlpAnswer {
                content_type: "application/x-protobuf".to_owned(),
                body: answer.into_inner(),
            }),
            Ok(Err(status)) => Err(self.failed(&status)),
            Err(_) => Err(self.unreachable("no response in time")),
        }
    }

    /// What the protocol says about coming again.
    fn failed(&self, status: &Status) -> OtlpError {
        if let Some(cause) = status.source() {
            return self.unreachable(chain(cause));
        }
        let retry = refusal::Status::read(status.details()).retry;
        let retry = retry.map(|after| after.min(MOST));
        let refusal = Refusal {
            code: super::Code::Grpc(status.code().into()),
            message: shown(status.message()),
        };
        match status.code() {
            Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::Unavailable
            | Code::DataLoss => self.busy(refusal, retry),
            Code::ResourceExhausted if retry.is_some() => self.busy(refusal, retry),
            // No code of its own says this.
            Code::ResourceExhausted | Code::OutOfRange if is_of_size(&refusal.message) => {
                self.too_large(refusal)
            }
            Code::OutOfRange => self.busy(refusal, retry),
            _ => self.refused(refusal),
        }
    }
}

/// Whether a message is about a request that is too large, in the words of the common servers.
fn is_of_size(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["larger than", "too large", "exceeds maximum", "max size"]
        .iter()
        .any(|words| message.contains(words))
}

/// An error with its causes, since the outermost one says little.
fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

fn path(signal: Signal) -> PathAndQuery {
    PathAndQuery::from_static(match signal {
        Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    })
}

/// Messages as they are: who calls has encoded them, and decodes the answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).to_vec()))
    }
}
