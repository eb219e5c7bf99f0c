//! Objects in a bucket of a server that speaks the protocol of S3.
//!
//! Names, signatures and retries are those of `object_store`; its requests are sent by the same client as all others, so
//! that no other host is asked and nothing goes through a proxy. The requests run on a runtime of one thread, the
//! caller's, which rests between them.

use std::fmt;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStoreExt as _, PutPayload, RetryConfig};
use tokio::runtime::{Builder, Runtime};
use ureq::Agent;
use ureq::http::Request;

use crate::address::Address;
use crate::agent::{Timeouts, agent_for_many};
use crate::problem::shown;

/// How many objects are read at once.
const AT_ONCE: usize = 8;
/// The largest object that is read, in bytes.
const OBJECT_MOST: u64 = 64 << 20;
/// How often a request is repeated that the server could not answer.
const RETRIES: usize = 2;
/// The word of a server for an object that is not there.
const NO_OBJECT: &str = "NoSuchKey";
/// How long a request and its repetitions may take.
const RETRY: Duration = Duration::from_secs(20);

/// Where a bucket is, and by which credentials it is used.
#[derive(Clone)]
pub struct BucketSettings {
    /// The server. The bucket is the first part of the path of each request.
    pub endpoint: Address,
    /// The bucket.
    pub bucket: String,
    /// What the names of all objects begin with, without slashes at its ends; empty for nothing.
    pub prefix: String,
    /// The region, which is part of each signature.
    pub region: String,
    /// The id of the key.
    pub key_id: String,
    /// The key itself.
    pub secret: String,
    /// How long a request may take.
    pub timeouts: Timeouts,
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketSettings")
            .field("endpoint", &self.endpoint)
            .field("bucket", &self.bucket)
            .field("prefix", &self.prefix)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// Why a bucket did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// There is no such object.
    #[error("there is no such object")]
    Missing,
    /// The server does not answer, or cannot now.
    #[error("{0}")]
    Unreachable(String),
    /// The server does not want it: by the credentials, their rights, or because there is no such bucket.
    #[error("{0}")]
    Refused(String),
}

/// A bucket.
pub struct Bucket {
    store: AmazonS3,
    prefix: String,
    runtime: Runtime,
}

impl Bucket {
    /// The bucket at an address. Nothing is asked yet.
    ///
    /// # Errors
    /// [`BucketError::Refused`] where the settings name none.
    pub fn new(settings: &BucketSettings) -> Result<Self, BucketError> {
        let client = Client(agent_for_many(
            &settings.endpoint,
            settings.timeouts,
            AT_ONCE,
        ));
        let store = AmazonS3Builder::new()
            .with_endpoint(settings.endpoint.as_str())
            .with_allow_http(!settings.endpoint.is_encrypted())
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_access_key_id(&settings.key_id)
            .with_secret_access_key(&settings.secret)
            // Not every server has the request that deletes several objects.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                max_retries: RETRIES,
                retry_timeout: RETRY,
                ..RetryConfig::default()
            })
            .with_http_connector(client)
            .build()
            .map_err(|error| BucketError::Refused(shown(&error.to_string())))?;
        let runtime = Builder::new_current_thread().enable_time().build();
        Ok(Self {
            store,
            prefix: settings.prefix.clone(),
            runtime: runtime.map_err(|error| BucketError::Unreachable(error.to_string()))?,
        })
    }

    /// Stores an object, whole or not at all.
    ///
    /// # Errors
    /// It may be stored all the same, unless it was refused.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BucketError> {
        let path = self.path(name);
        let put = self.store.put(&path, PutPayload::from(bytes.to_vec()));
        match self.runtime.block_on(put) {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Reads objects, some at once: each, or why not, in the order of their names.
    #[must_use]
    pub fn get(&self, names: &[String]) -> Vec<Result<Vec<u8>, BucketError>> {
        let share = names.len().div_ceil(AT_ONCE).max(1);
        if names.len() <= share {
            return self.read_all(names);
        }
        thread::scope(|scope| {
            let read = |part| scope.spawn(move || self.read_all(part));
            let reads: Vec<_> = names.chunks(share).map(read).collect();
            let joined = reads.into_iter().map(|read| match read.join() {
                Ok(read) => read,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.flatten().collect()
        })
    }

    /// One after the other. A server that does not give one for a reason of its own is not asked for those behind it:
    /// whoever reads would wait for each of them.
    fn read_all(&self, names: &[String]) -> Vec<Result<Vec<u8>, BucketError>> {
        let mut all = Vec::with_capacity(names.len());
        let mut away: Option<BucketError> = None;
        for name in names {
            let read = away.clone().map_or_else(|| self.read(name), Err);
            if let Err(error) = &read
                && *error != BucketError::Missing
            {
                away = Some(error.clone());
            }
            all.push(read);
        }
        all
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BucketError> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        match self.runtime.block_on(read) {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Deletes an object; one that is not there counts as deleted.
    ///
    /// # Errors
    /// It may be deleted all the same.
    pub fn delete(&self, name: &str) -> Result<(), BucketError> {
        let path = self.path(name);
        let deleted = self.runtime.block_on(self.store.delete(&path));
        match deleted.map_err(|error| failed(&error)) {
            Err(BucketError::Missing) => Ok(()),
            deleted => deleted,
        }
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }
}

/// Sends the requests of `object_store`.
#[derive(Debug, Clone)]
struct Client(Agent);

impl HttpConnector for Client {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Client {
    /// It blocks: whoever waits for it has nothing else to do on its thread.
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let sent = match body.is_empty() {
            true => self.0.run(Request::from_parts(head, ())),
            false => self.0.run(Request::from_parts(head, &body[..])),
        };
        let (head, mut body) = sent.map_err(http_error)?.into_parts();
        let read = body.with_config().limit(OBJECT_MOST).read_to_vec();
        let bytes = read.map_err(http_error)?;
        Ok(HttpResponse::from_parts(head, bytes.into()))
    }
}

fn http_error(error: ureq::Error) -> HttpError {
    let kind = match &error {
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => HttpErrorKind::Connect,
        ureq::Error::Io(_) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

fn failed(error: &object_store::Error) -> BucketError {
    match error {
        object_store::Error::NotFound { source, .. } => match reason(source.as_ref()) {
            code if code == NO_OBJECT => BucketError::Missing,
            // There is no such bucket, or something else answers: that says nothing of the object.
            other => BucketError::Refused(other),
        },
        object_store::Error::PermissionDenied { source, .. }
        | object_store::Error::Unauthenticated { source, .. } => {
            BucketError::Refused(reason(source.as_ref()))
        }
        object_store::Error::Generic { source, .. } => {
            BucketError::Unreachable(reason(source.as_ref()))
        }
        other => BucketError::Unreachable(reason(other)),
    }
}

/// What the server says in its answer, or why there is none: on one line, without what it was asked.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    let code = text.split_once("<Code>").and_then(|(_, rest)| {
        let (code, _) = rest.split_once("</Code>")?;
        let is_word = !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric());
        is_word.then_some(code)
    });
    code.map_or_else(|| shown(&text), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::address::Plain;

    /// A server that gives these answers to one request each, and then the first lines and bodies of what it was asked.
    fn server(answers: &'static [&'static str]) -> (Bucket, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = thread::spawn(move || {
            let one = |answer: &&str| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = Vec::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    match line.trim() {
                        "" => break,
                        line => head.push(line.to_ascii_lowercase()),
                    }
                }
                let length = head.iter().find_map(|l| l.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |n| n.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                let signed = head.iter().any(|l| l.contains("aws4-hmac-sha256"));
                assert!(signed, "{head:?}");
                format!("{} {}", head[0], String::from_utf8(body).unwrap())
            };
            answers.iter().map(one).collect()
        });
        let settings = BucketSettings {
            endpoint: Address::parse(&address, Plain::Loopback).unwrap(),
            bucket: "b".to_owned(),
            prefix: "p/q".to_owned(),
            region: "us-east-1".to_owned(),
            key_id: "id".to_owned(),
            secret: "hunter2".to_owned(),
            timeouts: Timeouts::default(),
        };
        assert!(!format!("{settings:?}").contains("hunter2"));
        (Bucket::new(&settings).unwrap(), serving)
    }

    const DONE: &str =
        "HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const GONE: &str = "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

    #[test]
    fn objects_are_put_read_and_deleted_by_their_names() {
        let (bucket, serving) = server(&[
            DONE,
            "HTTP/1.1 200 OK\r\netag: \"1\"\r\nlast-modified: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 5\r\nconnection: close\r\n\r\nbytes",
            GONE,
        ]);
        bucket.put("a/1-x", b"bytes").unwrap();
        let read = bucket.get(&["a/1-x".to_owned()]);
        assert_eq!(read, [Ok(b"bytes".to_vec())]);
        bucket.delete("a/1-x").unwrap();
        let asked = serving.join().unwrap();
        assert_eq!(
            asked,
            [
                "put /b/p/q/a/1-x http/1.1 bytes",
                "get /b/p/q/a/1-x http/1.1 ",
                "delete /b/p/q/a/1-x http/1.1 ",
            ]
        );
    }

    #[test]
    fn what_a_server_refuses_is_told_by_its_word_for_it() {
        const REFUSED: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 53\r\nconnection: close\r\n\r\n<Error><Code>SignatureDoesNotMatch</Code><X>y</X></Er";
        const NO_BUCKET: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 39\r\nconnection: close\r\n\r\n<Error><Code>NoSuchBucket</Code></Error";
        const MISSING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 36\r\nconnection: close\r\n\r\n<Error><Code>NoSuchKey</Code></Error";
        let (bucket, serving) =
            server(&[REFUSED, NO_BUCKET, NO_BUCKET, NO_BUCKET, MISSING, MISSING]);
        let refused = |word: &str| BucketError::Refused(word.to_owned());
        let names = ["n".to_owned()];
        let put = bucket.put("n", b"x");
        assert_eq!(put, Err(refused("SignatureDoesNotMatch")));
        // Where there is no such bucket, nothing is known of an object: it is neither missing nor deleted.
        assert_eq!(bucket.put("n", b"x"), Err(refused("NoSuchBucket")));
        assert_eq!(bucket.get(&names), [Err(refused("NoSuchBucket"))]);
        assert_eq!(bucket.delete("n"), Err(refused("NoSuchBucket")));
        assert_eq!(bucket.get(&names), [Err(BucketError::Missing)]);
        assert_eq!(bucket.delete("n"), Ok(()));
        serving.join().unwrap();
    }

    #[test]
    fn a_server_that_refuses_is_not_asked_for_the_rest() {
        const REFUSED: &str =
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let (bucket, serving) = server(&[REFUSED; AT_ONCE]);
        let names: Vec<String> = (0..3 * AT_ONCE).map(|n| n.to_string()).collect();
        let read = bucket.get(&names);
        assert_eq!(read.len(), names.len());
        let is_refused =
            |r: &Result<Vec<u8>, BucketError>| matches!(r, Err(BucketError::Refused(_)));
        assert!(read.iter().all(is_refused), "{read:?}");
        assert_eq!(serving.join().unwrap().len(), AT_ONCE);
    }

    #[test]
    fn a_server_that_is_away_is_told_from_one_that_refuses() {
        let settings = BucketSettings {
            endpoint: Address::parse("http://127.0.0.1:1", Plain::Loopback).unwrap(),
            bucket: "b".to_owned(),
            prefix: String::new(),
            region: "us-east-1".to_owned(),
            key_id: "id".to_owned(),
            secret: "s".to_owned(),
            timeouts: Timeouts::default(),
        };
        let bucket = Bucket::new(&settings).unwrap();
        let put = bucket.put("n", b"x");
        assert!(matches!(put, Err(BucketError::Unreachable(_))), "{put:?}");
    }
}
