//! A server that speaks the protocol of S3, for tests: s3s-fs, fresh, on a free port of this machine. It checks signatures,
//! and its objects are files, which tests look at, change and remove. It goes when the program ends that started it, and
//! takes its directory with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::sinks::{Server, Site};
use crate::{Failure, debian, programs, workspace};

/// The server, pinned.
const TOOL: &str = "s3s-fs";
const VERSION: &str = "0.13.0";

/// The variables that tell tests where it is, where its buckets are as directories, and which key it knows.
const ADDRESS: &str = "SIGLUM_TEST_S3";
const ROOT: &str = "SIGLUM_TEST_S3_ROOT";
const CREDENTIALS: &str = "SIGLUM_TEST_S3_CREDENTIALS";

/// The key, as its id and itself.
const KEY: (&str, &str) = ("tests", "the-key-of-the-tests");

/// What tests use, for as long as this lives.
pub(crate) struct S3 {
    _server: Server,
    variables: [(&'static str, String); 3],
}

/// `cargo xtask s3`: starts it, says how to use it, and waits.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("s3 takes no arguments".to_owned()));
    }
    let s3 = start()?;
    for (name, value) in &s3.variables {
        println!("export {name}='{value}'");
    }
    eprintln!("the server runs until this program is interrupted");
    loop {
        std::thread::park();
    }
}

impl S3 {
    /// Tells tests where it is.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

/// Installs it where it is missing, and starts it.
pub(crate) fn start() -> Result<S3, Failure> {
    debian::ensure(&[("setsid", "util-linux")])?;
    let program = install()?;
    let site = Site::new("s3")?;
    let root = site.directory.join("buckets");
    fs::create_dir(&root).map_err(|e| Failure::new(format!("{}: {e}", root.display())))?;
    let mut server = site.program(&program);
    server
        .args(["--host", "127.0.0.1", "--port", &site.port.to_string()])
        .args(["--access-key", KEY.0, "--secret-key", KEY.1])
        .arg(&root);
    let variables = [
        (ADDRESS, format!("http://127.0.0.1:{}", site.port)),
        (ROOT, root.display().to_string()),
        (CREDENTIALS, format!("{}:{}", KEY.0, KEY.1)),
    ];
    let server = site.keep(&server)?;
    site.await_connections()?;
    Ok(S3 {
        _server: server,
        variables,
    })
}

/// Installs it where it is missing. The version is part of the folder's name, so a new one is a new folder.
fn install() -> Result<PathBuf, Failure> {
    let root = workspace::target_dir()?.join(format!("tools/{TOOL}-{VERSION}"));
    let program = root.join("bin").join(TOOL);
    if !program.is_file() {
        let mut cargo = programs::cargo(&["install", TOOL, "--version", VERSION, "--locked"]);
        // Tests send it little: to optimise it takes longer than it saves.
        cargo.args(["--features", "binary", "--quiet", "--debug"]);
        cargo.envs([
            ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
            ("CARGO_PROFILE_DEV_DEBUG", "0"),
        ]);
        programs::run(cargo.arg("--root").arg(&root))?;
    }
    Ok(program)
}
