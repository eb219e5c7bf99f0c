//! What can be seen at the moment of a commit.

use std::borrow::Cow;

use siglum_agents::{GENERIC_VARIABLES, KNOWN_AGENTS, recognise};
use siglum_domain::intake::{AgentVariable, Scene};
use siglum_domain::process::{Ancestor, Chain};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, CheckpointId, NativeId};
use siglum_gitstore::{HeadRead, Repo};
use siglum_ledger::SqliteLedger;
use siglum_ledger::sqlite::NearestBound;

use crate::clock::Ids;
use crate::home::Home;
use crate::{claim, env, platform};

/// Looks around.
pub fn observe(repo: &Repo, message: &str, named: Option<CheckpointId>) -> Scene {
    let (mut chain, paths) = platform::chain_with_paths();
    let agents = paths.iter().enumerate().filter_map(|(depth, paths)| {
        let agent = recognise(
            paths.executable.as_deref(),
            paths.script.as_deref(),
            paths.title.as_deref(),
        )?;
        Some((depth, name(agent.name)))
    });
    let agents: Vec<_> = agents.collect();
    let variables = variables();
    look_into_programs(&mut chain, &agents, &variables);
    let inherited = inherited(&chain, &agents, &variables);
    let launches = match launcher_above(&chain) {
        true => claim::open_launches(&Home::find()),
        false => Vec::new(),
    };
    let head = match repo.head() {
        HeadRead::Commit(oid) => Some(oid),
        HeadRead::Unborn => None,
        HeadRead::NeedsGit => siglum_gitstore::Git::new(env::git(), repo.worktree())
            .head()
            .ok()
            .flatten(),
    };
    Scene {
        checkpoint: CheckpointId::mint(&Ids),
        place: repo.place.clone(),
        head,
        agents,
        inherited,
        chain,
        variables,
        claim: claim::inherited(Some(repo)),
        launches,
        message: message.to_owned(),
        named,
        draft: None,
    }
}

/// What a commit is for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Sessions, or those between which nobody can tell: the message names the checkpoint.
    Sessions,
    /// Nobody whom the message would name.
    NoSession,
}

/// What the ledger would say of a scene, where its list of bound processes tells: nothing where it must be asked.
///
/// A session that is bound to a process above git makes the commit its own or ambiguous, unless an agent is nearer that may
/// be recorded by nobody. Where no session is bound there, and the scene shows no agent and no launch, no row of the table
/// names a session but those of a call that may have typed at the terminal, which the message does not name.
pub fn foreseen_maker(home: &Home, scene: &Scene) -> Option<Maker> {
    let processes = scene.chain.identities();
    match SqliteLedger::nearest_bound(&home.ledger(), processes)? {
        NearestBound::At(depth) => {
            let is_nearest = scene.agents.iter().all(|(at, _)| *at >= depth);
            is_nearest.then_some(Maker::Sessions)
        }
        NearestBound::Nowhere => {
            let shows_nobody = scene.agents.is_empty()
                && scene.variables.is_empty()
                && scene.claim.is_none()
                && scene.launches.is_empty();
            shows_nobody.then_some(Maker::NoSession)
        }
    }
}

/// Whether a `siglum run` seems to be above git: this program once more, above the hook that it runs as.
fn launcher_above(chain: &Chain) -> bool {
    let mut above = chain.ancestors.iter();
    let own = above.next().map(Ancestor::program);
    above.any(|a| Some(a.program()) == own || a.program() == "siglum")
}

/// Looks at what the programs between git and the nearest agent hold open: one that has a terminal or
/// a connection of its own may be an agent that nobody knows. Where nothing speaks of an agent, nobody
/// asks.
fn look_into_programs(
    chain: &mut Chain,
    agents: &[(usize, AgentName)],
    variables: &[AgentVariable],
) {
    if agents.is_empty() && variables.is_empty() {
        return;
    }
    let nearest = agents.first().map_or(usize::MAX, |(depth, _)| *depth);
    for (depth, _, _) in chain.programs_above() {
        if depth < nearest {
            let ancestor = &mut chain.ancestors[depth];
            ancestor.holdings = platform::holdings(&ancestor.identity);
        }
    }
}

/// Which of the variables that name a session each agent above git began with, and did not set itself.
fn inherited(
    chain: &Chain,
    agents: &[(usize, AgentName)],
    variables: &[AgentVariable],
) -> Vec<(usize, Vec<String>)> {
    let naming = variables.iter().filter(|v| v.native.is_some());
    let naming: Vec<&str> = naming.map(|v| v.name.as_str()).collect();
    if naming.is_empty() {
        return Vec::new();
    }
    let of = |(depth, _): &(usize, AgentName)| {
        let had = platform::started_with(&chain.ancestors[*depth].identity, &naming)?;
        let same = |(name, value): &(String, _)| env::raw(name).as_ref() == Some(value);
        let same = had.into_iter().filter(same).map(|(name, _)| name);
        Some((*depth, same.collect()))
    };
    agents.iter().filter_map(of).collect()
}

fn name(agent: &str) -> AgentName {
    AgentName::new(agent).expect("because the names of agents keep to the grammar")
}

/// The variables of agents: those that name a session, or where there is none, a thread of one, and where an agent names none
/// of both, those that only say that it is there. No other variable is looked at, and no value of one is kept. A name with a
/// secret in it is left out, as the id of a session is refused: its variable only says that the agent is there.
pub fn variables() -> Vec<AgentVariable> {
    let mut found = Vec::new();
    for agent in KNOWN_AGENTS {
        let naming = [agent.session_variable, agent.thread_variable];
        let mut naming = naming.into_iter().flatten();
        let named = naming
            .find(|variable| env::text(variable).is_some())
            .and_then(|variable| Some((variable, NativeId::new(env::text(variable)?).ok()?)));
        if let Some((variable, native)) = named {
            let redactor = Redactor::shared();
            let is_clean = matches!(redactor.redact_cow(native.as_str()), Cow::Borrowed(_));
            found.push(AgentVariable {
                name: variable.to_owned(),
                agent: name(agent.name),
                native: is_clean.then_some(native),
            });
        } else if let Some(variable) = agent
            .presence_variables
            .iter()
            .find(|v| env::text(v).is_some())
        {
            found.push(AgentVariable {
                name: (*variable).to_owned(),
                agent: name(agent.name),
                native: None,
            });
        }
    }
    if found.is_empty()
        && let Some(variable) = GENERIC_VARIABLES.iter().find(|v| env::text(v).is_some())
    {
        found.push(AgentVariable {
            name: (*variable).to_owned(),
            agent: AgentName::unnamed(),
            native: None,
        });
    }
    found
}
