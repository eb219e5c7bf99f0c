use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use super::*;
#[cfg(feature = "grpc")]
mod calls;

use crate::address::Plain;

const SECRET: &str = "hunter2-hunter2";

/// A request as a server saw it.
struct ReceivedRequest {
    head: String,
    body: Vec<u8>,
}

/// A server that gives these answers, one for each connection, and then what it was asked; an empty answer cuts the
/// connection in the middle of the body.
fn server(answers: Vec<String>) -> (String, JoinHandle<Vec<ReceivedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0);
            }
            head.make_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            let length = if answer.is_empty() {
                length / 2
            } else {
                length
            };
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            requests.push(ReceivedRequest { head, body });
            stream.write_all(answer.as_bytes()).unwrap();
        }
        requests
    });
    (at, serving)
}

fn answer(status: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n{body}"
    )
}

fn settings(at: &str, protocol: Protocol) -> OtlpSettings {
    OtlpSettings {
        address: Address::parse(at, Plain::Loopback).unwrap(),
        protocol,
        compression: Compression::Gzip,
        headers: vec![Header::new("X-Api-Key", SECRET).unwrap()],
        timeouts: Timeouts {
            connect: Duration::from_secs(2),
            whole: Duration::from_secs(10),
        },
    }
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(packed);
    reader.read_to_end(&mut body).unwrap();
    body
}

#[test]
fn a_request_is_packed_and_goes_to_the_path_of_its_signal() {
    let taken = answer("200 OK", "content-type: application/x-protobuf\r\n", "abc");
    let (at, serving) = server(vec![taken.clone(), taken.clone(), taken]);
    let body = vec![7; 10_000];
    let client = OtlpClient::new(settings(&format!("{at}/base/"), Protocol::HttpProtobuf));
    let done = client.send(Signal::Traces, &body).unwrap();
    assert_eq!(
        (done.content_type.as_str(), done.body.as_slice()),
        ("application/x-protobuf", b"abc".as_slice())
    );
    let plain = OtlpClient::new(OtlpSettings {
        compression: Compression::None,
        ..settings(&at, Protocol::HttpJson)
    });
    plain.send(Signal::Logs, b"{}").unwrap();
    let only = OtlpClient::new(settings(&format!("{at}/x/v1/metrics"), Protocol::HttpJson));
    only.send(Signal::Metrics, b"{}").unwrap();
    assert!(only.takes(Signal::Metrics) && !only.takes(Signal::Traces));
    let error = only.send(Signal::Traces, b"{}").unwrap_err();
    assert!(matches!(error, OtlpError::Refused { .. }), "{error:?}");

    let requests = serving.join().unwrap();
    let paths: Vec<_> = requests
        .iter()
        .map(|a| a.head.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(paths, ["/base/v1/traces", "/v1/logs", "/x/v1/metrics"]);
    for (request, form) in requests
        .iter()
        .zip(["application/x-protobuf", "application/json"])
    {
        assert!(request.head.contains(&format!("content-type: {form}")));
        assert_eq!(request.head.matches(SECRET).count(), 1, "{}", request.head);
        assert!(request.head.contains(&format!("x-api-key: {SECRET}")));
    }
    assert!(requests[0].head.contains("content-encoding: gzip"));
    assert!(requests[0].body.len() < 1_000);
    assert_eq!(unpacked(&requests[0].body), body);
    assert!(!requests[1].head.contains("content-encoding"));
    assert_eq!(requests[1].body, b"{}");
}

#[test]
fn a_status_says_whether_to_come_again() {
    let dates =
        "date: Sun, 22 Nov 2026 12:00:00 GMT\r\nretry-after: Sun, 22 Nov 2026 12:00:09 GMT\r\n";
    let cases = [
        ("429 X", "retry-after: 2\r\n", "busy 2"),
        ("503 X", dates, "busy 9"),
        ("502 X", "", "busy"),
        ("504 X", "", "busy"),
        ("413 X", "", "large"),
        ("400 X", "", "refused"),
        ("401 X", "", "refused"),
        ("404 X", "", "refused"),
        ("408 X", "", "refused"),
        ("500 X", "", "refused"),
        ("307 X", "location: http://127.0.0.1:1/\r\n", "refused"),
        ("202 X", "", "taken"),
    ];
    let answers = cases.map(|(status, more, _)| answer(status, more, "because"));
    let (at, serving) = server(answers.to_vec());
    let client = OtlpClient::new(settings(&at, Protocol::HttpProtobuf));
    for (status, _, wanted) in cases {
        let found = match client.send(Signal::Traces, b"x") {
            Ok(_) => "taken".to_owned(),
            Err(OtlpError::Busy { after: None, .. }) => "busy".to_owned(),
            Err(OtlpError::Busy {
                after: Some(after), ..
            }) => format!("busy {}", after.as_secs()),
            Err(OtlpError::TooLarge { .. }) => "large".to_owned(),
            Err(OtlpError::Refused { .. }) => "refused".to_owned(),
            Err(OtlpError::Unreachable { why, .. }) => why,
        };
        assert_eq!(found, wanted, "{status}");
    }
    assert_eq!(serving.join().unwrap().len(), cases.len());
}

#[test]
fn a_connection_that_is_cut_is_no_refusal() {
    let whole = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\nabc".to_owned();
    let (at, serving) = server(vec![String::new(), "HTTP/1.1 20".to_owned(), whole]);
    let client = OtlpClient::new(settings(&at, Protocol::HttpProtobuf));
    for _ in 0..2 {
        let error = client.send(Signal::Traces, &[1; 50]).unwrap_err();
        assert!(matches!(error, OtlpError::Unreachable { .. }), "{error:?}");
    }
    // The server has said that it took this one.
    let done = client.send(Signal::Traces, &[1; 50]).unwrap();
    assert!(done.body.is_empty());
    serving.join().unwrap();
    let error = client.send(Signal::Traces, b"x").unwrap_err();
    assert!(matches!(error, OtlpError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_server_that_repeats_a_secret_is_not_repeated() {
    let body = format!("the key {SECRET} is unknown");
    let (at, serving) = server(vec![answer("401 X", "", &body)]);
    let client = OtlpClient::new(settings(&at, Protocol::HttpJson));
    let error = client.send(Signal::Traces, b"{}").unwrap_err();
    assert!(error.to_string().ends_with("the key … is unknown [401]"));
    assert!(!format!("{error:?} {client:?}").contains(SECRET));
    serving.join().unwrap();
}

#[test]
fn protocols_have_the_words_of_the_specification() {
    for protocol in Protocol::ALL {
        assert_eq!(protocol.to_string().parse(), Ok(protocol));
    }
    assert_eq!("http".parse::<Protocol>(), Err(ProtocolError));
}
