//! One binary for all targets: `SIGLUM_FUZZ` names the one to run.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siglum_tests::fuzz::{Target, targets};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("SIGLUM_FUZZ").expect("SIGLUM_FUZZ names the target");
    let found = targets().into_iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("no fuzz target is called {wanted}"))
});

fuzz_target!(|data: &[u8]| (TARGET.1)(data));
