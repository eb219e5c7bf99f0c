//! A played server of telemetry: OTLP over HTTP, protobuf and JSON. It keeps what it takes, goes wrong as it is told,
//! and can be stopped and started again at the same address.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::{Map, Value, json};

/// What becomes of a request to a [`OtlpSink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SinkFate {
    /// It is taken.
    Well,
    /// The connection breaks before anything is read of the body.
    Before,
    /// The connection breaks in the middle of the body.
    Inside,
    /// It is taken, and the connection breaks before the answer.
    After,
    /// It is not taken, with this status, and these lines in the head of the answer, each with its end.
    Status(u16, &'static str),
    /// It is taken, but for so many of its parts, for this reason.
    Partly(i64, &'static str),
    /// It is answered with 200 by something that is no server of telemetry.
    Page,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct SinkRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The body as it was sent.
    pub(crate) sent: Vec<u8>,
    /// The request, in the JSON form of OTLP, however it was sent; null where none arrived whole.
    pub(crate) request: Value,
    pub(crate) taken: bool,
}

impl SinkRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    fn is_json(&self) -> bool {
        let form = self.header("content-type");
        form.is_some_and(|form| form.starts_with("application/json"))
    }
}

#[derive(Default)]
struct State {
    requests: Vec<SinkRequest>,
    fates: VecDeque<SinkFate>,
    open: Vec<TcpStream>,
    stopped: bool,
}

/// The server.
pub(crate) struct OtlpSink {
    /// Its address, without a path.
    pub(crate) url: String,
    at: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: Option<JoinHandle<()>>,
}

impl OtlpSink {
    /// A server at an address that nobody else has.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut sink = Self {
            url: format!("http://{at}"),
            at,
            state: Arc::default(),
            listening: None,
        };
        sink.listen(listener);
        sink
    }

    /// Nobody listens at the address any more, and all connections are cut. What was taken stays.
    pub(crate) fn stop(&mut self) {
        let Some(listening) = self.listening.take() else {
            return;
        };
        let open = {
            let mut state = self.state.lock().unwrap();
            state.stopped = true;
            std::mem::take(&mut state.open)
        };
        for stream in open {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Whoever waits for a connection gets one, and sees that it is over.
        let _ = TcpStream::connect(self.at);
        listening.join().unwrap();
    }

    /// Listens again, at the same address.
    pub(crate) fn start_again(&mut self) {
        self.stop();
        self.state.lock().unwrap().stopped = false;
        self.listen(TcpListener::bind(self.at).unwrap());
    }

    fn listen(&mut self, listener: TcpListener) {
        let state = Arc::clone(&self.state);
        self.listening = Some(std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                {
                    let mut state = state.lock().unwrap();
                    if state.stopped {
                        return;
                    }
                    state.open.push(stream.try_clone().unwrap());
                }
                let state = Arc::clone(&state);
                std::thread::spawn(move || while serve(&stream, &state).is_some() {});
            }
        }));
    }

    /// What becomes of the next requests; all others are taken.
    pub(crate) fn fates(&self, fates: impl IntoIterator<Item = SinkFate>) {
        self.state.lock().unwrap().fates = fates.into_iter().collect();
    }

    /// The next requests are not taken, with this status.
    pub(crate) fn fail(&self, times: usize, status: u16) {
        self.fates(vec![SinkFate::Status(status, ""); times]);
    }

    /// How many fates were not yet anybody's.
    pub(crate) fn pending_fates(&self) -> usize {
        self.state.lock().unwrap().fates.len()
    }

    /// The requests that came, in order, taken or not.
    pub(crate) fn requests(&self) -> Vec<SinkRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Forgets what came.
    pub(crate) fn forget(&self) {
        self.state.lock().unwrap().requests.clear();
    }

    /// The spans that were taken, in order, each as often as it was: as in the JSON form, with `attributes` and the
    /// `resource` of each as plain objects, and with the attributes of its links and events, too.
    pub(crate) fn spans(&self) -> Vec<Value> {
        self.taken("/v1/traces", ["resourceSpans", "scopeSpans", "spans"])
    }

    /// The spans of each request that was taken, in the form of [`spans`](Self::spans).
    pub(crate) fn batches(&self) -> Vec<Vec<Value>> {
        let names = ["resourceSpans", "scopeSpans", "spans"];
        let requests = self.requests().into_iter();
        let traces = requests.filter(|r| r.taken && r.path.ends_with("/v1/traces"));
        traces.map(|r| items(&r, names)).collect()
    }

    /// The log records that were taken, in the same form; the `body` is a plain value.
    pub(crate) fn logs(&self) -> Vec<Value> {
        self.taken("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"])
    }

    /// The metrics that were taken, as in the JSON form, with the `resource` of each.
    pub(crate) fn metrics(&self) -> Vec<Value> {
        let names = ["resourceMetrics", "scopeMetrics", "metrics"];
        self.taken("/v1/metrics", names)
    }

    fn taken(&self, path: &str, names: [&str; 3]) -> Vec<Value> {
        let requests = self.requests().into_iter();
        let taken = requests.filter(|r| r.taken && r.path.ends_with(path));
        taken.flat_map(|r| items(&r, names)).collect()
    }
}

impl Drop for OtlpSink {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What is in a request: resources with scopes with items.
fn items(received: &SinkRequest, [resources, scopes, items]: [&str; 3]) -> Vec<Value> {
    let mut found = Vec::new();
    for resource in list(&received.request[resources]) {
        let attributes = plain_attributes(&resource["resource"]["attributes"]);
        for scope in list(&resource[scopes]) {
            for item in list(&scope[items]) {
                let mut item = plain(item.clone());
                item["resource"] = attributes.clone();
                found.push(item);
            }
        }
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A span or a record, with plain attributes and a plain body.
fn plain(mut item: Value) -> Value {
    item["attributes"] = plain_attributes(&item["attributes"]);
    for parts in ["links", "events"] {
        for part in item[parts].as_array_mut().into_iter().flatten() {
            part["attributes"] = plain_attributes(&part["attributes"]);
        }
    }
    if item["body"].is_object() {
        item["body"] = plain_value(&item["body"]);
    }
    item
}

fn plain_attributes(pairs: &Value) -> Value {
    let pair = |pair: &Value| {
        let key = pair["key"].as_str().unwrap().to_owned();
        (key, plain_value(&pair["value"]))
    };
    Value::Object(list(pairs).iter().map(pair).collect::<Map<_, _>>())
}

fn plain_value(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|o| o.iter().next()) else {
        return Value::Null;
    };
    match kind.as_str() {
        "intValue" => match inner.as_str() {
            Some(text) => json!(text.parse::<i64>().unwrap()),
            None => inner.clone(),
        },
        "arrayValue" => list(&inner["values"]).iter().map(plain_value).collect(),
        "kvlistValue" => plain_attributes(&inner["values"]),
        _ => inner.clone(),
    }
}

/// Answers one request; nothing when the connection is at its end.
fn serve(mut stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut received = head(&mut reader)?;
    let fate = {
        let mut state = state.lock().unwrap();
        let fate = state.fates.pop_front().unwrap_or(SinkFate::Well);
        (!state.stopped).then_some(fate)?
    };
    let length: usize = received.header("content-length")?.parse().ok()?;
    let arrives = match fate {
        SinkFate::Before => 0,
        SinkFate::Inside => length / 2,
        _ => length,
    };
    received.sent = vec![0; arrives];
    reader.read_exact(&mut received.sent).ok()?;
    let is_whole = !matches!(fate, SinkFate::Before | SinkFate::Inside);
    if is_whole {
        received.request = request(&received);
    }
    received.taken = matches!(
        fate,
        SinkFate::Well | SinkFate::After | SinkFate::Partly(..)
    );
    let is_json = received.is_json();
    {
        let mut state = state.lock().unwrap();
        // What was under way when it was stopped was not taken.
        (!state.stopped).then(|| state.requests.push(received))?;
    }
    let (status, more, kind, body) = match fate {
        SinkFate::Before | SinkFate::Inside | SinkFate::After => {
            let _ = stream.shutdown(Shutdown::Both);
            return None;
        }
        SinkFate::Status(status, more) => (status, more, "text/plain", b"as it was told".to_vec()),
        SinkFate::Page => (200, "", "text/html", b"<html>Welcome</html>".to_vec()),
        SinkFate::Well => answer(is_json, 0, ""),
        SinkFate::Partly(rejected, why) => answer(is_json, rejected, why),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{more}\r\n",
        body.len()
    );
    stream.write_all(&[head.into_bytes(), body].concat()).ok()
}

fn head(reader: &mut BufReader<&TcpStream>) -> Option<SinkRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Some(SinkRequest {
        path,
        headers,
        sent: Vec::new(),
        request: Value::Null,
        taken: false,
    })
}

/// The request in the JSON form of OTLP.
fn request(received: &SinkRequest) -> Value {
    let mut body = Vec::new();
    match received.header("content-encoding") {
        Some("gzip") => {
            let mut packed = flate2::read::GzDecoder::new(received.sent.as_slice());
            packed.read_to_end(&mut body).unwrap();
        }
        _ => body.clone_from(&received.sent),
    }
    if received.is_json() {
        return serde_json::from_slice(&body).unwrap();
    }
    let body = body.as_slice();
    let signal = received.path.rsplit('/').next();
    let read = match signal {
        Some("logs") => ExportLogsServiceRequest::decode(body).map(serde_json::to_value),
        Some("metrics") => ExportMetricsServiceRequest::decode(body).map(serde_json::to_value),
        _ => ExportTraceServiceRequest::decode(body).map(serde_json::to_value),
    };
    read.unwrap().unwrap()
}

/// The answer to a request that was taken. The answers to all signals are the same in protobuf.
fn answer(is_json: bool, rejected: i64, why: &str) -> (u16, &'static str, &'static str, Vec<u8>) {
    let partial = (rejected != 0 || !why.is_empty()).then(|| ExportTracePartialSuccess {
        rejected_spans: rejected,
        error_message: why.to_owned(),
    });
    let response = ExportTraceServiceResponse {
        partial_success: partial,
    };
    match is_json {
        true => (
            200,
            "",
            "application/json",
            serde_json::to_vec(&response).unwrap(),
        ),
        false => (200, "", "application/x-protobuf", response.encode_to_vec()),
    }
}
