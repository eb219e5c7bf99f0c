//! TLS: the certificates that are trusted.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::LedgerError;

/// Makes TLS connections to servers whose certificate is signed by one of `roots`, or by one that the system trusts.
pub(super) fn connector(roots: Option<&Path>) -> Result<MakeRustlsConnect, LedgerError> {
    let trusted = match roots {
        Some(path) => from_file(path)?,
        None => from_system(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| LedgerError::Unreachable(Box::new(e)))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn from_file(path: &Path) -> Result<RootCertStore, LedgerError> {
    let refused = |e: &dyn std::fmt::Display| {
        let what = format!("the certificates in {}: {e}", path.display());
        LedgerError::Unreachable(what.into())
    };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|e| refused(&e))?;
    for certificate in found {
        let certificate = certificate.map_err(|e| refused(&e))?;
        roots.add(certificate).map_err(|e| refused(&e))?;
    }
    if roots.is_empty() {
        return Err(refused(&"there are none"));
    }
    Ok(roots)
}

/// A certificate of the system that cannot be read is not trusted; the handshake tells what is missing.
fn from_system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
