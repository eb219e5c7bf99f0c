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
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
