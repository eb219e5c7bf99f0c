//! Proxies before the gateway: those that the operator named say for whom they ask, and nobody else is believed.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};

/// An address, or all that begin with the same bits, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u32,
}

/// Why a text is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an IP address, or the first address of a network and its bits as in 10.0.0.0/8")]
pub struct NotANetwork;

impl std::str::FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        // An address of IPv4 is written as one.
        if first != first.to_canonical() {
            return Err(NotANetwork);
        }
        let (most, zeros) = match first {
            IpAddr::V4(first) => (u32::BITS, first.to_bits().trailing_zeros()),
            IpAddr::V6(first) => (u128::BITS, first.to_bits().trailing_zeros()),
        };
        let bits = match bits {
            None => most,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| NotANetwork)?
            }
            Some(_) => return Err(NotANetwork),
        };
        // One that does not begin where it says is a slip, which could let in more than is meant.
        match bits <= most && zeros >= most - bits {
            true => Ok(Self { first, bits }),
            false => Err(NotANetwork),
        }
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        let alike = match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(one)) => {
                (first.to_bits() ^ one.to_bits()).leading_zeros()
            }
            (IpAddr::V6(first), IpAddr::V6(one)) => {
                (first.to_bits() ^ one.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        alike >= self.bits
    }
}

/// The proxies that are believed.
pub(crate) struct Proxies(Vec<Network>);

impl Proxies {
    pub(crate) const fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The address of whoever asks: the peer itself, unless it is a proxy that is believed. Then it is the nearest one
    /// before it that is not.
    ///
    /// A proxy that sets one of the two headers may hand on the other one as its client wrote it, so where they differ
    /// neither counts.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
        if !self.trusts(peer) {
            return peer;
        }
        let standard = hops(headers, header::FORWARDED, forwarded_for);
        let common = hops(headers, X_FORWARDED_FOR, node);
        let hops = match (standard.is_empty(), common.is_empty()) {
            (false, false) if standard != common => return peer,
            (false, _) => standard,
            (true, _) => common,
        };
        let mut client = peer;
        for hop in hops {
            // What stands before one that cannot be read is nobody's word.
            let Some(hop) = hop else { break };
            client = hop;
            if !self.trusts(hop) {
                break;
            }
        }
        client
    }
}

/// The addresses that a header names, the nearest one first.
fn hops(
    headers: &HeaderMap,
    name: HeaderName,
    read: fn(&str) -> Option<IpAddr>,
) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(name).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or_default());
    let mut hops: Vec<_> = lines.flat_map(|line| line.split(',')).map(read).collect();
    hops.reverse();
    hops
}

/// The address in one element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let is_for = name.trim().eq_ignore_ascii_case("for");
        is_for.then(|| node(value.trim().trim_matches('"')))?
    })
}

/// An address, perhaps with a port, or in brackets.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse().ok();
    let address = address.or_else(|| text.parse().ok().map(|at: SocketAddr| at.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn networks_are_addresses_with_bits() {
        for good in [
            "10.0.0.0/8",
            "127.0.0.1",
            "0.0.0.0/0",
            "::1",
            "fd00::/8",
            "::/0",
        ] {
            assert!(good.parse::<Network>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "10.0.0.1/8",
            "fd00::1/8",
            "::/129",
            "::ffff:10.0.0.0/104",
            "10.0.0/8",
            "localhost",
            "10.0.0.0/8/8",
            " 10.0.0.0/8",
        ] {
            assert_eq!(bad.parse::<Network>(), Err(NotANetwork), "{bad}");
        }
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_alike() {
        let has = |network: &str, address: &str| {
            let network: Network = network.parse().unwrap();
            network.contains(address.parse().unwrap())
        };
        assert!(has("10.0.0.0/8", "10.255.0.1"));
        assert!(has("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!has("10.0.0.0/8", "11.0.0.0"));
        assert!(has("192.0.2.7", "192.0.2.7") && !has("192.0.2.7", "192.0.2.6"));
        assert!(has("0.0.0.0/0", "203.0.113.1") && !has("0.0.0.0/0", "::1"));
        assert!(has("fd00::/8", "fdff::1") && !has("fd00::/8", "fe80::1"));
        assert!(has("::/0", "2001:db8::1"));
    }

    /// The client of a request from a peer, with the lines of its head.
    fn client(peer: &str, lines: &[(&str, &str)]) -> String {
        let proxies = Proxies::new(vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let client = proxies.client(peer.parse().unwrap(), &headers);
        client.to_string()
    }

    #[test]
    fn nobody_but_a_named_proxy_is_believed() {
        let lines = [
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
        ];
        assert_eq!(client("203.0.113.9", &lines), "203.0.113.9");
        assert_eq!(client("10.0.0.1", &lines), "192.0.2.1");
        assert_eq!(client("::ffff:10.0.0.1", &lines), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn the_client_is_the_nearest_one_that_is_no_proxy() {
        let x = |value: &str| client("10.0.0.1", &[("x-forwarded-for", value)]);
        assert_eq!(x("198.51.100.1, 192.0.2.1, 10.0.0.2"), "192.0.2.1");
        assert_eq!(
            x("10.0.0.3, 10.0.0.2"),
            "10.0.0.3",
            "all of them are proxies"
        );
        assert_eq!(x("192.0.2.1, unknown, 10.0.0.2"), "10.0.0.2");
        assert_eq!(x("192.0.2.1,"), "10.0.0.1");
        assert_eq!(x("192.0.2.1:8080"), "192.0.2.1");
        assert_eq!(x("[2001:db8::1]:8080"), "2001:db8::1");
        assert_eq!(x("2001:db8::1"), "2001:db8::1");
        let twice = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-for", "192.0.2.2"),
        ];
        assert_eq!(
            client("10.0.0.1", &twice),
            "192.0.2.2",
            "the last line counts"
        );
    }

    #[test]
    fn the_standard_header_is_read_too() {
        let by = |value: &str| client("::1", &[("forwarded", value)]);
        assert_eq!(by("for=192.0.2.1;proto=https;host=x"), "192.0.2.1");
        assert_eq!(by("proto=https; For=\"[2001:db8::1]:4711\""), "2001:db8::1");
        assert_eq!(by("for=192.0.2.1, for=10.0.0.2"), "192.0.2.1");
        assert_eq!(
            by("for=\"evil, for=192.0.2.1"),
            "192.0.2.1",
            "quotes hide nothing"
        );
        assert_eq!(by("for=_hidden"), "::1");
        assert_eq!(by("proto=https"), "::1");
    }

    #[test]
    fn headers_that_differ_do_not_count() {
        let lines = [
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.2"),
        ];
        assert_eq!(client("10.0.0.1", &lines), "10.0.0.1");
    }
}
