//! How the program is linked.
#![expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script in variables what is built"
)]

use std::env;

/// On Linux with glibc, the program is linked to a fixed address. Every hook and every commit starts it, and for a
/// program that may lie anywhere the loader writes some 57,000 pointers at each start: a third of its processor time
/// (`cargo xtask bench hooks`, with and without this line). The price is that the program's own code lies where it
/// lies; its libraries, stack and heap have random addresses as before.
///
/// A small program (the profile `dist`) has functions of one code once, where Rust brings the linker that can do it.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if is("OPT_LEVEL", "z") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
            println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        }
    }
}
