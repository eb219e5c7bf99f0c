//! Where a store is, and how long to wait for it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};
use siglum_domain::Tenant;

use super::blob_store::BlobSettings;
use crate::LedgerError;

/// Where a PostgreSQL store is, whose part of it to open, and how long to wait for it.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host/database?sslmode=…`. `sslmode` is `disable`, `prefer`, `require` or
    /// `verify-full`; where it is absent, connections within this machine are plain and all others prefer TLS. With
    /// TLS the server's certificate is always verified, against those that the system trusts or those in the file
    /// `sslrootcert`.
    pub url: String,
    /// Whose part.
    pub tenant: Tenant,
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long to wait for a lock.
    pub wait: Duration,
    /// How long one statement may take.
    pub statement: Duration,
    /// Where large payloads are kept, if anywhere but in the database.
    pub blobs: Option<BlobSettings>,
}

impl PostgresSettings {
    /// A store with the waits that suit a command.
    #[must_use]
    pub fn new(url: impl Into<String>, tenant: Tenant) -> Self {
        Self {
            url: url.into(),
            tenant,
            connect: Duration::from_secs(5),
            wait: Duration::from_secs(10),
            statement: Duration::from_secs(60),
            blobs: None,
        }
    }
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings")
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// An address that was read.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) roots: Option<PathBuf>,
}

/// Reads an address. What is wrong is told without repeating any part of it: it may hold a password.
pub(super) fn address(settings: &PostgresSettings) -> Result<Address, LedgerError> {
    let url = settings.url.as_str();
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(wrong("it does not begin with `postgres://`"));
    }
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut roots = None;
    let mut mode = None;
    let mut rest = Vec::new();
    for option in query.split('&').filter(|o| !o.is_empty()) {
        match option.split_once('=') {
            Some(("sslrootcert", path)) => roots = Some(PathBuf::from(decoded(path)?)),
            Some(("sslmode", word)) => mode = Some(ssl_mode(word)?),
            _ => rest.push(option),
        }
    }
    let plain = format!("{base}?{}", rest.join("&"));
    let mut config: Config = plain
        .parse()
        .map_err(|_| wrong("it has a part that is no known option, host, port or name"))?;
    let mode = mode.unwrap_or_else(|| match is_local(&config) {
        true => SslMode::Disable,
        false => SslMode::Prefer,
    });
    config
        .ssl_mode(mode)
        .application_name("siglum")
        .connect_timeout(settings.connect)
        .keepalives(true)
        .keepalives_idle(Duration::from_secs(15))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(30));
    Ok(Address { config, roots })
}

fn wrong(what: &str) -> LedgerError {
    LedgerError::Unreachable(format!("the address of the store cannot be used: {what}").into())
}

fn ssl_mode(word: &str) -> Result<SslMode, LedgerError> {
    match word {
        "disable" => Ok(SslMode::Disable),
        "prefer" => Ok(SslMode::Prefer),
        // Names are verified in any case, so that the stricter words say nothing new.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(wrong(
            "`sslmode` is none of `disable`, `prefer`, `require`, `verify-full`",
        )),
    }
}

/// Whether all connections stay within this machine.
fn is_local(config: &Config) -> bool {
    let is_loopback =
        |name: &str| name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        Host::Unix(_) => true,
    }) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// A value of an address without its `%` escapes.
fn decoded(text: &str) -> Result<String, LedgerError> {
    let refused = || wrong("`sslrootcert` has a broken `%` escape");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = others;
            continue;
        }
        let (digits, behind) = others.split_at_checked(2).ok_or_else(refused)?;
        let digits = std::str::from_utf8(digits).map_err(|_| refused())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| refused())?);
        rest = behind;
    }
    String::from_utf8(bytes).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> PostgresSettings {
        PostgresSettings::new(url, Tenant::new("t").unwrap())
    }

    #[track_caller]
    fn check(url: &str, expected: SslMode, roots: Option<&str>) {
        let Ok(found) = address(&settings(url)) else {
            panic!("{url} was refused");
        };
        assert_eq!(found.config.get_ssl_mode(), expected, "{url}");
        assert_eq!(found.roots, roots.map(PathBuf::from), "{url}");
    }

    #[test]
    fn what_stays_within_this_machine_is_plain_and_the_rest_prefers_tls() {
        check("postgres://u@localhost/d", SslMode::Disable, None);
        check("postgres://u@127.0.0.1:5/d", SslMode::Disable, None);
        check("postgres://u@[::1]/d", SslMode::Disable, None);
        check("postgresql:///d?host=/run/pg", SslMode::Disable, None);
        check("postgres://u@db.example/d", SslMode::Prefer, None);
        check("postgres://u@localhost,db.example/d", SslMode::Prefer, None);
    }

    #[test]
    fn settings_of_tls_are_applied() {
        check("postgres://db/d?sslmode=disable", SslMode::Disable, None);
        check(
            "postgres://127.0.0.1/d?sslmode=require",
            SslMode::Require,
            None,
        );
        check(
            "postgres://db/d?sslmode=verify-full&sslrootcert=/a%20b%2Fc.pem&user=x",
            SslMode::Require,
            Some("/a b/c.pem"),
        );
    }

    #[test]
    fn what_is_wrong_is_reported_without_the_password() {
        for url in [
            "postgres://u:hunter2@db/d?sslmode=maybe",
            "postgres://u:hunter2@db:port/d",
            "postgres://u:hunter2@db/d?hunter2=x",
            "postgres://u:hunter2@db/d?sslrootcert=%zz",
            "postgres://u:hunter2@db/d?sslrootcert=%f",
            "host=db password=hunter2",
            "postgres://u:hunter2@[db/d",
        ] {
            let Err(error) = address(&settings(url)) else {
                panic!("{url} was taken");
            };
            let text = format!("{error:?} {error}");
            assert!(matches!(error, LedgerError::Unreachable(_)), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
            assert!(!format!("{:?}", settings(url)).contains("hunter2"));
        }
    }
}
