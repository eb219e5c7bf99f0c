//! A pid namespace of its own, as containers have it, driven through a shell that is its first
//! process.

use std::fs::File;
use std::io::Write;

use super::repo::Repo;
use super::world::{Ran, World, kill, left_out, through_pipes, until};

/// A container. It is killed with this.
pub(crate) struct Container<'w> {
    world: &'w World,
    lines: File,
    ran: u32,
    first: u32,
}

impl<'w> Container<'w> {
    /// Starts one in a checkout, with these words in front of its first shell; nothing where this
    /// machine does not let us.
    pub(crate) fn start(repo: &Repo<'w>, words: &str) -> Option<Self> {
        let allowed = repo.sh("unshare --user --map-root-user --pid --fork --mount-proc true");
        if allowed.code != Some(0) {
            left_out("this machine makes no pid namespaces for us");
            return None;
        }
        let mut child = None;
        let (lines, _) = through_pipes(repo.world, "container", |pipes| {
            let script = format!(
                "exec unshare --user --map-root-user --pid --fork --kill-child --mount-proc {words} sh {pipes}"
            );
            let mut command = repo.world.command("/bin/sh");
            command.args(["-c", &script]).current_dir(&repo.dir);
            child = Some(command.spawn().unwrap());
        });
        Some(Self {
            world: repo.world,
            lines,
            ran: 0,
            first: child.unwrap().id(),
        })
    }

    /// Gives the first shell a line, and goes on.
    pub(crate) fn start_line(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
        self.lines.flush().unwrap();
    }

    /// Runs a line in the first shell and waits for it.
    #[track_caller]
    pub(crate) fn run(&mut self, line: &str) -> Ran {
        self.ran += 1;
        let file = |end: &str| self.world.root.join(format!("line-{}.{end}", self.ran));
        let (out, err, code) = (file("out"), file("err"), file("code"));
        let line = format!(
            "{{ {line}\n}} >'{}' 2>'{}' </dev/null; echo $? >'{code}.part'; mv '{code}.part' '{code}'",
            out.display(),
            err.display(),
            code = code.display(),
        );
        self.start_line(&line);
        until("the line in the container is done", || code.exists());
        let text = |path| std::fs::read_to_string(path).unwrap();
        Ran {
            code: text(&code).trim().parse().ok(),
            stdout: text(&out),
            stderr: text(&err),
        }
    }

    /// Makes the next process of the container have this pid.
    #[track_caller]
    pub(crate) fn next_pid(&mut self, pid: u32) {
        let last = pid - 1;
        self.start_line(&format!("echo {last} >/proc/sys/kernel/ns_last_pid"));
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        kill(self.first);
    }
}
