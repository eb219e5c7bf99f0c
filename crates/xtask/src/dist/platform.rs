//! What each platform is called by whom.

use crate::{Failure, programs};

/// A platform that packages are made for.
pub(crate) struct Platform {
    /// What Rust and the tarballs call it.
    pub(crate) triple: &'static str,
    /// Debian's architecture, where it gets a package.
    pub(crate) debian: Option<&'static str>,
    pub(crate) node: Node,
    pub(crate) wheel: Wheel,
    /// Where the formula of Homebrew takes it, as blocks of that language.
    pub(crate) homebrew: Option<(&'static str, &'static str)>,
}

/// What npm asks a machine for.
pub(crate) struct Node {
    /// What the package is called behind the scope.
    pub(crate) name: &'static str,
    pub(crate) os: &'static str,
    pub(crate) cpu: &'static str,
    pub(crate) libc: Option<&'static str>,
}

/// How wheels call it.
pub(crate) enum Wheel {
    /// By the version of glibc that the program needs, and this processor.
    Glibc(&'static str),
    /// As it stands.
    Tag(&'static str),
}

/// All of them. Windows is missing: the program itself does not support it yet.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        debian: Some("amd64"),
        node: Node {
            name: "linux-x64",
            os: "linux",
            cpu: "x64",
            libc: Some("glibc"),
        },
        wheel: Wheel::Glibc("x86_64"),
        homebrew: Some(("on_linux", "on_intel")),
    },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        debian: Some("arm64"),
        node: Node {
            name: "linux-arm64",
            os: "linux",
            cpu: "arm64",
            libc: Some("glibc"),
        },
        wheel: Wheel::Glibc("aarch64"),
        homebrew: Some(("on_linux", "on_arm")),
    },
    Platform {
        triple: "x86_64-unknown-linux-musl",
        debian: None,
        node: Node {
            name: "linux-x64-musl",
            os: "linux",
            cpu: "x64",
            libc: Some("musl"),
        },
        wheel: Wheel::Tag("musllinux_1_2_x86_64"),
        homebrew: None,
    },
    Platform {
        triple: "aarch64-unknown-linux-musl",
        debian: None,
        node: Node {
            name: "linux-arm64-musl",
            os: "linux",
            cpu: "arm64",
            libc: Some("musl"),
        },
        wheel: Wheel::Tag("musllinux_1_2_aarch64"),
        homebrew: None,
    },
    Platform {
        triple: "aarch64-apple-darwin",
        debian: None,
        node: Node {
            name: "darwin-arm64",
            os: "darwin",
            cpu: "arm64",
            libc: None,
        },
        wheel: Wheel::Tag("macosx_11_0_arm64"),
        homebrew: Some(("on_macos", "on_arm")),
    },
    Platform {
        triple: "x86_64-apple-darwin",
        debian: None,
        node: Node {
            name: "darwin-x64",
            os: "darwin",
            cpu: "x64",
            libc: None,
        },
        wheel: Wheel::Tag("macosx_10_12_x86_64"),
        homebrew: Some(("on_macos", "on_intel")),
    },
];

/// The platform with this triple, or the one that Rust builds for here.
pub(crate) fn find(triple: Option<&str>) -> Result<&'static Platform, Failure> {
    let triple = match triple {
        Some(triple) => triple.to_owned(),
        None => host()?,
    };
    let found = PLATFORMS.iter().find(|known| known.triple == triple);
    found.ok_or_else(|| Failure::new(format!("no packages are made for {triple}")))
}

fn host() -> Result<String, Failure> {
    let fail = |e| Failure::new(format!("rustc: {e}"));
    let output = programs::program("rustc").arg("-vV").output();
    let text = String::from_utf8_lossy(&output.map_err(fail)?.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::new("rustc does not name its host"))
}

/// The newest version of glibc that a program asks for. The names of the versions stand in it as text.
pub(crate) fn glibc(program: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"\0GLIBC_";
    let places = program.windows(NAME.len()).enumerate();
    let named = places.filter(|(_, window)| *window == NAME);
    let versions = named.filter_map(|(at, _)| version(&program[at + NAME.len()..]));
    versions.max()
}

/// The version at the beginning of these bytes, which end in a zero.
fn version(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = bytes.iter().take(16).position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut numbers = text.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_counts() {
        let program = b"x\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(glibc(program), Some((2, 34)));
        assert_eq!(glibc(b"static"), None);
    }

    #[test]
    fn platforms_are_found_by_their_triple() {
        assert!(find(Some("aarch64-apple-darwin")).is_ok());
        assert!(find(Some("x86_64-pc-windows-msvc")).is_err());
    }
}
