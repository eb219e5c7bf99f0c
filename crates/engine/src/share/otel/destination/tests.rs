use siglum_egress::otlp::Signal;

use super::*;

fn destination(endpoint: &str, protocol: Protocol) -> Destination {
    let endpoint = Address::parse(endpoint, Plain::Loopback).unwrap();
    Destination::new(endpoint, protocol).unwrap()
}

fn full() -> Destination {
    Destination {
        compression: Compression::None,
        sends: Sends::Native,
        content: Content::On,
        sample: Sample::per_mille(25).unwrap(),
        headers: vec![
            NamedHeader {
                name: "authorization".to_owned(),
                source: HeaderSource::Kept,
            },
            NamedHeader {
                name: "x-version".to_owned(),
                source: HeaderSource::Inline("4".to_owned()),
            },
        ],
        backlog: Backlog { days: 3, bytes: 9 },
        ..destination("https://sink.example/api/otel", Protocol::HttpJson)
    }
}

#[test]
fn settings_are_stored_and_read_again() {
    for one in [destination("http://[::1]:4317", Protocol::Grpc), full()] {
        assert_eq!(Destination::parse(&one.to_json()).unwrap(), one);
    }
    insta::assert_snapshot!(full().to_json(), @r#"{"version":1,"endpoint":"https://sink.example/api/otel","protocol":"http/json","compression":"none","sends":"native","content":"on","sample_per_mille":25,"headers":[{"name":"authorization"},{"name":"x-version","value":"4"}],"keep_days":3,"keep_bytes":9}"#);
    let newer = full().to_json().replace("\"version\":1", "\"version\":2");
    let error = Destination::parse(&newer).unwrap_err();
    assert!(matches!(error, DestinationError::TooNew(2)), "{error:?}");
    for (from, to) in [
        ("http/json", "carrier pigeon"),
        ("\"none\"", "\"zstd\""),
        ("\"native\"", "\"all\""),
        ("https://sink", "ftp://sink"),
        (":25,", ":1001,"),
    ] {
        let text = full().to_json().replace(from, to);
        assert!(Destination::parse(&text).is_err(), "{text}");
    }
    let odd = full().to_json().replace("\"on\"", "\"some\"");
    assert_eq!(Destination::parse(&odd).unwrap().content, Content::Off);
}

#[test]
fn a_client_has_what_is_kept_or_is_not_made() {
    let error = full().client(&|_| None).unwrap_err();
    assert!(matches!(error, DestinationError::Missing(name) if name == "authorization"));
    let client = full()
        .client(&|name| (name == "authorization").then(|| "Basic abc".to_owned()))
        .unwrap();
    let kept: Vec<_> = client
        .settings()
        .headers
        .iter()
        .map(|h| (h.name(), h.reveal()))
        .collect();
    assert_eq!(kept, [("authorization", "Basic abc"), ("x-version", "4")]);
    assert!(Signal::ALL.into_iter().all(|signal| client.takes(signal)));
}

#[test]
fn an_endpoint_may_be_for_one_signal_and_has_no_path_in_grpc() {
    let one = destination("https://sink.example/x/v1/traces", Protocol::HttpProtobuf);
    assert_eq!(one.only(), Some("traces"));
    assert_eq!(full().only(), None);
    let endpoint = Address::parse("https://sink.example/x", Plain::Loopback).unwrap();
    let error = Destination::new(endpoint, Protocol::Grpc).unwrap_err();
    assert!(matches!(error, DestinationError::Path(path) if path == "/x"));
}

#[test]
fn a_sample_is_a_part_of_all_conversations() {
    for (text, part) in [("100%", 1000), ("10%", 100), ("0.1%", 1), ("02.5%", 25)] {
        assert_eq!(text.parse(), Ok(Sample(part)), "{text}");
    }
    assert_eq!(Sample(25).to_string(), "2.5%");
    for text in [
        "", "%", "10", "0%", "0.0%", "100.1%", "1.25%", ".5%", "-1%", "+1%",
    ] {
        assert_eq!(text.parse::<Sample>(), Err(SampleError), "{text}");
    }
    let ids: Vec<_> = (0..2_000)
        .map(|n| ConversationId::new(format!("conversation-{n}")).unwrap())
        .collect();
    let kept = |part: u16| -> Vec<&ConversationId> {
        ids.iter().filter(|id| Sample(part).keeps(id)).collect()
    };
    assert_eq!(kept(1000).len(), ids.len());
    let (tenth, quarter) = (kept(100), kept(250));
    assert!((150..250).contains(&tenth.len()), "{}", tenth.len());
    assert!(tenth.iter().all(|id| quarter.contains(id)));
    assert_eq!(tenth, kept(100));
}
