//! The identity that a launcher hands down: a session in a variable, and its token in a file that
//! another variable names. Whoever has both proves that it runs below the launcher.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use siglum_domain::SessionId;
use siglum_domain::intake::LaunchClaim;

use crate::home::Home;
use crate::{clock, env};

/// The variable with the session.
pub const SESSION: &str = "SIGLUM_SESSION_ID";
/// The variable with the path of the file that has the token.
pub const TOKEN_FILE: &str = "SIGLUM_LAUNCH_TOKEN_FILE";
/// The variable that says in which trace the launcher was asked.
pub const TRACED: &str = "SIGLUM_TRACEPARENT";

/// How long a token may be, in bytes.
const TOKEN_MOST: u64 = 256;

/// What was handed down to this process, if anything was. Without the first variable nothing is
/// looked at.
pub fn inherited() -> Option<LaunchClaim> {
    let session: SessionId = env::text(SESSION)?.parse().ok()?;
    // A hook must not wait for whoever writes to a pipe.
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(at_once);
    let file = file.open(env::path(TOKEN_FILE)?).ok()?;
    let regular = file.metadata().is_ok_and(|m| m.is_file());
    let mut token = Vec::new();
    let read = file.take(TOKEN_MOST).read_to_end(&mut token);
    (regular && read.is_ok()).then(|| LaunchClaim {
        session,
        digest: digest(&token),
    })
}

fn digest(token: &[u8]) -> String {
    blake3::hash(token).to_hex().to_string()
}

/// A token that was written for one session. Its file is there as long as the launch lasts.
pub struct Token {
    pub path: PathBuf,
    /// What the ledger gets of it.
    pub digest: String,
}

impl Token {
    /// Makes one, in a file that only this user can read.
    pub fn make(home: &Home, session: SessionId) -> io::Result<Self> {
        let dir = home.launches();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)?;
        let path = file_of(&dir, session);
        let secret = clock::secret();
        let token = secret
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>();
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(token.as_bytes())?;
        Ok(Self {
            path,
            digest: digest(token.as_bytes()),
        })
    }

    /// Makes one in place of one that was left.
    pub fn renew(home: &Home, session: SessionId) -> io::Result<Self> {
        forget(home, &[session]);
        Self::make(home, session)
    }

    /// The launch is over: nobody proves anything with it any more.
    pub fn end(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn file_of(dir: &Path, session: SessionId) -> PathBuf {
    dir.join(format!("{session}.token"))
}

/// The launches that nobody has ended yet: those whose token is there.
pub fn open_launches(home: &Home) -> Vec<SessionId> {
    let entries = fs::read_dir(home.launches())
        .into_iter()
        .flatten()
        .flatten();
    let session = |name: &str| name.strip_suffix(".token")?.parse().ok();
    let mut found: Vec<SessionId> = entries
        .filter_map(|e| session(&e.file_name().to_string_lossy()))
        .collect();
    found.sort();
    found
}

/// Takes back the tokens of launches that are over.
pub fn forget(home: &Home, over: &[SessionId]) {
    for session in over {
        let _ = fs::remove_file(file_of(&home.launches(), *session));
    }
}
