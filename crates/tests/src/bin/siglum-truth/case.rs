//! One case: who does what, told to a log, and who made which commit, told by git alone.
//!
//! Whoever runs git has its own name in `GIT_COMMITTER_NAME`, with the number of the case. No rule
//! looks at that name; so git itself keeps the truth.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::agent::{Agent, Call, Kind};
use crate::dice::Dice;
use crate::terminal::{Multiplexer, Terminal};
use crate::world::{Gate, Mark, Ran, World, quoted};

/// Who made something, in the words of the truth.
pub(crate) const PERSON: &str = "person";
/// A program that is neither an agent's nor anybody's who could be seen.
pub(crate) const NOBODY: &str = "nobody";

/// A commit and what git says of it.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) id: String,
    pub(crate) subject: String,
    /// Who ran git: a native id, or one of the words above.
    pub(crate) maker: String,
    /// Who made the commit that this one was made of, where git kept that.
    pub(crate) origin: String,
}

/// One case that is played.
pub(crate) struct Case<'w> {
    pub(crate) world: &'w mut World,
    pub(crate) dice: Dice,
    pub(crate) number: u64,
    pub(crate) story: Vec<String>,
    /// Whether the lines of the commits are statements, too.
    pub(crate) judges_lines: bool,
    /// Lines whose text does not say who wrote them: path, text, writer.
    pub(crate) writers: Vec<(String, String, String)>,
    /// Subjects of commits that git carried over as they were.
    pub(crate) carried: Vec<String>,
    commits: u32,
}

impl<'w> Case<'w> {
    pub(crate) fn new(world: &'w mut World, dice: Dice, number: u64) -> Self {
        Self {
            world,
            dice,
            number,
            story: Vec::new(),
            judges_lines: false,
            writers: Vec::new(),
            carried: Vec::new(),
            commits: 0,
        }
    }

    /// Adds a sentence to the story.
    pub(crate) fn tell(&mut self, sentence: impl Into<String>) {
        self.story.push(sentence.into());
    }

    /// The name that git writes down for somebody.
    pub(crate) fn stamp(&self, who: &str) -> String {
        format!("k{} {who}", self.number)
    }

    /// A shell's words that make somebody the one who runs git.
    pub(crate) fn stamped(&self, who: &str, command: &str) -> String {
        let stamp = self.stamp(who);
        format!("export GIT_AUTHOR_NAME='{stamp}' GIT_COMMITTER_NAME='{stamp}'; {command}")
    }

    /// A subject that no other commit has.
    pub(crate) fn subject(&mut self) -> String {
        self.commits += 1;
        let words = [
            "Add the parser",
            "Fix a test",
            "Move it",
            "Say why",
            "Count once",
        ];
        format!(
            "{} {}.{}",
            self.dice.pick(&words),
            self.number,
            self.commits
        )
    }

    /// A command that makes a commit in one of the usual ways.
    pub(crate) fn commit(&mut self) -> String {
        let subject = self.subject();
        let path = format!("f{}-{}", self.number, self.commits);
        let quiet = self.dice.pick(&["-q ", "-q ", ""]);
        match self.dice.below(5) {
            0 => format!("git commit {quiet}--allow-empty -m '{subject}'"),
            1 => format!("printf '%s\\n' '{subject}' | git commit {quiet}--allow-empty -F -"),
            2 => format!("echo {path} >{path}; git add {path}; git commit {quiet}-m '{subject}'"),
            3 => format!("echo {path} >{path} && git add -A && git commit {quiet}-m '{subject}'"),
            _ => format!(
                "echo {path} >{path} && git add {path} && git commit {quiet}-m '{subject}' -- {path}"
            ),
        }
    }

    /// The same, with git's hooks switched off by whoever runs it.
    pub(crate) fn hookless_commit(&mut self) -> String {
        let subject = self.subject();
        let quiet = self.dice.pick(&["-q ", ""]);
        match self.dice.below(3) {
            0 => format!(
                "c=$(git commit-tree -p HEAD -m '{subject}' HEAD^{{tree}}) && \
                 git update-ref -m 'commit: {subject}' HEAD $c"
            ),
            1 => format!(
                "git -c core.hooksPath=/dev/null commit {quiet}--allow-empty -m '{subject}'"
            ),
            _ => format!(
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0= \
                 git commit {quiet}--allow-empty -m '{subject}'"
            ),
        }
    }

    // The cast.

    /// A free agent with an open session, of any kind whose git has hooks.
    pub(crate) fn agent(&mut self) -> usize {
        let kind = self.dice.pick(&[Kind::Claude, Kind::Claude, Kind::Codex]);
        self.agent_but(kind, &[])
    }

    /// A free agent of a kind, other than these.
    pub(crate) fn agent_but(&mut self, kind: Kind, others: &[usize]) -> usize {
        let fits = |(index, agent): &(usize, &Agent)| {
            agent.kind == kind && agent.free && agent.open && !others.contains(index)
        };
        let found: Vec<usize> = self
            .world
            .agents
            .iter()
            .enumerate()
            .filter(fits)
            .map(|(i, _)| i)
            .collect();
        // Sometimes a fresh one, so that sessions differ in age.
        if !found.is_empty() && (found.len() >= 3 || !self.dice.one_in(6)) {
            let index = found[self.dice.below(found.len())];
            let native = self.world.agents[index].native.clone();
            self.tell(format!("{native} is a session of {kind:?} that goes on"));
            return index;
        }
        self.fresh_agent(kind)
    }

    /// An agent that is started now, with a session.
    pub(crate) fn fresh_agent(&mut self, kind: Kind) -> usize {
        let agent = Agent::launch(self.world, kind);
        let index = self.admit(agent);
        self.begin(index, "startup");
        index
    }

    /// Takes an agent into the cast.
    pub(crate) fn admit(&mut self, agent: Agent) -> usize {
        self.tell(format!(
            "{} is a process of {:?} that is started now",
            agent.native, agent.kind
        ));
        self.world.agents.push(agent);
        self.world.agents.len() - 1
    }

    /// The id of its session.
    pub(crate) fn native(&self, agent: usize) -> String {
        self.world.agents[agent].native.clone()
    }

    fn with<T>(&mut self, index: usize, act: impl FnOnce(&mut Agent, &Value) -> T) -> T {
        let stamp = self.stamp(&self.native(index));
        let World {
            agents, settings, ..
        } = &mut *self.world;
        let agent = &mut agents[index];
        agent.stamp = stamp;
        act(agent, &settings[&agent.kind])
    }

    pub(crate) fn begin(&mut self, index: usize, source: &str) {
        let native = self.native(index);
        self.tell(format!(
            "{native}: its session begins ({source}), and it gets a prompt"
        ));
        self.with(index, |agent, settings| agent.begin(settings, source));
    }

    pub(crate) fn prompt(&mut self, index: usize) {
        self.tell(format!("{}: gets a prompt", self.native(index)));
        self.with(index, Agent::prompt);
    }

    pub(crate) fn stop(&mut self, index: usize) {
        self.tell(format!("{}: its turn stops", self.native(index)));
        self.with(index, Agent::stop);
    }

    pub(crate) fn end(&mut self, index: usize, reason: &str) {
        self.tell(format!(
            "{}: its session ends ({reason}), the process lives",
            self.native(index)
        ));
        self.with(index, |agent, settings| agent.end(settings, reason));
    }

    pub(crate) fn kill(&mut self, index: usize) {
        self.tell(format!("{}: its process is killed", self.native(index)));
        self.world.agents[index].kill();
    }

    /// Begins a call of the shell tool; what runs in it is up to the case.
    pub(crate) fn begin_call(&mut self, index: usize, command: &str) -> Call {
        self.tell(format!(
            "{}: begins a shell call: {command}",
            self.native(index)
        ));
        self.with(index, |agent, settings| {
            let call = agent.shell_call(index, command);
            agent.begin_call(settings, &call);
            call
        })
    }

    /// Runs a command in an agent's shell, without hooks of the agent.
    pub(crate) fn run(&mut self, index: usize, command: &str) -> Ran {
        self.tell(format!("{}: its shell runs: {command}", self.native(index)));
        let ran = self.with(index, |agent, _| agent.run(command));
        if ran.code != Some(0) {
            let code = ran.code;
            self.tell(format!(
                "  exit code {code:?}: {}{}",
                ran.stdout.trim(),
                ran.stderr.trim()
            ));
        }
        ran
    }

    /// Starts a command in an agent's shell and does not wait.
    pub(crate) fn start(&mut self, index: usize, command: &str) {
        self.tell(format!(
            "{}: its shell starts: {command}",
            self.native(index)
        ));
        self.with(index, |agent, _| agent.start(command));
    }

    /// Ends a call of the shell tool.
    pub(crate) fn end_call(&mut self, call: Call, ran: &Ran) {
        let index = call.agent;
        self.tell(format!("{}: its call ends", self.native(index)));
        self.with(index, |agent, settings| {
            agent.end_shell_call(settings, call, ran);
        });
    }

    /// Runs a whole call of the shell tool.
    pub(crate) fn call(&mut self, index: usize, command: &str) -> Ran {
        let call = self.begin_call(index, command);
        let ran = self.run(index, command);
        self.end_call(call, &ran);
        ran
    }

    /// Runs a whole call of a tool that edits.
    pub(crate) fn edit_call(
        &mut self,
        index: usize,
        tool: &str,
        input: &Value,
        work: impl FnOnce(&mut Self) -> Value,
    ) {
        self.tell(format!("{}: {tool} {input}", self.native(index)));
        let call = self.with(index, |agent, settings| {
            let call = agent.call(index, tool, input);
            agent.begin_call(settings, &call);
            call
        });
        let response = work(self);
        self.with(index, |agent, settings| {
            agent.end_call(settings, call, response);
        });
    }

    /// A person types a command at a plain terminal, and waits until it is done.
    pub(crate) fn person_types(&mut self, command: &str) {
        if self.world.person.is_none() {
            self.world.person = Some(Terminal::open(self.world, "xterm"));
        }
        self.tell(format!("a person types in xterm: {command}"));
        let done = self.world.mark();
        let line = self.stamped(PERSON, command);
        let dir = self.world.repo.display().to_string();
        let terminal = self.world.person.as_mut().unwrap();
        terminal.type_line(&format!("cd {dir}; {line}"));
        terminal.type_line(&done.making());
        done.wait();
    }

    /// The person's tmux; where it is not installed, nothing.
    pub(crate) fn multiplexer(&mut self) -> Option<&mut Multiplexer> {
        if self.world.multiplexer.is_none() && has_program("tmux") {
            self.world.multiplexer = Multiplexer::open(self.world);
        }
        self.world.multiplexer.as_mut()
    }

    /// A script runs that nobody is above, and is waited for.
    pub(crate) fn script_runs(&mut self, command: &str) {
        let done = self.start_script(command);
        done.wait();
    }

    /// Starts a script that nobody is above.
    pub(crate) fn start_script(&mut self, command: &str) -> Mark {
        self.tell(format!("a script without a terminal runs: {command}"));
        let done = self.world.mark();
        let line = format!("{}; {}", self.stamped(NOBODY, command), done.making());
        let mut script = self.world.detached("/bin/sh");
        script.stdout(Stdio::null()).stderr(Stdio::null());
        script.args(["-c", &line]).status().unwrap();
        done
    }

    pub(crate) fn gate(&mut self) -> Gate {
        self.world.gate()
    }

    pub(crate) fn mark(&mut self) -> Mark {
        self.world.mark()
    }

    /// Where a file of the repository is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.world.repo.join(name)
    }

    /// The commits of this case that branches hold, as git tells them.
    pub(crate) fn made(&self) -> Vec<Commit> {
        let format = "--format=%H%x09%cn%x09%an%x09%s";
        let listed = self
            .world
            .git(&self.world.repo, &["log", "--all", "-n", "80", format]);
        let mine = format!("k{} ", self.number);
        let read = |line: &str| {
            let mut fields = line.splitn(4, '\t');
            let id = fields.next()?.to_owned();
            let maker = fields.next()?.strip_prefix(&mine)?.to_owned();
            let origin = fields.next()?.strip_prefix(&mine)?.to_owned();
            let subject = fields.next()?.to_owned();
            Some(Commit {
                id,
                subject,
                maker,
                origin,
            })
        };
        let commits: Vec<Commit> = listed.lines().filter_map(read).collect();
        assert!(!commits.is_empty(), "nobody made a commit");
        commits
    }

    /// A payload of a tool that writes a whole file, as Claude has it.
    pub(crate) fn written(path: &std::path::Path, before: Option<&str>, content: &str) -> Value {
        json!({
            "type": if before.is_some() { "update" } else { "create" }, "filePath": path,
            "content": content, "structuredPatch": [], "originalFile": before,
            "userModified": false,
        })
    }
}

/// Whether a program can be found.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

/// A shell's words for a script in a shell of its own.
pub(crate) fn in_shell(script: &str) -> String {
    format!("sh -c {}", quoted(script))
}
