//! A small agent runtime that keeps its sessions in Siglum.
//!
//! Its model is a fake one that always does the same: it calls one tool and says what came of it. What matters is around
//! it: the session, the turns, and what happens when the process dies in the middle.

mod documents;
mod model;
mod options;

use std::error::Error;
use std::time::Duration;

use siglum_store::{
    AgentName, ConversationId, Decision, Drive, Event, Fact, Link, NewSession, Opening, Receipt,
    Recovered, SessionId, Store, TurnError,
};

use documents::Documents;
use model::Model;
use options::{Options, Step};

/// How long the session is ours without a sign of life. A process on this machine that dies gives it up at once.
const TERM: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let store = Store::open(&options.ledger)?;
    if let Some(dir) = &options.snapshots {
        store.follow("snapshots", Box::new(Documents::at(dir)?))?;
    }
    let links = match options.issue {
        Some(number) => vec![Link::IssueNumber(number)],
        None => Vec::new(),
    };
    let session = store.create(&NewSession {
        agent: AgentName::new("example-runtime")?,
        conversation: ConversationId::new(&options.conversation)?,
        cwd: None,
        links,
        by: "example".to_owned(),
    })?;
    println!("session {}", session.id.short());

    let mut drive = take(&store, session.id)?;
    println!("recovered: {}", in_words(drive.recovered()));
    let mut done = turns(&store, session.id)?;
    let last = match options.once {
        true => options.turns.min(done + 1),
        false => options.turns,
    };
    while done < last {
        let number = done + 1;
        let receipt = turn(&mut drive, number, &options)?;
        println!(
            "turn-{number} committed: receipt {} {}",
            receipt.number,
            &receipt.digest[..8]
        );
        if let Some(dir) = &options.documents {
            // The runtime's own store. It is not asked for anything that the ledger knows.
            Documents::at(dir)?.note(&format!("turn-{number}"))?;
        }
        done = number;
    }
    drop(drive);
    // Not needed for anything to be saved: what is due now is due after the next start, too.
    for (name, lag) in store.pump(Duration::from_secs(10))? {
        println!("{name}: {} receipts to come", lag.receipts);
    }
    Ok(())
}

/// Takes the session. A turn that nobody can tell the end of is for a person to decide; here the person always says
/// that the call failed.
fn take(store: &Store, session: SessionId) -> Result<Drive, TurnError> {
    match store.drive(session, TERM) {
        Err(TurnError::Held { why, .. }) => {
            println!("held: {why}");
            store.decide(session, Decision::Failed, "example")?;
            println!("decided: failed");
            store.drive(session, TERM)
        }
        taken => taken,
    }
}

/// How many turns are committed.
fn turns(store: &Store, session: SessionId) -> Result<u64, TurnError> {
    let prompts = store.read(session, 0, 0)?.entries;
    let prompts = prompts
        .iter()
        .filter(|e| matches!(e.observation.fact, Fact::Prompt { .. }));
    Ok(prompts.count() as u64)
}

/// One turn: what is said in it is safe from the death of this process, and seen by nobody before the commit.
fn turn(drive: &mut Drive, number: u64, options: &Options) -> Result<Receipt, TurnError> {
    let key = format!("turn-{number}");
    let reach = |step: Step| {
        println!("turn-{number} {}", step.word());
        options.crash(number, step);
    };
    let mut turn = match drive.open(&key)? {
        Opening::Turn(turn) => turn,
        // It was committed, and only the answer was lost.
        Opening::Committed(receipt) => return Ok(receipt),
    };
    let model = Model::at(number);
    // Saying it again, after a restart, changes nothing.
    turn.say(Event::prompt(&key, &model.prompt()))?;
    reach(Step::Prompt);
    turn.say(Event::tool_call(&key, "add", &model.call()))?;
    reach(Step::Call);
    turn.say(Event::tool_result(&key, "add", &model.result()))?;
    reach(Step::Result);
    turn.say(Event::message(&key, &model.answer()).model("fake"))?;
    reach(Step::Answer);
    turn.say(Event::stop(&key))?;
    reach(Step::Stop);
    let committed = turn.commit()?;
    reach(Step::Commit);
    Ok(committed.receipt)
}

fn in_words(recovered: &Recovered) -> String {
    match recovered {
        Recovered::Nothing => "nothing was open".to_owned(),
        Recovered::Asked => "somebody had asked; the turn goes on".to_owned(),
        Recovered::Committed(receipt) => {
            format!(
                "the turn was whole and is committed, receipt {}",
                receipt.number
            )
        }
        Recovered::Interrupted(receipt) => {
            format!(
                "the turn was broken off and is kept as that, receipt {}",
                receipt.number
            )
        }
        Recovered::Held { calls } => format!("held for a decision: {}", calls.join(", ")),
    }
}
