//! Who is logged in at gateways: the tokens that an issuer issued, each login in a file that only its owner reads. A token
//! that is about to expire is issued anew when it is needed, by one process at a time: some issuers take each refresh token
//! once.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use siglum_domain::{Timestamp, base64url};
use siglum_egress::{Address, DeviceClient, IssuedTokens, IssuerError, Provider, Timeouts, Token};

use crate::error::CommandError;
use crate::home::Home;
use crate::platform::{Lock, regular_file};
use crate::{clock, secret_files, ui};

/// How long an issuer may take.
pub const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(3),
    whole: Duration::from_secs(10),
};
/// A token that expires sooner is issued anew, in milliseconds.
const EARLY_MS: i64 = 30_000;
/// How long a token is taken to hold where nothing says it, in seconds.
const UNSAID: i64 = 300;
/// How long is waited for another process that does the same, and how often is looked.
const TURN: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(20);
/// The largest file of a login, in bytes.
const FILE_MOST: u64 = 128 << 10;
/// What the files are called.
const HEAD: &str = "login-";
const TAIL: &str = ".json";
/// The claims that have a name for people, the best one first.
const NAMES: [&str; 4] = ["preferred_username", "email", "name", "sub"];

/// An issuer at which people log in, as a gateway names it.
#[derive(Debug, Clone, Deserialize)]
pub struct LoginIssuer {
    pub name: String,
    /// Its address.
    pub issuer: String,
    client_id: String,
    audience: String,
    scopes: Vec<String>,
}

impl LoginIssuer {
    /// As which client people log in there.
    pub fn client(&self) -> DeviceClient<'_> {
        DeviceClient {
            id: &self.client_id,
            scopes: &self.scopes,
            audience: (self.uses() == Uses::AccessToken).then_some(self.audience.as_str()),
        }
    }

    /// An id token is for the client itself.
    fn uses(&self) -> Uses {
        match self.audience == self.client_id {
            true => Uses::IdToken,
            false => Uses::AccessToken,
        }
    }
}

/// Which of the tokens goes to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Uses {
    AccessToken,
    IdToken,
}

/// A login at a gateway. What it holds is a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    /// The address of the gateway.
    pub gateway: String,
    /// The address of the issuer.
    pub issuer: String,
    client_id: String,
    uses: Uses,
    /// What the issuer calls whoever logged in, for people and for itself.
    pub name: String,
    pub subject: String,
    token: String,
    refresh_token: Option<String>,
    /// In seconds since the epoch.
    expires_at: i64,
}

impl Login {
    /// Takes what an issuer issued for a gateway.
    pub fn new(
        gateway: &Address,
        issuer: &LoginIssuer,
        tokens: &IssuedTokens,
    ) -> Result<Self, CommandError> {
        let mut login = Self {
            gateway: gateway.to_string(),
            issuer: issuer.issuer.clone(),
            client_id: issuer.client_id.clone(),
            uses: issuer.uses(),
            name: String::new(),
            subject: String::new(),
            token: String::new(),
            refresh_token: None,
            expires_at: 0,
        };
        login.take(tokens)?;
        let claims = tokens.id.as_ref().and_then(claims);
        let claims = claims
            .or_else(|| claims_of_text(&login.token))
            .unwrap_or_default();
        let word = |name: &str| claims.get(name).and_then(Value::as_str);
        let name = NAMES.into_iter().find_map(word).unwrap_or("somebody");
        login.name = ui::one_line(name, 80);
        login.subject = word("sub").unwrap_or_default().to_owned();
        Ok(login)
    }

    /// Takes tokens in the place of those that it has.
    fn take(&mut self, tokens: &IssuedTokens) -> Result<(), CommandError> {
        let token = match self.uses {
            Uses::AccessToken => Some(&tokens.access),
            Uses::IdToken => tokens.id.as_ref(),
        };
        let token = token.ok_or_else(|| {
            let issuer = &self.issuer;
            CommandError::failed(format!(
                "{issuer} did not issue the ID token that the gateway requires"
            ))
        })?;
        let said = claims(token).and_then(|claims| claims.get("exp")?.as_i64());
        let lasts = tokens.expires_in.map(|time| time.as_secs());
        let lasts = lasts.map_or(UNSAID, |seconds| i64::try_from(seconds).unwrap_or(UNSAID));
        self.expires_at = said.unwrap_or_else(|| clock::now().seconds().saturating_add(lasts));
        self.token = token.reveal().to_owned();
        if let Some(refresh) = &tokens.refresh {
            self.refresh_token = Some(refresh.reveal().to_owned());
        }
        Ok(())
    }

    /// When the token expires.
    pub const fn expires_at(&self) -> Timestamp {
        Timestamp::from_seconds(self.expires_at)
    }

    /// The token as it is kept, whether it holds or not.
    pub fn kept_token(&self) -> Result<Token, CommandError> {
        Token::new(&self.token).map_err(CommandError::failed)
    }

    /// A token that holds: the one that is kept, or one that is issued now.
    pub fn current_token(&self, home: &Home) -> Result<Token, CommandError> {
        if !self.is_due() {
            return self.kept_token();
        }
        let turn = turn(home, &self.gateway);
        // Another process may have done it meanwhile, or logged out.
        let Some(mut login) = read(home, &self.gateway) else {
            return self.if_it_holds(None);
        };
        if !login.is_due() || turn.is_none() {
            return login.if_it_holds(None);
        }
        match login.renew() {
            Ok(()) => {
                write(home, &login).map_err(CommandError::at(&home.tokens()))?;
                login.kept_token()
            }
            Err(why) => login.if_it_holds(Some(why)),
        }
    }

    fn is_due(&self) -> bool {
        self.expires_at().millis_since(clock::now()) < EARLY_MS
    }

    /// The token that is kept, unless it has expired; then, why there is no other one.
    fn if_it_holds(&self, why: Option<String>) -> Result<Token, CommandError> {
        if self.expires_at() > clock::now() {
            return self.kept_token();
        }
        let (name, gateway) = (&self.name, &self.gateway);
        let what = format!("the login of {name} at {gateway} has expired");
        let what = match why {
            Some(why) => format!("{what} and cannot be renewed: {why}"),
            None => what,
        };
        let hint = format!("Run `siglum login {gateway}` to log in again.");
        Err(CommandError::failed(what).hint(hint))
    }

    /// Asks the issuer for other tokens.
    fn renew(&mut self) -> Result<(), String> {
        let refresh = self.refresh_token.as_deref();
        let refresh = refresh.ok_or("the issuer issued no refresh token")?;
        let refresh = Token::new(refresh).map_err(|error| error.to_string())?;
        let provider = Provider::discover(&self.issuer, PATIENCE);
        let issued = provider
            .and_then(|provider| provider.refresh(&self.client_id, &refresh, PATIENCE))
            .map_err(|error: IssuerError| error.to_string())?;
        self.take(&issued)
            .map_err(|error| format!("{:#}", error.source))
    }
}

/// The claims of a token, which nobody verifies here: the gateway does.
fn claims(token: &Token) -> Option<Map<String, Value>> {
    claims_of_text(token.reveal())
}

fn claims_of_text(token: &str) -> Option<Map<String, Value>> {
    let claims = base64url::decode(token.split('.').nth(1)?)?;
    serde_json::from_slice(&claims).ok()
}

/// The right to renew a login, unless another process has it for too long.
fn turn(home: &Home, gateway: &str) -> Option<Lock> {
    let path = home.tokens().join(format!("{}.lock", stem(gateway)));
    let until = Instant::now() + TURN;
    loop {
        if let Some(lock) = Lock::try_take(&path) {
            return Some(lock);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

fn stem(gateway: &str) -> String {
    let digest = blake3::hash(gateway.as_bytes()).to_hex();
    format!("{HEAD}{}", &digest[..16])
}

fn file_name(gateway: &str) -> String {
    format!("{}{TAIL}", stem(gateway))
}

fn path(home: &Home, gateway: &str) -> PathBuf {
    home.tokens().join(file_name(gateway))
}

/// Keeps a login, in place of another one at the same gateway.
pub fn keep(home: &Home, login: &Login) -> io::Result<()> {
    // A process that renews the other one now would bring it back.
    let _turn = match path(home, &login.gateway).exists() {
        true => turn(home, &login.gateway),
        false => None,
    };
    write(home, login)
}

fn write(home: &Home, login: &Login) -> io::Result<()> {
    let text = serde_json::to_string(login)?;
    secret_files::write(home, &file_name(&login.gateway), &text)
}

/// The login at a gateway, if there is one.
pub fn read(home: &Home, gateway: &str) -> Option<Login> {
    let text = regular_file::read_text(&path(home, gateway), FILE_MOST).ok()?;
    let login: Login = serde_json::from_str(&text).ok()?;
    (login.gateway == gateway).then_some(login)
}

/// All logins, by the addresses of their gateways.
pub fn all(home: &Home) -> Vec<Login> {
    let entries = fs::read_dir(home.tokens()).into_iter().flatten().flatten();
    let mut logins: Vec<Login> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if !name.starts_with(HEAD) || !name.ends_with(TAIL) {
                return None;
            }
            let text = regular_file::read_text(&entry.path(), FILE_MOST).ok()?;
            serde_json::from_str(&text).ok()
        })
        .collect();
    logins.sort_by(|a, b| a.gateway.cmp(&b.gateway));
    logins
}

/// Forgets the login at a gateway; `false` if there was none.
pub fn remove(home: &Home, gateway: &str) -> io::Result<bool> {
    let path = path(home, gateway);
    if !path.exists() {
        return Ok(false);
    }
    // A process that renews it now would bring it back.
    let _turn = turn(home, gateway);
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use siglum_egress::Plain;

    use super::*;

    fn tokens(access: &str, refresh: Option<&str>) -> IssuedTokens {
        IssuedTokens {
            access: Token::new(access).unwrap(),
            id: None,
            refresh: refresh.map(|text| Token::new(text).unwrap()),
            expires_in: Some(Duration::from_secs(600)),
        }
    }

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", base64url::encode(claims.as_bytes()))
    }

    fn issuer() -> LoginIssuer {
        LoginIssuer {
            name: "corp".to_owned(),
            issuer: "http://127.0.0.1:1".to_owned(),
            client_id: "cli".to_owned(),
            audience: "siglum".to_owned(),
            scopes: Vec::new(),
        }
    }

    fn gateway() -> Address {
        Address::parse("https://gateway.example", Plain::Loopback).unwrap()
    }

    #[test]
    fn a_login_is_kept_for_its_owner_alone_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        let access = token(r#"{"sub": "7", "email": "ann@example.org"}"#);
        let login = Login::new(&gateway(), &issuer(), &tokens(&access, Some("r"))).unwrap();
        assert_eq!(
            (login.name.as_str(), login.subject.as_str()),
            ("ann@example.org", "7")
        );
        keep(&home, &login).unwrap();
        let file = path(&home, &login.gateway);
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let kept = read(&home, "https://gateway.example").unwrap();
        assert_eq!(kept.current_token(&home).unwrap().reveal(), access);
        assert!(read(&home, "https://other.example").is_none());
        assert_eq!(all(&home).len(), 1);
        assert!(remove(&home, "https://gateway.example").unwrap());
        assert!(!remove(&home, "https://gateway.example").unwrap());
        assert!(all(&home).is_empty());
    }

    #[test]
    fn what_expired_and_cannot_be_renewed_is_said_and_what_still_holds_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        let now = clock::now().seconds();
        for (expires_at, refresh, words) in [
            (now + 20, Some("r"), None),
            (now - 1, Some("r"), Some("cannot reach")),
            (now - 1, None, Some("no refresh token")),
        ] {
            let access = token(&format!(r#"{{"sub": "7", "exp": {expires_at}}}"#));
            let login = Login::new(&gateway(), &issuer(), &tokens(&access, refresh)).unwrap();
            keep(&home, &login).unwrap();
            let current = login.current_token(&home);
            match words {
                None => assert_eq!(current.unwrap().reveal(), access),
                Some(words) => {
                    let error = format!("{:#}", current.unwrap_err().source);
                    assert!(error.contains(words) && !error.contains(&access), "{error}");
                }
            }
        }
    }

    #[test]
    fn an_id_token_is_for_the_client_itself() {
        let mut issuer = issuer();
        assert_eq!(issuer.client().audience, Some("siglum"));
        issuer.audience = "cli".to_owned();
        assert_eq!(issuer.client().audience, None);
        assert!(Login::new(&gateway(), &issuer, &tokens("a", None)).is_err());
    }
}
