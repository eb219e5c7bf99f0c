//! Reading what one gateway has: lists in pages, documents. One try each, and ten seconds for all of them.

use std::time::Instant;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use siglum_egress::{Address, EgressError, GatewayClient, Once, Plain};
use siglum_ledger::{SqliteLedger, read};

use super::{Gateway, LONGEST, PATIENCE, Source, Team};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::gateway::ADDRESS;
use crate::{clock, env, ui};

/// The most rows of one answer.
const ROWS_MOST: usize = 10_000;

/// The names and values of what a request is for.
pub type Parameters = Vec<(&'static str, String)>;

/// How much of a list is read.
#[derive(Debug, Clone, Copy)]
pub struct Paging {
    /// The most rows; 0 for all.
    pub rows: usize,
    /// The most rows of a page, by the route.
    pub page: usize,
    /// The most pages.
    pub pages: usize,
}

impl Paging {
    const fn most(self) -> usize {
        match self.rows {
            rows @ 1..ROWS_MOST => rows,
            _ => ROWS_MOST,
        }
    }
}

/// A page of a list.
#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

/// What a token allows to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Everything that the gateway has: a launcher token.
    Everything,
    /// Who made commits: a read token.
    Commits,
    /// Nothing of this.
    Nothing,
}

/// One gateway that is read from.
pub struct Reader {
    client: GatewayClient,
    until: Instant,
}

impl Reader {
    /// The gateway of the repository that we stand in, or with `is_elsewhere` any that the user named.
    ///
    /// Opens the ledger only where there is one, to see which gateways are remembered.
    pub fn find(cx: &Cx, is_elsewhere: bool) -> Result<Self, CommandError> {
        let mut ledger = match cx.has_ledger() {
            true => Some(cx.open_ledger()?),
            false => None,
        };
        let team = match is_elsewhere {
            true => Team::find_all(cx, ledger.as_mut())?,
            false => here(cx, ledger.as_mut())?,
        };
        // A login names a gateway, too, for whoever asks for nothing but the team's answer.
        let team = match team.is_empty() && env::text(ADDRESS).is_none() {
            true => Team::logged_in(cx, ledger.as_mut())?,
            false => team,
        };
        Self::new(cx, &one(team)?)
    }

    /// A reader of each gateway of the repository that we stand in, or why there is no token for it.
    pub fn all(
        cx: &Cx,
        ledger: Option<&mut SqliteLedger>,
    ) -> Result<Vec<Result<Self, CommandError>>, CommandError> {
        let gateways = here(cx, ledger)?.0;
        let readers = gateways.iter().map(|gateway| Self::new(cx, gateway));
        Ok(readers.collect())
    }

    fn new(cx: &Cx, gateway: &Gateway) -> Result<Self, CommandError> {
        Ok(Self {
            client: gateway.client(&cx.home, PATIENCE)?,
            until: Instant::now() + LONGEST,
        })
    }

    /// The address of the gateway.
    pub const fn address(&self) -> &Address {
        self.client.address()
    }

    /// Where what is read now is from.
    pub fn source(&self) -> Source {
        Source {
            gateway: self.address().to_string(),
            at: clock::now(),
        }
    }

    /// Whether no further request is made.
    pub fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// What a route answers.
    pub fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&'static str, String)],
    ) -> Result<T, CommandError> {
        let body = self.client.get(path, parameters);
        let read = serde_json::from_value(body.map_err(refusal)?);
        read.map_err(|error| self.strange(&error.to_string()))
    }

    /// The rows of a list, and whether there are more.
    pub fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&'static str, String)],
        paging: Paging,
    ) -> Result<(Vec<T>, bool), CommandError> {
        let (mut rows, mut next): (Vec<T>, Option<String>) = (Vec::new(), None);
        self.pages(path, parameters, paging, |page: Page<T>| {
            let count = page.items.len();
            rows.extend(page.items);
            next.clone_from(&page.next);
            (count, page.next)
        })?;
        let most = paging.most();
        let more = next.is_some() || rows.len() > most;
        rows.truncate(most);
        Ok((rows, more))
    }

    /// Reads pages of a list, one after another. `take` gets each of them, and gives how many rows it has and the cursor
    /// of the next one.
    pub fn pages<P: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&'static str, String)],
        paging: Paging,
        mut take: impl FnMut(P) -> (usize, Option<String>),
    ) -> Result<(), CommandError> {
        let most = paging.most();
        let (mut read, mut next): (usize, Option<String>) = (0, None);
        for nth in 0..paging.pages {
            if nth > 0 && self.is_late() {
                break;
            }
            let mut parameters = parameters.to_vec();
            let wanted = (most - read).min(paging.page);
            parameters.push(("limit", wanted.to_string()));
            parameters.extend(next.take().map(|cursor| ("cursor", cursor)));
            let (count, cursor) = take(self.get(path, &parameters)?);
            (read, next) = (read + count, cursor);
            if next.is_none() || read >= most {
                break;
            }
        }
        Ok(())
    }

    /// What the token allows to read, by asking.
    pub fn right(&self) -> Result<Right, EgressError> {
        let is_refused = |error: &EgressError| matches!(error, EgressError::Refused { problem, .. } if problem.status == 403);
        match self
            .client
            .get("/v1/sessions", &[("limit", "1".to_owned())])
        {
            Ok(_) => return Ok(Right::Everything),
            Err(error) if is_refused(&error) => {}
            Err(error) => return Err(error),
        }
        let nothing = json!({ "commits": ["0".repeat(40)] });
        match self.client.explain_commits(&nothing, &Once) {
            Ok(_) => Ok(Right::Commits),
            Err(error) if is_refused(&error) => Ok(Right::Nothing),
            Err(error) => Err(error),
        }
    }

    /// That the gateway does not answer as one does.
    pub fn strange(&self, why: &str) -> CommandError {
        CommandError::failed(EgressError::Strange {
            address: self.address().to_string(),
            why: ui::one_line(why, 200),
        })
    }
}

/// Those that may be asked about the repository that we stand in.
fn here(cx: &Cx, mut ledger: Option<&mut SqliteLedger>) -> Result<Team, CommandError> {
    let repository = match (ledger.as_deref_mut(), cx.find_repo()) {
        (Some(ledger), Some(repo)) => read(ledger, |tx| tx.repository(&repo.place.common_dir))?,
        _ => None,
    };
    Team::find(cx, ledger, repository.map(|repository| repository.id))
}

/// The only one, or the one of several that the environment names.
fn one(team: Team) -> Result<Gateway, CommandError> {
    let mut gateways = team.0;
    if gateways.len() > 1
        && let Some(named) = env::text(ADDRESS)
        && let Ok(named) = Address::parse(&named, Plain::Anywhere)
    {
        gateways.retain(|gateway| gateway.address == named);
    }
    match (gateways.pop(), gateways.as_slice()) {
        (Some(gateway), []) => Ok(gateway),
        (Some(_), _) => Err(CommandError::usage("several gateways are configured")
            .hint(format!("Name one of them in {ADDRESS}."))),
        (None, _) => Err(CommandError::not_found("no gateway is configured to read from")
            .hint("Run `siglum login URL`, set SIGLUM_GATEWAY and SIGLUM_GATEWAY_TOKEN, or add one with `siglum sync --to URL`; of an added one, the scope must have this repository, or pass `--all`.")),
    }
}

fn refusal(error: EgressError) -> CommandError {
    let status = match &error {
        EgressError::Refused { problem, .. } => problem.status,
        _ => 0,
    };
    match status {
        404 => CommandError::not_found(error),
        403 => CommandError::failed(error).hint(
            "This needs a launcher token that may read, because it shows prompts; a read token is for `siglum why`, `log` and `check`.",
        ),
        _ => CommandError::failed(error),
    }
}
