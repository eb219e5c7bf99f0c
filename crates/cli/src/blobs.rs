//! Where large payloads of a PostgreSQL store are kept, if not in the database: a bucket that the environment names.

use siglum_ledger::BlobSettings;

use crate::env;
use crate::error::CommandError;

/// The variable with the bucket, as `s3://bucket/prefix`.
const BLOBS: &str = "SIGLUM_BLOBS";
/// The variable with the address of the server, where it is not the provider's own.
const ENDPOINT: &str = "SIGLUM_BLOBS_ENDPOINT";
/// The variable with the region.
const REGION: &str = "SIGLUM_BLOBS_REGION";
/// The variable with the key, as `id:secret`. It is no flag, since others see those.
const CREDENTIALS: &str = "SIGLUM_BLOBS_CREDENTIALS";
/// The variable with the path of a file that has the key.
const CREDENTIALS_FILE: &str = "SIGLUM_BLOBS_CREDENTIALS_FILE";
/// The variable that allows an endpoint without encryption on another machine.
const PLAIN: &str = "SIGLUM_BLOBS_PLAIN";
/// The variable that says how many seconds a payload stays in the database.
const AFTER: &str = "SIGLUM_BLOBS_AFTER_SECONDS";
/// What says where blobs are, a secret among it perhaps.
pub const VARIABLES: [&str; 7] = [
    BLOBS,
    ENDPOINT,
    REGION,
    CREDENTIALS,
    CREDENTIALS_FILE,
    PLAIN,
    AFTER,
];

/// The blob store that the environment names, if it names one. It is not asked yet.
pub fn settings() -> Result<Option<BlobSettings>, CommandError> {
    env::text(BLOBS).map(|bucket| open(&bucket)).transpose()
}

#[cfg(not(feature = "s3"))]
fn open(_: &str) -> Result<BlobSettings, CommandError> {
    let error = format!("this program was built without S3, and {BLOBS} is set");
    Err(CommandError::failed(error))
}

#[cfg(not(feature = "s3"))]
pub fn probe(_: &BlobSettings) -> Result<(), CommandError> {
    Ok(())
}

#[cfg(feature = "s3")]
use bucket::open;
#[cfg(feature = "s3")]
pub use bucket::probe;

#[cfg(feature = "s3")]
mod bucket {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use siglum_domain::IdSource as _;
    use siglum_egress::{Address, Bucket, BucketError, BucketSettings, Plain, Timeouts};
    use siglum_ledger::{BlobError, BlobSettings, BlobStore};

    use super::{AFTER, BLOBS, CREDENTIALS, CREDENTIALS_FILE, ENDPOINT, PLAIN, REGION};
    use crate::clock::Ids;
    use crate::error::CommandError;
    use crate::{env, secret_files};

    /// The region where none is named. Servers of one's own rarely have any.
    const DEFAULT_REGION: &str = "us-east-1";
    /// How long a payload stays in the database: projections, folds and whoever follows a run have read it by then.
    const DEFAULT_AFTER: Duration = Duration::from_secs(60 * 60);
    /// How long a request may take. A connection to the database waits for it.
    const TIMEOUTS: Timeouts = Timeouts {
        connect: Duration::from_secs(5),
        whole: Duration::from_secs(30),
    };

    /// A bucket, as ledgers use it.
    struct S3(Bucket);

    impl BlobStore for S3 {
        fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
            self.0.put(name, bytes).map_err(blob_error)
        }

        fn get(&self, names: &[String]) -> Vec<Result<Vec<u8>, BlobError>> {
            let read = self.0.get(names).into_iter();
            read.map(|read| read.map_err(blob_error)).collect()
        }

        fn delete(&self, name: &str) -> Result<(), BlobError> {
            self.0.delete(name).map_err(blob_error)
        }
    }

    fn blob_error(error: BucketError) -> BlobError {
        match error {
            BucketError::Missing => BlobError::Missing,
            BucketError::Unreachable(why) => BlobError::Unreachable(why),
            BucketError::Refused(why) => BlobError::Refused(why),
        }
    }

    pub(super) fn open(address: &str) -> Result<BlobSettings, CommandError> {
        let (bucket, prefix) = place(address)?;
        let region = env::text(REGION).unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let (key_id, secret) = credentials()?;
        let settings = BucketSettings {
            endpoint: endpoint(&region)?,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            region,
            key_id,
            secret,
            timeouts: TIMEOUTS,
        };
        let bucket = Bucket::new(&settings)
            .map_err(|error| CommandError::usage(format!("{BLOBS}: {error}")))?;
        Ok(BlobSettings {
            store: Arc::new(S3(bucket)),
            after: after()?,
        })
    }

    /// The bucket, and what the names in it begin with.
    fn place(address: &str) -> Result<(&str, &str), CommandError> {
        let rest = address.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        let is_path = prefix.is_empty() || prefix.split('/').all(|p| !matches!(p, "" | "." | ".."));
        if bucket.is_empty() || !rest.chars().all(is_plain) || !is_path {
            let what = format!("{BLOBS} must be `s3://bucket` or `s3://bucket/prefix`");
            let hint = "A prefix has letters, digits, `-`, `_`, `.` and `/`.";
            return Err(CommandError::usage(what).hint(hint));
        }
        Ok((bucket, prefix))
    }

    fn endpoint(region: &str) -> Result<Address, CommandError> {
        let plain = match env::text(PLAIN) {
            Some(_) => Plain::Anywhere,
            None => Plain::Loopback,
        };
        let text = env::text(ENDPOINT);
        let text = text.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let hint = format!("Set {PLAIN}=1 to send payloads without encryption.");
        Address::parse(&text, plain).map_err(|error| {
            let refused = CommandError::usage(format!("{ENDPOINT}: {error}"));
            match text.starts_with("http://") {
                true => refused.hint(hint),
                false => refused,
            }
        })
    }

    /// The id of the key, and the key.
    fn credentials() -> Result<(String, String), CommandError> {
        let (name, text) = match (env::text(CREDENTIALS), env::text(CREDENTIALS_FILE)) {
            (Some(text), None) => (CREDENTIALS, text),
            (None, Some(file)) => {
                let text = secret_files::read(Path::new(&file), "key of the blob store")?;
                (CREDENTIALS_FILE, text)
            }
            (Some(_), Some(_)) => {
                let what = format!("both {CREDENTIALS} and {CREDENTIALS_FILE} are set");
                return Err(CommandError::usage(what).hint("Unset one of them."));
            }
            (None, None) => {
                let what = format!("{BLOBS} is set, and there is no key for it");
                let hint = format!("Set {CREDENTIALS_FILE} to a file with `id:secret`.");
                return Err(CommandError::usage(what).hint(hint));
            }
        };
        match text.trim().split_once(':') {
            Some((id, secret)) if !id.is_empty() && !secret.is_empty() => {
                Ok((id.to_owned(), secret.to_owned()))
            }
            // Whatever it is, it may be the secret.
            _ => {
                let what = format!("the key in {name} must have the form `id:secret`");
                Err(CommandError::usage(what))
            }
        }
    }

    fn after() -> Result<Duration, CommandError> {
        let Some(text) = env::text(AFTER) else {
            return Ok(DEFAULT_AFTER);
        };
        let seconds = text.parse().map(Duration::from_secs);
        seconds.map_err(|_| CommandError::usage(format!("{AFTER} must be a number of seconds")))
    }

    /// Puts, reads and deletes a blob, so that a blob store that can never be used is told at once. One that is away may come
    /// back: until then, payloads stay in the database.
    pub fn probe(blobs: &BlobSettings) -> Result<(), CommandError> {
        let name = format!("probe-{}", Ids.fresh().simple());
        let (store, bytes) = (&blobs.store, b"probe");
        let tried = store.put(&name, bytes).and_then(|()| {
            let read = store.get(std::slice::from_ref(&name)).pop();
            store.delete(&name)?;
            match read.unwrap_or(Err(BlobError::Missing)) {
                Ok(read) if read == bytes => Ok(()),
                Ok(_) => Err(BlobError::Refused("it gave other bytes back".to_owned())),
                Err(error) => Err(error),
            }
        });
        match tried {
            Ok(()) => Ok(()),
            Err(error @ BlobError::Unreachable(_)) => {
                tracing::warn!("{error}; payloads stay in the database until it is back");
                Ok(())
            }
            Err(error) => {
                let hint = format!("Check {BLOBS}, {ENDPOINT}, {REGION} and the key.");
                Err(CommandError::failed(error).hint(hint))
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_bucket_and_a_prefix_are_named_as_an_address() {
            for (address, expected) in [
                ("s3://b", Some(("b", ""))),
                ("s3://b/", Some(("b", ""))),
                ("s3://my.bucket-1/a/b_c/", Some(("my.bucket-1", "a/b_c"))),
                ("s3://", None),
                ("s3:///a", None),
                ("b", None),
                ("gs://b", None),
                ("s3://b/../c", None),
                ("s3://b//c", None),
                ("s3://key:secret@b/c", None),
                ("s3://b/c?d", None),
            ] {
                assert_eq!(place(address).ok(), expected, "{address}");
            }
        }
    }
}
