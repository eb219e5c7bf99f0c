//! A played issuer of tokens (OpenID Connect): it says what it has, gives its keys, logs people in by the device flow, and
//! hands out tokens of jobs; and it is away, or changes its keys, as it is told.

use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use siglum_domain::base64url;
use siglum_platform::clock;

use super::gateway::{GatewayRequest, read};

/// An RSA key, since none can be made here.
const RSA: &[u8] = include_bytes!("issuer_rsa.der");

/// What the played issuer is asked to log people in as.
pub(crate) const CLIENT: &str = "siglum-cli";
/// For whom its tokens are.
pub(crate) const AUDIENCE: &str = "siglum";
/// The page on which people enter a code, and the code.
pub(crate) const PAGE: &str = "https://login.example/device";
pub(crate) const CODE: &str = "WDJB-MJHT";

/// A key by which an issuer signs.
pub(crate) struct SigningKey {
    id: String,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl SigningKey {
    pub(crate) fn ed25519(id: &str, seed: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Self {
            id: id.to_owned(),
            pair: Pair::Ed25519(pair),
        }
    }

    pub(crate) fn p256(id: &str) -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let made = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(how, made.as_ref(), &random).unwrap();
        Self {
            id: id.to_owned(),
            pair: Pair::P256(pair),
        }
    }

    pub(crate) fn rsa(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            pair: Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA).unwrap())),
        }
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ed25519(_) => "EdDSA",
            Pair::P256(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// What the issuer says of it.
    pub(crate) fn jwk(&self) -> Value {
        let text = base64url::encode;
        let mut jwk = match &self.pair {
            Pair::Ed25519(pair) => {
                let x = text(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x })
            }
            Pair::P256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (text(&point[1..33]), text(&point[33..]));
                json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y })
            }
            Pair::Rsa(pair) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({ "kty": "RSA", "n": text(&public.n), "e": text(&public.e) })
            }
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk["alg"] = json!(self.algorithm());
        jwk
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .unwrap();
                signature
            }
        }
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm(), "kid": self.id, "typ": "JWT" });
        token(&header, claims, |message| self.sign(message))
    }
}

/// A token with this header and these claims, however it is signed.
pub(crate) fn token(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| base64url::encode(value.to_string().as_bytes());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = base64url::encode(&sign(text.as_bytes()));
    format!("{text}.{signature}")
}

/// What the issuer says to who asks whether the code was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entered {
    Pending,
    SlowDown,
    Denied,
    Expired,
}

struct State {
    key: Arc<SigningKey>,
    /// Whether connections break.
    is_away: bool,
    /// What is said before tokens are issued.
    polls: VecDeque<Entered>,
    /// What is in the tokens that are issued, besides the usual.
    claims: Value,
    /// How long they hold, in seconds.
    lasts: i64,
    /// How often tokens were issued anew.
    renewed: u32,
    requests: Vec<GatewayRequest>,
}

/// The server.
pub(crate) struct Issuer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    /// An issuer that signs by this key.
    pub(crate) fn start(key: SigningKey) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            key: Arc::new(key),
            is_away: false,
            polls: VecDeque::new(),
            claims: json!({}),
            lasts: 600,
            renewed: 0,
            requests: Vec::new(),
        }));
        let (serving, own) = (Arc::clone(&state), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, url) = (Arc::clone(&serving), own.clone());
                std::thread::spawn(move || while serve(&stream, &state, &url).is_some() {});
            }
        });
        Self { url, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Signs by another key from now on, and knows the one before no more.
    pub(crate) fn rotate(&self, key: SigningKey) {
        self.state().key = Arc::new(key);
    }

    /// Answers nobody, or everybody again.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.state().is_away = is_away;
    }

    /// What is said before tokens are issued.
    pub(crate) fn polls(&self, polls: impl IntoIterator<Item = Entered>) {
        self.state().polls = polls.into_iter().collect();
    }

    /// What the tokens that are issued say, and how long they hold in seconds.
    pub(crate) fn issues(&self, claims: Value, lasts: i64) {
        let mut state = self.state();
        (state.claims, state.lasts) = (claims, lasts);
    }

    /// Takes no refresh token any more that it gave.
    pub(crate) fn forget_refresh(&self) {
        self.state().renewed += 100;
    }

    /// How often it was asked at a path.
    pub(crate) fn count(&self, path: &str) -> usize {
        let state = self.state();
        let is_at = |request: &&GatewayRequest| request.path.split('?').next() == Some(path);
        state.requests.iter().filter(is_at).count()
    }

    /// The requests at a path.
    pub(crate) fn requests(&self, path: &str) -> Vec<GatewayRequest> {
        let state = self.state();
        let is_at = |request: &&GatewayRequest| request.path.split('?').next() == Some(path);
        state.requests.iter().filter(is_at).cloned().collect()
    }

    /// What a token of somebody says that holds for ten minutes, with other claims than the usual.
    pub(crate) fn claims(&self, other: &Value) -> Value {
        claims(&self.url, 600, other)
    }

    /// A token with these claims besides the usual, by the key that counts now.
    pub(crate) fn token(&self, other: &Value) -> String {
        let key = Arc::clone(&self.state().key);
        key.token(&self.claims(other))
    }
}

fn claims(url: &str, lasts: i64, other: &Value) -> Value {
    let now = clock::now().seconds();
    let mut claims = json!({ "iss": url, "aud": AUDIENCE, "sub": "7", "iat": now, "exp": now + lasts,
        "email": "ann@example.org", "groups": ["dev"] });
    for (name, value) in other.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn serve(mut stream: &TcpStream, state: &Mutex<State>, url: &str) -> Option<()> {
    let request = read(&mut BufReader::new(stream))?;
    let reply = {
        let mut state = state.lock().unwrap();
        if state.is_away {
            let _ = stream.shutdown(Shutdown::Both);
            return None;
        }
        state.requests.push(request.clone());
        reply(&mut state, &request, url)
    };
    let (status, body) = reply;
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}

fn reply(state: &mut State, request: &GatewayRequest, url: &str) -> (u16, Value) {
    let whole = request.path.as_str();
    let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
    match path {
        "/.well-known/openid-configuration" => {
            let discovery = json!({
                "issuer": url,
                "jwks_uri": format!("{url}/keys"),
                "device_authorization_endpoint": format!("{url}/device"),
                "token_endpoint": format!("{url}/token"),
            });
            (200, discovery)
        }
        "/keys" => (200, json!({ "keys": [state.key.jwk()] })),
        "/device" => {
            let begun = json!({ "device_code": "device-code-1", "user_code": CODE, "expires_in": 300,
                "verification_uri": PAGE, "interval": 1 });
            (200, begun)
        }
        "/token" => issue(state, request, url),
        "/job" => {
            let is_known = request.header("authorization") == Some("Bearer runner-1");
            let audience = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("audience="));
            match audience.filter(|_| is_known) {
                None => (401, json!({})),
                Some(audience) => {
                    let audience = audience.replace("%3A", ":").replace("%2F", "/");
                    let mut other = state.claims.clone();
                    other["aud"] = json!(audience);
                    let token = state.key.token(&claims(url, state.lasts, &other));
                    (200, json!({ "value": token }))
                }
            }
        }
        _ => (404, json!({})),
    }
}

/// Issues tokens, by a code that was entered or by the last refresh token: each is taken once.
fn issue(state: &mut State, request: &GatewayRequest, url: &str) -> (u16, Value) {
    let form = String::from_utf8_lossy(&request.body).into_owned();
    let error = |code: &str| (400, json!({ "error": code }));
    if form.contains("grant_type=refresh_token") {
        let last = format!("refresh_token=refresh-{}&", state.renewed);
        if !form.contains(&last) {
            return error("invalid_grant");
        }
        state.renewed += 1;
    } else {
        match state.polls.pop_front() {
            Some(Entered::Pending) => return error("authorization_pending"),
            Some(Entered::SlowDown) => return error("slow_down"),
            Some(Entered::Denied) => return error("access_denied"),
            Some(Entered::Expired) => return error("expired_token"),
            None if form.contains("device_code=device-code-1") => {}
            None => return error("invalid_grant"),
        }
    }
    let token = state.key.token(&claims(url, state.lasts, &state.claims));
    let issued = json!({ "access_token": token, "token_type": "Bearer",
        "refresh_token": format!("refresh-{}", state.renewed), "expires_in": state.lasts });
    (200, issued)
}
