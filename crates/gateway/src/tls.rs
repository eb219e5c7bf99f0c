//! TLS of the gateway itself: a certificate and its key, which are read again when their files change.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::Signal;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// How often it is looked whether the files changed.
const LOOK: Duration = Duration::from_secs(10);
/// The largest file that is read, in bytes.
const MOST: u64 = 1 << 20;
/// The protocols that a client may choose from, the preferred one first.
const PROTOCOLS: &[&[u8]] = &[
    #[cfg(feature = "grpc")]
    HTTP_2,
    b"http/1.1",
];
/// What HTTP/2 is called in a handshake.
#[cfg(feature = "grpc")]
pub(crate) const HTTP_2: &[u8] = b"h2";

/// Where the certificate of the gateway and its key are, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, followed by the intermediate ones that clients need.
    pub certificate: PathBuf,
    /// The key, without a passphrase.
    pub key: PathBuf,
}

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// Whoever reads the key can pose as the gateway.
    #[error("other users can read the key in {}", .0.display())]
    ExposedKey(PathBuf),
    #[error("cannot find a certificate in {}", .0.display())]
    NoCertificate(PathBuf, #[source] pem::Error),
    #[error("cannot find a private key without a passphrase in {}", .0.display())]
    NoKey(PathBuf, #[source] pem::Error),
    /// They do not belong together, or are of a kind that is not supported.
    #[error("cannot use the certificate in {} with its key", .0.display())]
    Refused(PathBuf, #[source] rustls::Error),
}

/// The certificate that is served now. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tls(Arc<Inner>);

struct Inner {
    files: TlsFiles,
    state: Mutex<State>,
}

struct State {
    served: Arc<ServerConfig>,
    /// The digest of what was read last, whether or not it could be used.
    seen: blake3::Hash,
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        let pem = Pem::read(files)?;
        let state = State {
            served: pem.config(files)?,
            seen: pem.digest(),
        };
        Ok(Self(Arc::new(Inner {
            files: files.clone(),
            state: Mutex::new(state),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What greets the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.state().served).into()
    }

    /// Reads the files again, and serves what they have from the next connection on. What cannot be used is logged once,
    /// and what was served before goes on.
    fn reread(&self) {
        let files = &self.0.files;
        let pem = Pem::read(files);
        let seen = match &pem {
            Ok(pem) => pem.digest(),
            Err(error) => blake3::hash(with_causes(error).as_bytes()),
        };
        if self.state().seen == seen {
            return;
        }
        let served = pem.and_then(|pem| pem.config(files));
        let mut state = self.state();
        state.seen = seen;
        match served {
            Ok(served) => {
                state.served = served;
                let certificate = files.certificate.display();
                tracing::info!("serves the new certificate in {certificate}");
            }
            Err(error) => {
                let error = with_causes(&error);
                tracing::error!("keeps the previous certificate: {error}");
            }
        }
    }
}

/// Reads the files again each time that they may have changed, and when the gateway is asked to by a signal, until it
/// stops.
pub(crate) async fn follow(tls: Tls, mut hangup: Signal, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = hangup.recv() => {}
            _ = stopping.changed() => return,
        }
        let tls = tls.clone();
        let _ = tokio::task::spawn_blocking(move || tls.reread()).await;
    }
}

/// What the files contain.
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |error| TlsError::Unreadable(path, error)
        };
        let certificate = open(&files.certificate)
            .and_then(|(file, _)| content(file))
            .map_err(unreadable(&files.certificate))?;
        let (file, is_exposed) = open(&files.key).map_err(unreadable(&files.key))?;
        if is_exposed {
            return Err(TlsError::ExposedKey(files.key.clone()));
        }
        let key = content(file).map_err(unreadable(&files.key))?;
        Ok(Self { certificate, key })
    }

    fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.certificate.len() as u64).to_le_bytes());
        hasher.update(&self.certificate);
        hasher.update(&self.key);
        hasher.finalize()
    }

    fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
        let no_certificate = |error| TlsError::NoCertificate(files.certificate.clone(), error);
        let chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(no_certificate)?;
        if chain.is_empty() {
            return Err(no_certificate(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| TlsError::NoKey(files.key.clone(), error))?;
        let refused = |error| TlsError::Refused(files.certificate.clone(), error);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(refused)?;
        config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// Opens a file; tells whether users can read it who should not read a key.
fn open(path: &Path) -> io::Result<(File, bool)> {
    // A pipe would make whoever opens it wait.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok((file, is_exposed(metadata.mode(), metadata.uid())))
}

fn content(file: File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(MOST + 1).read_to_end(&mut content)?;
    match content.len() as u64 > MOST {
        true => Err(io::Error::other("too large")),
        false => Ok(content),
    }
}

/// Whether a key with this mode and owner can be read by users who should not. As for PostgreSQL, a key of root may be
/// readable for a group, such as `ssl-cert`.
const fn is_exposed(mode: u32, owner: u32) -> bool {
    let others = if owner == 0 { 0o007 } else { 0o077 };
    mode & others != 0
}

fn with_causes(error: &TlsError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_its_owner_and_one_of_root_for_a_group_too() {
        for (mode, owner, exposed) in [
            (0o100_600, 1000, false),
            (0o100_400, 1000, false),
            (0o100_640, 1000, true),
            (0o100_644, 1000, true),
            (0o100_640, 0, false),
            (0o100_644, 0, true),
        ] {
            assert_eq!(is_exposed(mode, owner), exposed, "{mode:o} {owner}");
        }
    }
}
