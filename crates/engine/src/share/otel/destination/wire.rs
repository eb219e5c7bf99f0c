//! The settings of a destination as they are stored.

use serde::{Deserialize, Serialize};

use super::{
    Address, Backlog, Compression, Content, Destination, DestinationError, HeaderSource,
    NamedHeader, Plain, Sample, Sends,
};

/// The version that is written.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct DestinationWire {
    version: u32,
    endpoint: String,
    protocol: String,
    compression: String,
    sends: String,
    content: String,
    sample_per_mille: u16,
    headers: Vec<HeaderWire>,
    keep_days: u16,
    keep_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct HeaderWire {
    name: String,
    /// Absent where it is kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

pub(super) fn write(destination: &Destination) -> String {
    let header = |header: &NamedHeader| HeaderWire {
        name: header.name.clone(),
        value: match &header.source {
            HeaderSource::Inline(value) => Some(value.clone()),
            HeaderSource::Kept => None,
        },
    };
    let on = |is_on| if is_on { "on" } else { "off" }.to_owned();
    let wire = DestinationWire {
        version: VERSION,
        endpoint: destination.endpoint.to_string(),
        protocol: destination.protocol.to_string(),
        compression: compression(destination.compression).to_owned(),
        sends: destination.sends.word().to_owned(),
        content: on(destination.content == Content::On),
        sample_per_mille: destination.sample.as_per_mille(),
        headers: destination.headers.iter().map(header).collect(),
        keep_days: destination.backlog.days,
        keep_bytes: destination.backlog.bytes,
    };
    serde_json::to_string(&wire).expect("because texts and numbers have a JSON form")
}

const fn compression(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gzip",
        Compression::None => "none",
    }
}

pub(super) fn read(text: &str) -> Result<Destination, DestinationError> {
    let Version { version } = serde_json::from_str(text).map_err(DestinationError::Form)?;
    if version > VERSION {
        return Err(DestinationError::TooNew(version));
    }
    let wire: DestinationWire = serde_json::from_str(text).map_err(DestinationError::Form)?;
    let unknown = |what, value: &str| DestinationError::Unknown {
        what,
        value: value.to_owned(),
    };
    // That it is plain, if it is, was allowed when it was added.
    let endpoint = Address::parse(&wire.endpoint, Plain::Anywhere)?;
    let protocol = wire.protocol.parse();
    let protocol = protocol.map_err(|_| unknown("protocol", &wire.protocol))?;
    let mut destination = Destination::new(endpoint, protocol)?;
    destination.compression = match wire.compression.as_str() {
        "gzip" => Compression::Gzip,
        "none" => Compression::None,
        other => return Err(unknown("compression", other)),
    };
    destination.sends = [Sends::Sessions, Sends::Native]
        .into_iter()
        .find(|s| s.word() == wire.sends)
        .ok_or_else(|| unknown("kind of telemetry", &wire.sends))?;
    // What is not understood sends less, not more.
    destination.content = match wire.content.as_str() {
        "on" => Content::On,
        _ => Content::Off,
    };
    let part = wire.sample_per_mille;
    destination.sample =
        Sample::per_mille(part).ok_or_else(|| unknown("sample", &part.to_string()))?;
    let header = |header: HeaderWire| NamedHeader {
        name: header.name,
        source: header
            .value
            .map_or(HeaderSource::Kept, HeaderSource::Inline),
    };
    destination.headers = wire.headers.into_iter().map(header).collect();
    destination.backlog = Backlog {
        days: wire.keep_days,
        bytes: wire.keep_bytes,
    };
    Ok(destination)
}
