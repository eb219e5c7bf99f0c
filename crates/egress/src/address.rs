//! Where to: an address that may be sent to.

use std::fmt;
use std::net::IpAddr;

/// Whether an unencrypted connection to another machine may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// Only to this machine itself.
    Loopback,
    /// The user said so.
    Anywhere,
}

/// Why an address is not sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid address: {rule}")]
pub struct AddressError {
    /// What was given, without what may be a secret.
    pub text: String,
    pub rule: &'static str,
}

/// The base address of a gateway: scheme, host, port and path, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    host: String,
}

impl Address {
    /// Checks an address.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(text: &str, plain: Plain) -> Result<Self, AddressError> {
        // Whatever stands before an @ may be a password.
        let safe = match text.split_once("://") {
            Some((scheme, rest)) => {
                let rest = rest.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{rest}")
            }
            None => text.to_owned(),
        };
        let safe: String = safe.chars().filter(|c| !c.is_control()).take(200).collect();
        let refuse = |rule| AddressError {
            text: safe.split(['?', '#']).next().unwrap_or_default().to_owned(),
            rule,
        };
        let is_plain_text = |c: char| c.is_ascii_graphic();
        if text.len() > 2_000 || !text.chars().all(is_plain_text) {
            return Err(refuse("it must be at most 2000 printable ASCII characters"));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| refuse("it must begin with https:// or http://"))?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(refuse("it must begin with https:// or http://"));
        }
        if rest.contains(['?', '#', '@', '\\']) {
            return Err(refuse(
                "it must have only a host, a port and a path, without user, query or fragment",
            ));
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let authority = authority.to_ascii_lowercase();
        let host =
            host(&authority).ok_or_else(|| refuse("it has no host, or no port from 1 to 65535"))?;
        if scheme == "http" && plain == Plain::Loopback && !is_loopback(&host) {
            return Err(refuse(
                "without encryption, data is sent only to this machine; use https://, or allow unencrypted connections",
            ));
        }
        Ok(Self {
            text: format!("{scheme}://{authority}{}", path.trim_end_matches('/')),
            host,
        })
    }

    /// The address as text, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is this machine itself.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Whether what is sent there is encrypted on the way.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The path, without a slash at its end; empty if it has none.
    #[must_use]
    pub fn path(&self) -> &str {
        let (_, rest) = self.text.split_once("://").unwrap_or_default();
        rest.find('/').map_or("", |at| &rest[at..])
    }

    /// The address of something below it.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The host of an authority, without its port.
fn host(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (
                host,
                after
                    .strip_prefix(':')
                    .or(after.is_empty().then_some("443"))?,
            )
        }
        None => authority.split_once(':').unwrap_or((authority, "443")),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_port =
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|p| p > 0);
    (!host.is_empty() && host.chars().all(known) && is_port).then(|| host.to_owned())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_a_port_and_a_path() {
        for (text, kept) in [
            ("https://team.example", "https://team.example"),
            (
                "HTTPS://Team.Example:8443/a/B/",
                "https://team.example:8443/a/B",
            ),
            ("http://127.0.0.1:80", "http://127.0.0.1:80"),
            ("http://127.9.9.9", "http://127.9.9.9"),
            ("http://localhost:1/", "http://localhost:1"),
            ("http://[::1]:9", "http://[::1]:9"),
        ] {
            let address = Address::parse(text, Plain::Loopback).unwrap();
            assert_eq!(address.as_str(), kept);
        }
        for bad in [
            "",
            "team.example",
            "ftp://x",
            "https://",
            "https://:1",
            "https://x:0",
            "https://x:65536",
            "https://x:+1",
            "https://a@b",
            "https://x?y",
            "https://x#y",
            "https://x y",
            "https://[::1",
            "https://[::1]x",
            "https://x\n",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://team.example",
        ] {
            assert!(Address::parse(bad, Plain::Loopback).is_err(), "{bad}");
        }
        assert!(Address::parse("http://team.example", Plain::Anywhere).is_ok());
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let error = Address::parse("https://user:hunter2@x/", Plain::Loopback).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let error = Address::parse("https://x/?token=hunter2", Plain::Loopback).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
