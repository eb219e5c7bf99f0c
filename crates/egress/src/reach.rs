//! How far something may go: to public addresses alone, or wherever an operator said.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::address::Address;

/// Which addresses are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those of the internet: none of this machine, its network, or its provider. A name that leads elsewhere is not asked.
    Public,
    /// Whichever it is.
    Anywhere,
}

impl Reach {
    /// Whether an address says by itself that it is out of reach. Of a name that shows when it is looked up.
    #[must_use]
    pub fn excludes(self, address: &Address) -> bool {
        let host = address.host().trim_end_matches('.');
        let is_here = host == "localhost" || host.ends_with(".localhost");
        let is_inside = literal(host).is_some_and(|ip| !is_public(ip));
        self == Self::Public && (is_here || is_inside)
    }
}

/// A name leads to an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error(
    "not a public address; the operator of the gateway can allow it with `siglum serve --webhook HOST`"
)]
pub(crate) struct NotPublic;

/// Looks names up, and refuses what is out of reach: the address that is checked is the one that is asked.
#[derive(Debug)]
pub(crate) struct Within(pub(crate) Reach);

impl Resolver for Within {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        match self.0 == Reach::Public && found.iter().any(|at| !is_public(at.ip())) {
            true => Err(ureq::Error::Other(Box::new(NotPublic))),
            false => Ok(found),
        }
    }
}

/// The address that a host is without being looked up.
fn literal(host: &str) -> Option<IpAddr> {
    let address = host.parse().ok();
    address.or_else(|| numeric(host).map(IpAddr::V4))
}

/// One to four numbers, of which the last one is all bytes that are left, as resolvers read them: `127.1`, `0x7f000001`.
fn numeric(host: &str) -> Option<Ipv4Addr> {
    let numbers: Option<Vec<u64>> = host.split('.').map(number).collect();
    let numbers = numbers?;
    let (last, bytes) = numbers.split_last()?;
    let left = 8 * (1 + 3_usize.checked_sub(bytes.len())?);
    if *last >> left != 0 || bytes.iter().any(|byte| *byte > 255) {
        return None;
    }
    let high = bytes.iter().fold(0_u64, |high, byte| high << 8 | byte);
    u32::try_from(high << left | last).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    // This network; shared by a provider's customers; protocol assignments; benchmarks; reserved.
    let is_special = matches!(
        ip.octets(),
        [0, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] | [240..=255, ..]
    );
    !(is_special
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        // An address of IPv4 in another form: mapped, compatible, translated, tunnelled.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        // Local to a site or a link, for groups, for documents, for a translator of one's own.
        [0xfc00..=0xfdff | 0xfe80..=0xfeff | 0xff00..=0xffff, ..]
        | [0x2001, 0xdb8, ..]
        | [0x64, 0xff9b, 1, ..] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Plain;

    #[test]
    fn what_is_public_is_distinguished_from_what_is_near() {
        for public in ["1.1.1.1", "9.9.9.9", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for near in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(near.parse().unwrap()), "{near}");
        }
    }

    #[test]
    fn an_address_that_is_near_is_out_of_reach_unless_it_is_named() {
        for (text, excluded) in [
            ("https://127.0.0.1/x", true),
            ("https://[::1]:8443", true),
            ("https://localhost", true),
            ("https://a.localhost", true),
            ("https://169.254.169.254", true),
            ("https://localhost.", true),
            ("https://2130706433", true),
            ("https://0x7f000001", true),
            ("https://0X7F.1", true),
            ("https://017700000001", true),
            ("https://127.1", true),
            ("https://10.258", true),
            ("https://0", true),
            ("https://127.0.0.1.", true),
            ("https://team.example", false),
            ("https://1.1.1.1", false),
            ("https://16843009", false),
            ("https://127.example", false),
            ("https://4294967296", false),
        ] {
            let address = Address::parse(text, Plain::Loopback).unwrap();
            assert_eq!(Reach::Public.excludes(&address), excluded, "{text}");
            assert!(!Reach::Anywhere.excludes(&address));
        }
    }
}
