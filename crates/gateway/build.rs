//! Packs the document of the API: the program reads it once at its start, and serves it now and then.
#![expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script in variables where to write"
)]

use std::fs::File;
use std::path::Path;
use std::{env, io};

use flate2::Compression;
use flate2::write::GzEncoder;

const DOCUMENT: &str = "../../docs/openapi.json";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let directory = env::var_os("OUT_DIR").expect("because Cargo gives one");
    let packed = File::create(Path::new(&directory).join("openapi.json.gz"))?;
    let mut packed = GzEncoder::new(packed, Compression::best());
    io::copy(&mut File::open(DOCUMENT)?, &mut packed)?;
    packed.finish()?;
    Ok(())
}
