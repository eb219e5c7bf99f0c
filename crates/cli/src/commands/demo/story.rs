//! The story: two agents, a person and a script in one checkout at once.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use siglum_gitstore::Git;

use super::cast::{Agent, Company};
use super::person;
use super::sandbox::{Part, Sandbox};
use super::wire::{By, Made, Played, Step};
use crate::env;
use crate::error::CommandError;
use crate::platform::{Lock, Pty};

const README: &str = "# Shop\n\nA small shop.\n";
const PROMPT_A: &str = "Add up the cart, to the cent";
const PROMPT_B: &str = "Ten percent off above 100, and test the cart";
const CART: &str = r#""""The cart."""


def total(items):
    """What all items cost together."""
    return sum(price * count for price, count in items)
"#;
const SUM: &str = "    return sum(price * count for price, count in items)\n";
const ROUNDED: &str =
    "    cost = sum(price * count for price, count in items)\n    return round(cost, 2)\n";
const DISCOUNT: &str = r#""""Discounts."""

LIMIT = 100


def discounted(amount):
    """Ten percent off above the limit."""
    return amount * 0.9 if amount > LIMIT else amount
"#;
const TEST: &str = r#"from shop.cart import total


def test_total_is_in_cents():
    assert total([(0.1, 3)]) == 0.3
"#;
const CHANGES: &str = "- Ten percent off above 100.\n";
/// Started in the repository; waits until nothing above it is the agent any more.
const LATER: &str = "until [ -e ../signals/go ] || [ ! -d ../signals ]; do sleep 0.02; done
git add CHANGES && git commit -q -m 'Note the discount'
touch ../signals/gone
";
const SCRIPT: &str = "set -e
date +%F > STOCK
git add STOCK
git commit -q -m 'Count the stock'
";

/// Where the script of the play is.
pub fn script(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("nightly.sh")
}

/// Plays it all. `doing` is told what happens.
pub fn play(
    sandbox: &Sandbox,
    company: &Company,
    obstacle: Option<String>,
    doing: &dyn Fn(&str),
) -> Result<Played, CommandError> {
    doing("Creating a repository and installing hooks with `siglum init`.");
    set_up(sandbox)?;
    // The commands that ask for answers do what a worker would do; none is to outlive the play.
    let no_worker = Lock::try_take(&sandbox.siglum_home().worker_lock());
    let mut play = Play {
        sandbox,
        company,
        played: Played {
            obstacle,
            ..Played::default()
        },
        head: String::new(),
    };
    doing("Two agent sessions, a person and a script work in it at once.");
    play.all()?;
    drop(no_worker);
    let mut worker = sandbox.command(&sandbox.program("siglum"));
    must(worker.args(["worker", "--once"]))?;
    Ok(play.played)
}

fn set_up(sandbox: &Sandbox) -> Result<(), CommandError> {
    let git = env::git();
    let configure: [&[&str]; 4] = [
        &["init", "-q", "-b", "main"],
        &["config", "user.name", "Robin"],
        &["config", "user.email", "robin@shop.example"],
        &["config", "commit.gpgSign", "false"],
    ];
    fs::write(sandbox.repo().join("README.md"), README)?;
    let commit: [&[&str]; 2] = [
        &["add", "README.md"],
        &["commit", "-q", "-m", "Open the shop"],
    ];
    for args in configure.into_iter().chain(commit) {
        must(sandbox.command(&git).args(args))?;
    }
    fs::write(script(sandbox), SCRIPT)?;
    let mut init = sandbox.command(&sandbox.program("siglum"));
    must(init.args(["init", "--yes"]))
}

/// Runs a command that has to succeed.
fn must(command: &mut Command) -> Result<(), CommandError> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let program = PathBuf::from(command.get_program());
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    Err(CommandError::failed(format!(
        "`{} {}` failed: {}",
        program.file_name().unwrap_or_default().display(),
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

struct Play<'a> {
    sandbox: &'a Sandbox,
    company: &'a Company,
    played: Played,
    head: String,
}

impl Play<'_> {
    /// Both sessions are open from the first to the last commit. What is done at once is started
    /// before the other's end is waited for.
    fn all(&mut self) -> Result<(), CommandError> {
        self.head = self.head()?;
        let mut a = Agent::enter('A', self.sandbox, self.company)?;
        let mut b = Agent::enter('B', self.sandbox, self.company)?;
        let open = [&a, &b].map(|agent| (agent.letter, agent.native.clone()));
        self.played.sessions = open.to_vec();
        at_once(&mut a, &prompt(PROMPT_A), &mut b, &prompt(PROMPT_B))?;
        let discount = write("shop/discount.py", DISCOUNT);
        at_once(&mut a, &write("shop/cart.py", CART), &mut b, &discount)?;

        let subject = "Add up the cart";
        let commit = bash("git add shop/cart.py && git commit -m", subject);
        at_once(&mut a, &commit, &mut b, &write("tests/test_cart.py", TEST))?;
        self.made(subject, By::Session('A'))?;

        let rounded = Step::Edit {
            path: "shop/cart.py".to_owned(),
            old: SUM.to_owned(),
            new: ROUNDED.to_owned(),
        };
        a.starts(&rounded)?;
        self.person()?;
        a.ends()?;

        let subject = "Give ten percent off";
        b.does(&bash("git add shop/discount.py && git commit -m", subject))?;
        self.made(subject, By::Session('B'))?;

        let subject = "Round the total";
        let commit = bash("git add -A && git commit -m", subject);
        a.does(&commit)?;
        self.made(subject, By::Session('A'))?;

        self.detached(&mut b)?;
        self.script()?;
        b.leaves("Discounts are in, with a test and a note.")?;
        a.leaves("The cart adds up, to the cent.")
    }

    /// A person edits a file and commits it at a terminal.
    fn person(&mut self) -> Result<(), CommandError> {
        let pty = match Pty::open() {
            Ok(pty) => pty,
            Err(error) => {
                let note = format!("Skipping the person: no pseudo-terminal ({error}).");
                self.played.notes.push(note);
                return Ok(());
            }
        };
        let subject = "Say what the shop sells";
        let readme = self.sandbox.repo().join("README.md");
        fs::write(readme, format!("{README}\nIt sells tea.\n"))?;
        let command = format!("git add README.md && git commit -m '{subject}'");
        person::types(self.sandbox, self.company, pty, &command)?;
        self.made(subject, By::Person)
    }

    /// An agent leaves a process behind that commits when nothing above it is the agent any more.
    fn detached(&mut self, agent: &mut Agent<'_>) -> Result<(), CommandError> {
        agent.does(&write("CHANGES", CHANGES))?;
        fs::write(self.sandbox.root().join("later.sh"), LATER)?;
        let command =
            "$(command -v setsid || echo nohup) sh ../later.sh </dev/null >/dev/null 2>&1 &";
        let command = command.to_owned();
        agent.does(&Step::Bash { command })?;
        fs::write(self.sandbox.signal("go"), "")?;
        let gone = self.sandbox.signal("gone");
        self.company
            .wait_for("for the detached commit", || gone.exists())?;
        self.made("Note the discount", By::Detached(agent.letter))
    }

    /// A script commits without a terminal.
    fn script(&mut self) -> Result<(), CommandError> {
        let mut script = self
            .sandbox
            .actor("cron", Part::Script, self.sandbox.root());
        let script = self.company.take_in_group(&mut script)?;
        let status = self.company.see_off(script)?;
        if !status.success() {
            return Err(CommandError::failed(format!("the script ended: {status}")));
        }
        self.made("Count the stock", By::Script)
    }

    fn head(&self) -> Result<String, CommandError> {
        let head = Git::new(env::git(), self.sandbox.repo()).head()?;
        Ok(head.map(|oid| oid.to_string()).unwrap_or_default())
    }

    /// Notes who made the commit that HEAD is at now.
    fn made(&mut self, subject: &str, by: By) -> Result<(), CommandError> {
        let commit = self.head()?;
        if commit == self.head {
            return Err(CommandError::failed(format!(
                "\"{subject}\" was not committed"
            )));
        }
        self.head.clone_from(&commit);
        let subject = subject.to_owned();
        self.played.commits.push(Made {
            commit,
            subject,
            by,
        });
        Ok(())
    }
}

fn prompt(text: &str) -> Step {
    Step::Prompt(text.to_owned())
}

fn write(path: &str, content: &str) -> Step {
    Step::Write {
        path: path.to_owned(),
        content: content.to_owned(),
    }
}

fn bash(command: &str, subject: &str) -> Step {
    Step::Bash {
        command: format!("{command} '{subject}'"),
    }
}

fn at_once(
    a: &mut Agent<'_>,
    of_a: &Step,
    b: &mut Agent<'_>,
    of_b: &Step,
) -> Result<(), CommandError> {
    a.starts(of_a)?;
    b.starts(of_b)?;
    a.ends()?;
    b.ends()
}
