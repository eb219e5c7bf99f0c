//! The program `siglum`.

use std::process::ExitCode;

fn main() -> ExitCode {
    siglum::main()
}
