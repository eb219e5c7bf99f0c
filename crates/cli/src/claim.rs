//! The identity that a launcher hands down: a session in a variable, and its token in a file that
//! another variable names. Whoever has both proves that it runs below the launcher. For sandboxes that show the repository and
//! not the home of Siglum, a copy lies in the repository; where both are hidden the launcher itself, seen above, proves it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use siglum_domain::SessionId;
use siglum_domain::intake::LaunchClaim;
use siglum_gitstore::{Repo, create_siglum_subdirectory, siglum_subdirectory};

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
/// Where copies of tokens lie in a repository, in Siglum's directory.
const COPIES: &str = "launches";

/// What was handed down to this process, if anything was. Without the first variable nothing is
/// looked at. In a repository its copy of the token stands in for a file that cannot be read.
pub fn inherited(repo: Option<&Repo>) -> Option<LaunchClaim> {
    let session: SessionId = env::text(SESSION)?.parse().ok()?;
    let copy = || read_token(&file_of(&copies(&repo?.siglum_dir())?, session));
    let token = env::path(TOKEN_FILE).and_then(|path| read_token(&path));
    let token = token.or_else(copy);
    Some(LaunchClaim {
        session,
        digest: token.map(|token| digest(&token)).unwrap_or_default(),
    })
}

fn read_token(path: &Path) -> Option<Vec<u8>> {
    // A hook must not wait for whoever writes to a pipe.
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(at_once).open(path).ok()?;
    let regular = file.metadata().is_ok_and(|m| m.is_file());
    let mut token = Vec::new();
    let read = file.take(TOKEN_MOST).read_to_end(&mut token);
    (regular && read.is_ok()).then_some(token)
}

fn digest(token: &[u8]) -> String {
    blake3::hash(token).to_hex().to_string()
}

/// A token that was written for one session. Its file is there as long as the launch lasts.
pub struct Token {
    pub path: PathBuf,
    /// The copy in the repository.
    copy: Option<PathBuf>,
    /// What the ledger gets of it.
    pub digest: String,
}

impl Token {
    /// Makes one, in a file that only this user can read.
    pub fn make(home: &Home, session: SessionId) -> io::Result<Self> {
        let secret = clock::secret();
        let token = secret
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>();
        Ok(Self {
            path: write_token(&home.launches(), session, &token)?,
            copy: None,
            digest: digest(token.as_bytes()),
        })
    }

    /// Puts a copy into a repository that is switched on; without it the launch goes on.
    pub fn copy_to(&mut self, siglum_dir: &Path, session: SessionId) {
        let token = read_token(&self.path).and_then(|token| String::from_utf8(token).ok());
        if let Some(token) = token
            && let Ok(dir) = create_siglum_subdirectory(siglum_dir, COPIES)
        {
            self.copy = write_token(&dir, session, &token).ok();
        }
    }

    /// Makes one in place of one that was left.
    #[cfg(feature = "gateway")]
    pub fn renew(home: &Home, session: SessionId) -> io::Result<Self> {
        forget(home, &[session]);
        Self::make(home, session)
    }

    /// The launch is over: nobody proves anything with it any more.
    pub fn end(&self) {
        let _ = fs::remove_file(&self.path);
        if let Some(copy) = &self.copy {
            remove_copy(copy);
        }
    }
}

/// Writes a file that only this user can read.
fn write_token(dir: &Path, session: SessionId, token: &str) -> io::Result<PathBuf> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)?;
    let path = file_of(dir, session);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(token.as_bytes())?;
    Ok(path)
}

fn copies(siglum_dir: &Path) -> Option<PathBuf> {
    siglum_subdirectory(siglum_dir, COPIES)
}

fn file_of(dir: &Path, session: SessionId) -> PathBuf {
    dir.join(format!("{session}.token"))
}

/// The launches that nobody has ended yet: those whose token is there.
pub fn open_launches(home: &Home) -> Vec<SessionId> {
    tokens_in(&home.launches())
}

fn tokens_in(dir: &Path) -> Vec<SessionId> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let session = |name: &str| name.strip_suffix(".token")?.parse().ok();
    let mut found: Vec<SessionId> = entries
        .filter_map(|e| session(&e.file_name().to_string_lossy()))
        .collect();
    found.sort();
    found
}

/// Takes back the copy of the token of a launch that is over.
pub fn forget_copy(siglum_dir: &Path, over: SessionId) {
    if let Some(dir) = copies(siglum_dir) {
        remove_copy(&file_of(&dir, over));
    }
}

/// Takes back all copies in a repository that is switched off.
pub fn forget_copies(siglum_dir: &Path) {
    let copies = copies(siglum_dir);
    for session in copies.iter().flat_map(|dir| tokens_in(dir)) {
        forget_copy(siglum_dir, session);
    }
}

/// Removes a copy, and the directory with the last one.
fn remove_copy(path: &Path) {
    let _ = fs::remove_file(path);
    if let Some(dir) = path.parent() {
        let _ = fs::remove_dir(dir);
    }
}

/// Takes back the tokens of launches that are over.
pub fn forget(home: &Home, over: &[SessionId]) {
    for session in over {
        let _ = fs::remove_file(file_of(&home.launches(), *session));
    }
}
