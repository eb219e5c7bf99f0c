//! Calls of a small server that tonic itself serves.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};

use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code as Number, Request, Response, Status};

use super::super::grpc::Raw;
use super::super::refusal::tests::encoded;
use super::*;

/// What a server was asked: the path, whether it was packed, and the key.
type Call = (String, bool, Option<String>);

/// Takes what is sent, or says what the message asks for.
#[derive(Clone)]
struct Taker(Sender<Call>);

impl NamedService for Taker {
    const NAME: &'static str = "opentelemetry.proto.collector.trace.v1.TraceService";
}

struct Answering;

impl UnaryService<Vec<u8>> for Answering {
    type Response = Vec<u8>;
    type Future = BoxFuture<Response<Vec<u8>>, Status>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        let text = String::from_utf8(request.into_inner()).unwrap();
        Box::pin(async move {
            let mut words = text.splitn(3, ' ');
            let number: i32 = words.next().unwrap().parse().unwrap();
            let retry: u8 = words.next().unwrap().parse().unwrap();
            let message = words.next().unwrap();
            match number {
                0 => Ok(Response::new(b"done".to_vec())),
                _ => Err(Status::with_details(
                    Number::from(number),
                    message,
                    encoded(message, (retry > 0).then_some(retry)).into(),
                )),
            }
        })
    }
}

impl Service<http::Request<Body>> for Taker {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let header = |name: &str| {
            let value = request.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let path = request.uri().path().to_owned();
        let packed = header("grpc-encoding").as_deref() == Some("gzip");
        let call = (path, packed, header("x-api-key"));
        self.0.send(call).unwrap();
        Box::pin(async move {
            let mut grpc = Grpc::new(Raw)
                .accept_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Gzip);
            Ok(grpc.unary(Answering, request).await)
        })
    }
}

/// A server on a thread of its own, until the test ends, and what it is asked.
fn serve() -> (String, Receiver<Call>) {
    let (sender, calls) = channel();
    let (bound, address) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            Server::builder()
                .add_service(Taker(sender))
                .serve_with_incoming(TcpIncoming::from(listener))
                .await
                .unwrap();
        });
    });
    (format!("http://{}", address.recv().unwrap()), calls)
}

#[test]
fn a_call_carries_the_message_and_the_key() {
    let (at, calls) = serve();
    let client = OtlpClient::new(settings(&at, Protocol::Grpc));
    for _ in 0..2 {
        let done = client.send(Signal::Traces, b"0 0 x").unwrap();
        assert_eq!(done.body, b"done");
        let (path, packed, key) = calls.recv().unwrap();
        assert_eq!(
            path,
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        );
        assert!(packed);
        assert_eq!(key.as_deref(), Some(SECRET));
    }
    assert!(!format!("{client:?}").contains(SECRET));
    // This server has no such service.
    let error = client.send(Signal::Logs, b"0 0 x").unwrap_err();
    let OtlpError::Refused { refusal, .. } = error else {
        panic!("{error:?}");
    };
    assert!(refusal.is_about_the_address(), "{refusal:?}");
}

#[test]
fn a_code_says_whether_to_come_again() {
    let (at, _calls) = serve();
    let client = OtlpClient::new(settings(&at, Protocol::Grpc));
    for (sent, wanted) in [
        ("14 0 later", "busy"),
        ("14 3 later", "busy 3"),
        ("8 2 full", "busy 2"),
        ("8 0 full", "refused"),
        ("8 0 received message larger than max", "large"),
        ("10 0 again", "busy"),
        ("3 0 bad", "refused"),
        ("16 0 who", "refused"),
        ("2 0 what", "refused"),
    ] {
        let found = match client.send(Signal::Traces, sent.as_bytes()) {
            Err(OtlpError::Busy { after: None, .. }) => "busy".to_owned(),
            Err(OtlpError::Busy {
                after: Some(after), ..
            }) => format!("busy {}", after.as_secs()),
            Err(OtlpError::TooLarge { .. }) => "large".to_owned(),
            Err(OtlpError::Refused { .. }) => "refused".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(found, wanted, "{sent}");
    }
}

#[test]
fn a_call_that_nobody_answers_is_no_refusal() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let cutting = thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut some = [0; 24];
            stream.read_exact(&mut some).unwrap();
        }
    });
    let client = OtlpClient::new(settings(&at, Protocol::Grpc));
    for _ in 0..2 {
        let error = client.send(Signal::Traces, b"x").unwrap_err();
        assert!(matches!(error, OtlpError::Unreachable { .. }), "{error:?}");
    }
    cutting.join().unwrap();
    let error = client.send(Signal::Traces, b"x").unwrap_err();
    assert!(matches!(error, OtlpError::Unreachable { .. }), "{error:?}");
}
