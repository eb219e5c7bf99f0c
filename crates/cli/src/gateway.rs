//! The team's gateway: where it is, by which token it knows us, and the way to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use siglum_domain::IdSource as _;
use siglum_domain::scope::Scope;
use siglum_egress::{
    Address, EgressError, GatewayClient, Once, Plain, Timeouts, Token, Waits, backoff,
};
use siglum_engine::share::project;
use siglum_engine::share::replica::{DocumentName, Gate, GateError, Positions};
use siglum_ledger::{DESTINATION, Projection, SqliteLedger, read};

use crate::clock::Ids;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::Home;
use crate::logins::{self, Login};
use crate::{env, job_token, secret_files, ui};

/// The variable with the address.
pub const ADDRESS: &str = "SIGLUM_GATEWAY";
/// The variable with the path of the file that has the token.
pub const TOKEN_FILE: &str = "SIGLUM_GATEWAY_TOKEN_FILE";
/// The variable with the token itself.
pub const TOKEN: &str = "SIGLUM_GATEWAY_TOKEN";
/// The longest name of a projection.
const NAME_MOST: usize = 64;

/// The name of this machine.
pub fn host() -> String {
    let name = rustix::system::uname();
    ui::one_line(&name.nodename().to_string_lossy(), 200)
}

/// The way to a gateway, for batches.
pub struct Way(pub GatewayClient);

impl Way {
    /// Goes on by the token that there is now for a destination: a login may expire while much is sent.
    pub fn renew(&mut self, home: &Home, destination: &str, timeouts: Timeouts) {
        let address = self.0.address().clone();
        if let Ok(token) = token_for(home, &address, Some(destination))
            && token.as_ref() != self.0.token()
        {
            self.0 = GatewayClient::new(address, token, timeouts);
        }
    }
}

impl Gate for Way {
    fn send(&mut self, batch: &[u8]) -> Result<Positions, GateError> {
        let strange = |e: serde_json::Error| {
            GateError::Unavailable(format!("invalid positions in its response: {e}"))
        };
        match self.0.send_replica(batch, &Once) {
            Ok(positions) => serde_json::from_value(positions).map_err(strange),
            Err(error) => Err(gate_error(&error)),
        }
    }
}

/// What is said of the batch is told from what is said of us or of the server.
fn gate_error(error: &EgressError) -> GateError {
    match error {
        EgressError::Refused { problem, .. } if matches!(problem.status, 400 | 409 | 413 | 422) => {
            let field = problem.field.as_deref();
            let document: Option<DocumentName> = field.and_then(|f| f.parse().ok());
            GateError::Refused {
                document,
                reason: problem.to_string(),
            }
        }
        _ => GateError::Unavailable(error.to_string()),
    }
}

/// Waits between tries, a few times.
pub struct Tries(pub u32);

impl Waits for Tries {
    fn wait(&self, after: u32, least: Option<std::time::Duration>) -> bool {
        let pause = backoff(after, Ids.fresh().as_bytes()[15]).max(least.unwrap_or_default());
        let may = after < self.0 && pause < std::time::Duration::from_secs(3);
        if may {
            std::thread::sleep(pause);
        }
        may
    }
}

/// A token from a file that the user names.
pub fn token_file(path: &Path) -> Result<Token, CommandError> {
    let text = secret_files::read(path, "token")?;
    let shown = path.display();
    Token::new(&text).map_err(|e| CommandError::failed(format!("invalid token in {shown}: {e}")))
}

/// The token that the caller gives: in a file, else in the environment.
pub fn given_token(file: Option<&Path>) -> Result<Option<Token>, CommandError> {
    if let Some(path) = file {
        return token_file(path).map(Some);
    }
    let Some(text) = env::text(TOKEN) else {
        return Ok(None);
    };
    let token = Token::new(&text);
    token
        .map(Some)
        .map_err(|e| CommandError::failed(format!("{TOKEN}: {e}")))
}

/// The address of a gateway that the user named.
pub fn address(text: &str, plain: Plain) -> Result<Address, CommandError> {
    Address::parse(text, plain).map_err(|e| {
        let error = CommandError::usage(&e);
        match text.to_ascii_lowercase().starts_with("http://") {
            true => error.hint(
                "Pass `--allow-plain` to send data without encryption: everyone on the network can read it.",
            ),
            false => error,
        }
    })
}

fn token_path(home: &Home, name: &str) -> PathBuf {
    home.tokens().join(file_name(name))
}

fn file_name(name: &str) -> String {
    format!("{name}.token")
}

/// Keeps the token of a destination where only this user reads it.
pub fn keep_token(home: &Home, name: &str, token: &Token) -> io::Result<()> {
    secret_files::write(home, &file_name(name), token.reveal())
}

/// The token of a destination that the user gave for it.
pub fn kept_token(home: &Home, name: &str) -> Option<Token> {
    token_file(&token_path(home, name)).ok()
}

/// A destination that is gone needs no token.
pub fn drop_token(home: &Home, name: &str) {
    let _ = fs::remove_file(token_path(home, name));
}

/// By what a gateway knows us.
#[derive(Clone)]
pub enum Credential {
    /// A token that the user gave.
    Token(Token),
    /// A login at it.
    Login(Box<Login>),
    /// The job of a CI system that this runs in; what tells it from others.
    Job(String),
}

impl Credential {
    /// What there is for a gateway: a login, else the token that was given for its destination, else the job that this runs
    /// in. Nobody is asked.
    pub fn find(home: &Home, address: &Address, destination: Option<&str>) -> Option<Self> {
        if let Some(login) = logins::read(home, address.as_str()) {
            return Some(Self::Login(Box::new(login)));
        }
        let kept = destination.and_then(|name| kept_token(home, name));
        let job = || job_token::job().map(Self::Job);
        kept.map(Self::Token).or_else(job)
    }

    /// A token that holds, for which an issuer may have to be asked.
    pub fn token(&self, home: &Home, address: &Address) -> Result<Token, CommandError> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::Login(login) => login.current_token(home),
            Self::Job(_) => job_token::token(address),
        }
    }

    /// The same, or the one that expired where no other can be had: the gateway says then what is wrong with it.
    fn last_token(&self, home: &Home, address: &Address) -> Option<Token> {
        match (self.token(home, address), self) {
            (Ok(token), _) => Some(token),
            (Err(_), Self::Login(login)) => login.kept_token().ok(),
            (Err(_), _) => None,
        }
    }

    /// As whom the gateway knows us, where somebody logged in.
    pub fn login_name(&self) -> Option<&str> {
        match self {
            Self::Login(login) => Some(&login.name),
            Self::Token(_) | Self::Job(_) => None,
        }
    }

    /// What stays the same while tokens change. It may be a secret.
    pub fn asker(&self) -> String {
        match self {
            Self::Token(token) => token.reveal().to_owned(),
            Self::Login(login) => format!("{} {}", login.issuer, login.subject),
            Self::Job(job) => job.clone(),
        }
    }
}

/// The token for a gateway, and for a destination there, if there is one.
pub fn token_for(
    home: &Home,
    address: &Address,
    destination: Option<&str>,
) -> Result<Option<Token>, CommandError> {
    let credential = Credential::find(home, address, destination);
    let token = credential.map(|credential| credential.token(home, address));
    token.transpose()
}

/// The client of a destination that the user named before. That it is plain, if it is, was said then.
pub fn client(
    home: &Home,
    projection: &Projection,
    timeouts: Timeouts,
) -> Result<GatewayClient, CommandError> {
    let address = destination_address(projection)?;
    let token = token_for(home, &address, Some(&projection.name))?;
    Ok(GatewayClient::new(address, token, timeouts))
}

/// The same for a worker, which nobody watches: a login that has expired is noted with the destination, as the gateway
/// refuses it.
pub fn client_of_worker(
    home: &Home,
    projection: &Projection,
    timeouts: Timeouts,
) -> Result<GatewayClient, CommandError> {
    let address = destination_address(projection)?;
    let credential = Credential::find(home, &address, Some(&projection.name));
    let token = credential.and_then(|credential| credential.last_token(home, &address));
    Ok(GatewayClient::new(address, token, timeouts))
}

fn destination_address(projection: &Projection) -> Result<Address, CommandError> {
    Address::parse(&projection.target, Plain::Anywhere).map_err(CommandError::failed)
}

/// The destinations that are remembered.
pub fn remembered(ledger: &mut SqliteLedger) -> Result<Vec<Projection>, CommandError> {
    let mut known = read(ledger, |tx| tx.projections())?;
    known.retain(|p| p.kind == DESTINATION && project::is_once(&p.name).is_none());
    Ok(known)
}

/// The destination at an address, where it is remembered.
pub fn at(
    ledger: &mut SqliteLedger,
    address: &Address,
) -> Result<Option<Projection>, CommandError> {
    let known = remembered(ledger)?;
    Ok(known.into_iter().find(|p| p.target == address.as_str()))
}

/// The destination at an address, as it is remembered or will be.
pub fn destination(
    ledger: &mut SqliteLedger,
    address: &Address,
    name: Option<&str>,
    now: siglum_domain::Timestamp,
) -> Result<(Projection, bool), CommandError> {
    if let Some(found) = at(ledger, address)? {
        return match name {
            Some(name) if name != found.name => Err(CommandError::failed(format!(
                "{address} is already the destination {}",
                found.name
            ))),
            _ => Ok((found, true)),
        };
    }
    let known = read(ledger, |tx| tx.projections())?;
    let is_free = |name: &str| known.iter().all(|p| p.name != name);
    let name = match name {
        Some(name) if !is_free(name) => {
            return Err(
                CommandError::failed(format!("a projection `{name}` already exists"))
                    .hint("Choose another name."),
            );
        }
        Some(name) => name.to_owned(),
        None => free_name(address.host(), is_free),
    };
    let projection = Projection {
        name,
        kind: DESTINATION.to_owned(),
        target: address.as_str().to_owned(),
        at: now,
        scope: None,
    };
    Ok((projection, false))
}

/// A name made of a host that nothing else has.
fn free_name(host: &str, is_free: impl Fn(&str) -> bool) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let host: String = host.chars().map(letter).take(NAME_MOST - 16).collect();
    let base = format!("gateway-{}", host.trim_matches('-').to_ascii_lowercase());
    let numbered = (2..).map(|n: u32| format!("{base}-{n}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names
        .find(|name| is_free(name))
        .expect("because numbers do not end")
}

/// Remembers a destination: from then on the worker sends it what it lacks.
pub fn remember(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    projection: &Projection,
    scope: &Scope,
    token: Option<&Token>,
) -> Result<(), CommandError> {
    if let Some(token) = token {
        keep_token(&cx.home, &projection.name, token)?;
    }
    let (name, kind) = (&projection.name, &projection.kind);
    project::add(&*cx.world()?, ledger, name, kind, &projection.target, scope)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_kept_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        for text in ["first", "second"] {
            let token = Token::new(text).unwrap();
            keep_token(&home, "team", &token).unwrap();
            assert_eq!(kept_token(&home, "team"), Some(token));
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&token_path(&home, "team")), 0o600);
        assert_eq!(mode(&home.tokens()), 0o700);
        assert_eq!(fs::read_dir(home.tokens()).unwrap().count(), 1);
        drop_token(&home, "team");
        assert_eq!(kept_token(&home, "team"), None);
    }

    #[test]
    fn a_name_is_made_of_the_host() {
        assert_eq!(free_name("team.example", |_| true), "gateway-team-example");
        let taken = |name: &str| name != "gateway-team-example";
        assert_eq!(free_name("team.example", taken), "gateway-team-example-2");
        assert!(free_name(&"x".repeat(300), |_| true).len() <= NAME_MOST);
    }
}
