//! What the team's gateway says of commits that nobody is known here to have made: asked for by id, kept for later. Those of
//! a whole history are fetched by [`fetch`], before anybody needs them. What else it has is read by [`reader`], and not kept.
//!
//! Only a gateway is asked that the user named for the repository: one that `siglum sync` remembers, where the repository
//! is in its scope, or that of the environment. All commits of a command are in one request, with 500 at most; there is
//! one try. An answer is never joined with what is known here, and says where it is from.

mod answer_cache;
pub mod fetch;
pub mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use siglum_domain::redact::Redactor;
use siglum_domain::{CheckpointId, Oid, RepositoryId, Timestamp};
use siglum_egress::{Address, EgressError, GatewayClient, Once, Plain, Timeouts};
use siglum_engine::commits::answers::{
    CHECKPOINTS_MOST, COMMITS_MOST, CommitAnswer, CommitAnswers,
};
use siglum_ledger::{Projection, SqliteLedger};

use self::answer_cache::{Kept, KeptAnswers};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::gateway::{self, ADDRESS, Credential, TOKEN_FILE};
use crate::home::Home;
use crate::logins::{self, Login};
use crate::{clock, env, ui};

/// How long one request may take.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(2),
    whole: Duration::from_secs(5),
};
/// After so long no further request is made.
const LONGEST: Duration = Duration::from_secs(10);

/// Where an answer is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The address of the gateway.
    pub gateway: String,
    /// When it answered.
    pub at: Timestamp,
}

/// The gateway that an answer is from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceJson {
    /// The address of the gateway.
    gateway: String,
    /// When it answered.
    at: String,
}

impl From<&Source> for SourceJson {
    fn from(source: &Source) -> Self {
        Self {
            gateway: source.gateway.clone(),
            at: source.at.to_string(),
        }
    }
}

/// A commit to ask about.
#[derive(Debug, Clone)]
pub struct Question {
    pub commit: Oid,
    /// The checkpoints that its message names, where it matters what they are.
    pub named: Vec<CheckpointId>,
}

impl Question {
    /// Asks who made a commit, and nothing else.
    pub fn who_made(commit: &Oid) -> Self {
        Self {
            commit: commit.clone(),
            named: Vec::new(),
        }
    }

    /// Whether an answer says what all the checkpoints are.
    fn is_settled_by(&self, answer: &CommitAnswer) -> bool {
        self.named.iter().all(|id| answer.checkpoint == Some(*id))
    }
}

/// Where the answers about commits are from.
pub type Sources = BTreeMap<Oid, Source>;

/// What gateways say.
#[derive(Debug, Default)]
pub struct TeamAnswers {
    pub answers: BTreeMap<Oid, CommitAnswer>,
    /// Where each of the answers is from.
    pub sources: Sources,
    /// The commits of the checkpoints that are known.
    pub checkpoints: BTreeMap<CheckpointId, Vec<Oid>>,
    /// Whether every gateway was reached, and answered about every commit.
    pub is_complete: bool,
}

impl TeamAnswers {
    fn add(&mut self, kept: Kept) {
        let commit = kept.answer.commit.clone();
        let source = Source {
            gateway: kept.gateway,
            at: kept.at,
        };
        self.sources.insert(commit.clone(), source);
        self.answers.insert(commit, kept.answer);
    }
}

/// The gateways that may be asked about the commits of one repository.
pub struct Team(Vec<Gateway>);

struct Gateway {
    address: Address,
    credential: Credential,
}

impl Team {
    /// Those whose scope has the repository, and the one that the environment names.
    pub fn find(
        cx: &Cx,
        ledger: Option<&mut SqliteLedger>,
        repository: Option<RepositoryId>,
    ) -> Result<Self, CommandError> {
        Self::reached(cx, ledger, |projection| {
            let scope = projection.scope.as_ref();
            let known = repository.zip(scope);
            known.is_some_and(|(id, scope)| scope.has_repository(id))
        })
    }

    /// Those that are remembered, whatever their scope is, and the one that the environment names.
    pub fn find_all(cx: &Cx, ledger: Option<&mut SqliteLedger>) -> Result<Self, CommandError> {
        Self::reached(cx, ledger, |_| true)
    }

    /// Those that the user is logged in at. The scope of one that is remembered stands.
    fn logged_in(cx: &Cx, ledger: Option<&mut SqliteLedger>) -> Result<Self, CommandError> {
        let known = match ledger {
            Some(ledger) => gateway::remembered(ledger)?,
            None => Vec::new(),
        };
        let is_new = |login: &Login| known.iter().all(|p| p.target != login.gateway);
        let gateway = |login: Login| {
            Some(Gateway {
                address: Address::parse(&login.gateway, Plain::Anywhere).ok()?,
                credential: Credential::Login(Box::new(login)),
            })
        };
        let logins = logins::all(&cx.home).into_iter().filter(is_new);
        Ok(Self(logins.filter_map(gateway).collect()))
    }

    fn reached(
        cx: &Cx,
        ledger: Option<&mut SqliteLedger>,
        is_reached: impl Fn(&Projection) -> bool,
    ) -> Result<Self, CommandError> {
        let known = match ledger {
            Some(ledger) => gateway::remembered(ledger)?,
            None => Vec::new(),
        };
        let mut gateways = Vec::new();
        for projection in known.iter().filter(|projection| is_reached(projection)) {
            if let Ok(address) = Address::parse(&projection.target, Plain::Anywhere)
                && let Some(credential) =
                    Credential::find(&cx.home, &address, Some(&projection.name))
            {
                gateways.push(Gateway {
                    address,
                    credential,
                });
            }
        }
        match environment_gateway(&cx.home, &known) {
            Ok(gateway) => gateways.extend(gateway),
            Err(error) => cx.ui.warning(format!("{:#}", error.source)),
        }
        Ok(Self(gateways))
    }

    /// The address of each of them, and as whom it knows us, where somebody logged in.
    pub fn addresses(&self) -> Vec<(String, Option<String>)> {
        let login = |g: &Gateway| g.credential.login_name().map(str::to_owned);
        let gateways = self.0.iter();
        gateways
            .map(|g| (g.address.to_string(), login(g)))
            .collect()
    }

    /// Whether nobody may be asked.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks who made commits, and notes where the answers are from. What goes wrong is a warning.
    pub fn who_made(
        &self,
        cx: &Cx,
        commits: &[Oid],
        sources: &mut Sources,
    ) -> BTreeMap<Oid, CommitAnswer> {
        let questions: Vec<Question> = commits.iter().map(Question::who_made).collect();
        let found = self.ask(cx, &questions);
        *sources = found.sources;
        found.answers
    }

    /// Asks about commits. What goes wrong is a warning.
    pub fn ask(&self, cx: &Cx, questions: &[Question]) -> TeamAnswers {
        let mut found = TeamAnswers {
            is_complete: true,
            ..TeamAnswers::default()
        };
        let kept = KeptAnswers::at(cx.home.answers());
        for gateway in &self.0 {
            let is_open = |q: &&Question| !found.answers.contains_key(&q.commit);
            let open: Vec<&Question> = questions.iter().filter(is_open).collect();
            gateway.ask(cx, &kept, &open, &mut found);
        }
        found
    }
}

/// The gateway that the environment names, with a credential. The scope of one that is remembered stands.
fn environment_gateway(home: &Home, known: &[Projection]) -> Result<Option<Gateway>, CommandError> {
    let Some(text) = env::text(ADDRESS) else {
        return Ok(None);
    };
    let given = gateway::given_token(env::path(TOKEN_FILE).as_deref())?;
    let address = match gateway::address(&text, Plain::Loopback) {
        Ok(address) => address,
        Err(_) if given.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = || Credential::find(home, &address, None);
    let Some(credential) = given.map(Credential::Token).or_else(found) else {
        return Ok(None);
    };
    let is_known = known.iter().any(|p| p.target == address.as_str());
    Ok((!is_known).then_some(Gateway {
        address,
        credential,
    }))
}

/// What came of some requests.
#[derive(Default)]
struct Responses {
    answers: CommitAnswers,
    /// The commits that were looked for.
    settled: BTreeSet<Oid>,
    trouble: Option<EgressError>,
}

impl Gateway {
    /// Adds what it says, or said before.
    fn ask(&self, cx: &Cx, kept: &KeptAnswers, questions: &[&Question], found: &mut TeamAnswers) {
        let now = clock::now();
        let (mut old, mut open) = (Vec::new(), Vec::new());
        let mut unknown = kept.unknown();
        let (gateway, asker) = (self.address.as_str(), self.asker());
        let place = format!("{gateway} {asker}");
        for question in questions {
            let commit = &question.commit;
            match kept.get(commit, gateway, &asker) {
                Some(known) if known.is_fresh(now) && question.is_settled_by(&known.answer) => {
                    found.add(known);
                }
                None if question.named.is_empty() && unknown.contains(&place, commit, now) => {}
                known => {
                    old.extend(known);
                    open.push(*question);
                }
            }
        }
        if open.is_empty() {
            return;
        }
        let Responses {
            answers,
            settled,
            trouble,
        } = self.responses(&cx.home, open);
        let has_more = !answers.items.is_empty();
        for answer in answers.items {
            found.add(self.keep(kept, answer, &asker, now));
        }
        if !settled.is_empty() {
            let is_known = |commit: &Oid| found.answers.contains_key(commit);
            unknown.note(&place, &settled, is_known, now);
            kept.put_unknown(&unknown);
        }
        if has_more {
            kept.prune(&[]);
        }
        let checkpoints = answers.checkpoints.into_iter();
        found
            .checkpoints
            .extend(checkpoints.map(|c| (c.id, c.commits)));
        let is_refused = matches!(trouble, Some(EgressError::Refused { .. }));
        for known in old {
            let commit = &known.answer.commit;
            match settled.contains(commit) {
                // It knows nothing of it any more.
                true if !found.answers.contains_key(commit) => kept.remove(commit),
                true => {}
                false if is_refused => {}
                false => found.add(known),
            }
        }
        if let Some(trouble) = trouble {
            found.is_complete = false;
            cx.ui.warning(match is_refused {
                true => format!("{trouble}; commits known only to the gateway are missing"),
                false => format!("{trouble}; using cached answers"),
            });
        }
    }

    /// A name of the credential that does not tell it.
    fn asker(&self) -> String {
        let digest = blake3::hash(self.credential.asker().as_bytes()).to_hex();
        digest.chars().take(16).collect()
    }

    /// Keeps what it said to this asker.
    fn keep(&self, kept: &KeptAnswers, answer: CommitAnswer, asker: &str, at: Timestamp) -> Kept {
        let known = Kept {
            gateway: self.address.as_str().to_owned(),
            asker: asker.to_owned(),
            at,
            answer,
        };
        kept.put(&known);
        known
    }

    fn client(&self, home: &Home, patience: Timeouts) -> Result<GatewayClient, CommandError> {
        let token = self.credential.token(home, &self.address)?;
        Ok(GatewayClient::new(
            self.address.clone(),
            Some(token),
            patience,
        ))
    }

    fn responses(&self, home: &Home, questions: Vec<&Question>) -> Responses {
        let mut all = Responses::default();
        let until = Instant::now() + LONGEST;
        all.trouble = self.each_response(home, PATIENCE, questions, Some(until), |part| {
            all.settled.extend(part.settled);
            all.answers.items.extend(part.answers.items);
            all.answers.checkpoints.extend(part.answers.checkpoints);
        });
        all
    }

    /// Asks in as many requests as it takes, and hands on what comes of each. Gives why it ended before all was settled.
    fn each_response(
        &self,
        home: &Home,
        patience: Timeouts,
        questions: Vec<&Question>,
        until: Option<Instant>,
        mut take: impl FnMut(Responses),
    ) -> Option<EgressError> {
        let client = match self.client(home, patience) {
            Ok(client) => client,
            Err(error) => return Some(self.unreachable(format!("{:#}", error.source))),
        };
        let mut waiting = questions;
        while !waiting.is_empty() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Some(self.unreachable("it takes too long".to_owned()));
            }
            let rest = waiting.split_off(waiting.len().min(COMMITS_MOST));
            let mut answers = match self.response(&client, &waiting) {
                Ok(answers) if answers.left_off.len() < waiting.len() => answers,
                Ok(_) => return Some(self.strange("it answers about no commit")),
                Err(error) => return Some(error),
            };
            let left: BTreeSet<Oid> = answers.left_off.drain(..).collect();
            let (again, settled): (Vec<&Question>, Vec<&Question>) = waiting
                .into_iter()
                .partition(|question| left.contains(&question.commit));
            take(Responses {
                answers,
                settled: settled.iter().map(|q| q.commit.clone()).collect(),
                trouble: None,
            });
            waiting = again;
            waiting.extend(rest);
        }
        None
    }

    fn response(
        &self,
        client: &GatewayClient,
        questions: &[&Question],
    ) -> Result<CommitAnswers, EgressError> {
        let commits: BTreeSet<Oid> = questions.iter().map(|q| q.commit.clone()).collect();
        let named = questions.iter().flat_map(|q| q.named.iter().copied());
        let mut named: Vec<CheckpointId> = named.collect();
        named.sort_unstable();
        named.dedup();
        named.truncate(CHECKPOINTS_MOST);
        let request = json!({ "commits": commits, "checkpoints": named });
        let response = client.explain_commits(&request, &Once)?;
        let read = CommitAnswers::read(Redactor::shared(), response, &commits);
        read.map_err(|error| self.strange(&ui::one_line(&error.to_string(), 200)))
    }

    fn unreachable(&self, why: String) -> EgressError {
        EgressError::Unreachable {
            address: self.address.to_string(),
            why,
        }
    }

    fn strange(&self, why: &str) -> EgressError {
        EgressError::Strange {
            address: self.address.to_string(),
            why: why.to_owned(),
        }
    }
}
