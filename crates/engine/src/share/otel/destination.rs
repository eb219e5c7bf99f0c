//! A server that gets traces: a projection of its own kind, whose target is these settings.
//!
//! Nothing in them is a secret. The value of a header that is one is kept elsewhere, where only its owner reads it,
//! and comes in when a client is made.

mod wire;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use siglum_domain::ConversationId;
use siglum_egress::otlp::{
    Compression, Header, HeaderError, OtlpClient, OtlpSettings, Protocol, only_signal,
};
use siglum_egress::{Address, AddressError, Plain, Timeouts};
use siglum_ledger::Projection;

use crate::share::project::OTLP;

/// For how many days what cannot be sent waits, unless something else is said.
const DAYS: u16 = 30;
/// How much of what agents sent waits, in bytes.
const BYTES: u64 = 256 << 20;

/// What a server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    /// Traces that are made of sealed turns.
    Sessions,
    /// What agents themselves say of themselves, as it came in, with the id of the conversation.
    Native,
}

impl Sends {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Native => "native",
        }
    }
}

/// Whether prompts, answers and what tools said are sent, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// They stay here.
    Off,
    /// They are sent, redacted.
    On,
}

/// Which part of all sessions is sent, in thousandths. A session is sent as a whole or not at all, and what is sent
/// of a smaller part is also sent of a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample(u16);

/// A text that is no part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sample must be 0.1% to 100%, with at most one decimal place")]
pub struct SampleError;

impl Sample {
    /// Every session.
    pub const ALL: Self = Self(1000);

    /// A part in thousandths; nothing for less than one, or more than the whole.
    #[must_use]
    pub fn per_mille(part: u16) -> Option<Self> {
        (1..=1000).contains(&part).then_some(Self(part))
    }

    /// The part in thousandths.
    #[must_use]
    pub const fn as_per_mille(self) -> u16 {
        self.0
    }

    /// Whether a conversation is sent: always the same answer, on every machine.
    #[must_use]
    pub fn keeps(self, conversation: &ConversationId) -> bool {
        let hash = blake3::hash(conversation.as_str().as_bytes());
        let (head, _) = hash.as_bytes().split_at(8);
        let place = head.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        place % 1000 < u64::from(self.0)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 10, self.0 % 10) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, tenth) => write!(f, "{whole}.{tenth}%"),
        }
    }
}

impl FromStr for Sample {
    type Err = SampleError;

    fn from_str(text: &str) -> Result<Self, SampleError> {
        let number = text.strip_suffix('%').ok_or(SampleError)?;
        let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        if !is_number(whole, 3) || !is_number(tenth, 1) {
            return Err(SampleError);
        }
        let digits: u16 = format!("{whole}{tenth}").parse().map_err(|_| SampleError)?;
        Self::per_mille(digits).ok_or(SampleError)
    }
}

/// Where the value of a header is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderSource {
    /// In these settings, since it is no secret.
    Inline(String),
    /// Kept where only its owner reads it, under the name of the header.
    Kept,
}

/// A header of each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedHeader {
    /// Its name, in small letters.
    pub name: String,
    /// Where its value is.
    pub source: HeaderSource,
}

/// How much waits for a server that is out of reach. What is beyond that is lost, and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub days: u16,
    /// How many bytes of what agents sent.
    pub bytes: u64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            days: DAYS,
            bytes: BYTES,
        }
    }
}

/// A server that gets traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub endpoint: Address,
    pub protocol: Protocol,
    pub compression: Compression,
    pub sends: Sends,
    pub content: Content,
    pub sample: Sample,
    pub headers: Vec<NamedHeader>,
    pub backlog: Backlog,
}

/// Why settings are none, or why no client can be made of them.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// They are not in the form in which they are stored.
    #[error("cannot read the settings of the destination")]
    Form(#[source] serde_json::Error),
    /// A newer program wrote them.
    #[error(
        "the settings of the destination have version {0}, which this program does not support"
    )]
    TooNew(u32),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A value that was kept is not there.
    #[error("the value of header `{0}` is no longer stored")]
    Missing(String),
    /// A word or a number is none of those that there are.
    #[error("`{value}` is not a {what} of a destination")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: String,
    },
    /// gRPC has no paths.
    #[error("a gRPC endpoint has no path: remove `{0}`")]
    Path(String),
}

impl Destination {
    /// A server that gets traces of all sessions, without texts.
    ///
    /// # Errors
    /// The endpoint has a path, which the protocol has no use for.
    pub fn new(endpoint: Address, protocol: Protocol) -> Result<Self, DestinationError> {
        if protocol == Protocol::Grpc && !endpoint.path().is_empty() {
            return Err(DestinationError::Path(endpoint.path().to_owned()));
        }
        Ok(Self {
            endpoint,
            protocol,
            compression: Compression::Gzip,
            sends: Sends::Sessions,
            content: Content::Off,
            sample: Sample::ALL,
            headers: Vec::new(),
            backlog: Backlog::default(),
        })
    }

    /// Reads what [`to_json`](Self::to_json) wrote, now or in an earlier version.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        wire::read(text)
    }

    /// The settings as the target of a projection; no secret is in them.
    #[must_use]
    pub fn to_json(&self) -> String {
        wire::write(self)
    }

    /// The settings of a projection; nothing where it is of another kind.
    #[must_use]
    pub fn from_projection(projection: &Projection) -> Option<Result<Self, DestinationError>> {
        (projection.kind == OTLP).then(|| Self::parse(&projection.target))
    }

    /// A client, with the values of headers that are kept, by the name of the header.
    ///
    /// # Errors
    /// A value is not there: nothing is sent without it, since the server would refuse it for good.
    pub fn client(
        &self,
        secrets: &dyn Fn(&str) -> Option<String>,
    ) -> Result<OtlpClient, DestinationError> {
        let header = |header: &NamedHeader| {
            let value = match &header.source {
                HeaderSource::Inline(value) => value.clone(),
                HeaderSource::Kept => secrets(&header.name)
                    .ok_or_else(|| DestinationError::Missing(header.name.clone()))?,
            };
            Ok(Header::new(&header.name, &value)?)
        };
        let headers: Result<_, DestinationError> = self.headers.iter().map(header).collect();
        Ok(OtlpClient::new(OtlpSettings {
            address: self.endpoint.clone(),
            protocol: self.protocol,
            compression: self.compression,
            headers: headers?,
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                whole: Duration::from_secs(30),
            },
        }))
    }

    /// The one signal that it gets, in a word, where the endpoint is for one alone.
    #[must_use]
    pub fn only(&self) -> Option<&'static str> {
        let only = only_signal(&self.endpoint).filter(|_| self.protocol != Protocol::Grpc);
        only.map(siglum_egress::otlp::Signal::word)
    }
}

#[cfg(test)]
mod tests;
