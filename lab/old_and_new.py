#!/usr/bin/env python3
"""Lets an older program and this one work beside each other on one ledger, as while an upgrade is under way.

    old_and_new.py FOLDER [--at-once] OLD...    FOLDER is emptied; OLD are older programs, each of another schema

Between an upgrade and the next hook the worker of the program before has left, which it does after two seconds. With
--at-once it is still there.

Environment: SIGLUM_BIN (this program). Exit code 1 if a commit has another answer than the session that made it, if an
older program harms a newer ledger, or if something is left in a spool.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

NEW = os.environ["SIGLUM_BIN"]
_failed = []


def show(what, true, seen=""):
    print(f"  {'ok  ' if true else 'FAIL'} {what}{f': {seen}' if seen != '' else ''}", flush=True)
    if not true:
        _failed.append(what)


class Place:
    """A repository with a ledger of its own, and agents that commit in it."""

    def __init__(self, folder, at_once):
        self.at_once = at_once
        shutil.rmtree(folder, ignore_errors=True)
        self.home, self.dir, self.made = folder / "ledger", folder / "repo", {}
        self.dir.mkdir(parents=True)
        self.env = {"HOME": str(folder), "SIGLUM_HOME": str(self.home), "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
        self.sh("git init -q -b main && git config user.name Ada && git config user.email ada@example.com")
        self.sh("git commit -q --allow-empty -m base")

    def sh(self, script, **more):
        done = subprocess.run(["sh", "-c", script], cwd=self.dir, env=self.env | more, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{script}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def siglum(self, program, *args):
        return subprocess.run([program, *args], cwd=self.dir, env=self.env, capture_output=True, text=True)

    def ask(self, program, *args):
        done = self.siglum(program, *args)
        if done.returncode:
            raise SystemExit(f"{program} {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def answer(self, program, *args):
        return json.loads(self.ask(program, *args, "--json"))["data"]

    def hooks_call(self, program):
        """As an upgrade does it, or one that is taken back."""
        while not self.at_once and self.works_on():
            time.sleep(0.1)
        shim = self.home / "bin/siglum"
        shim.unlink()
        shim.symlink_to(program)

    def works_on(self):
        """Whether a process has this ledger open."""
        ledger = str(self.home / "ledger.db")
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            try:
                if os.readlink(link) == ledger:
                    return True
            except OSError:
                pass
        return False

    def hook(self, session, event, **more):
        payload = {"session_id": session, "transcript_path": "/none", "cwd": str(self.dir), "hook_event_name": event} | more
        shim = self.home / "bin/siglum"
        done = subprocess.run([shim, "hook", "claude-code"], input=json.dumps(payload), cwd=self.dir, env=self.env, capture_output=True, text=True)
        if done.returncode or done.stdout:
            raise SystemExit(f"{event}: {done}")

    def works(self, session):
        """A session that commits in one turn."""
        command = f"git commit -q --allow-empty -m {session}"
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"call-{session}"}
        self.hook(session, "SessionStart", source="startup")
        self.hook(session, "UserPromptSubmit", prompt=f"commit {session}")
        self.hook(session, "PreToolUse", **call)
        self.sh(command, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID=session)
        self.hook(session, "PostToolUse", **call, tool_response={"stdout": "", "stderr": "", "interrupted": False})
        self.hook(session, "Stop", stop_hook_active=False)
        self.made[self.sh("git rev-parse HEAD")] = session

    def schema(self):
        with closing(sqlite3.connect(f"file:{self.home}/ledger.db?mode=ro", uri=True)) as db:
            return db.execute("PRAGMA user_version").fetchone()[0]

    def waiting(self):
        spools = [self.home / "spool", self.dir / ".git/siglum/spool"]
        return [file.name for spool in spools if spool.is_dir() for file in spool.rglob("*") if file.is_file()]

    def answers(self, program, what):
        log = self.answer(program, "log", "--limit", "50")
        log = log["items"] if "items" in log else log["commits"]  # as older programs call them
        named = {commit["commit"]: commit["committer"].get("conversation_id") for commit in log}
        wrong = {session: named.get(commit) for commit, session in self.made.items() if named.get(commit) != session}
        show(f"{what}: {len(self.made)} commits, each its session's", not wrong, wrong or "")


def beside(folder, old, at_once):
    place = Place(folder, at_once)
    place.ask(old, "init", "--yes")
    place.works("old-alone")
    place.answers(old, "the older program")
    before = place.schema()

    place.hooks_call(NEW)
    place.works("new-hooks")
    known = place.answer(NEW, "version")["schema"]["sqlite"]
    place.answers(NEW, "this program, after its hooks")
    show("the ledger was brought on", place.schema() == known, f"{before} to {known}")

    place.hooks_call(old)
    place.works("old-hooks")
    refused = place.siglum(old, "log")
    show("the older program refuses the ledger, and says why", refused.returncode == 1 and "newer" in refused.stderr)
    show("what its hooks saw waits", bool(place.waiting()))
    show("it left the ledger as it is", place.schema() == known)

    place.hooks_call(NEW)
    place.works("new-again")
    place.answers(NEW, "this program, after both")
    show("nothing waits any more", not place.waiting(), place.waiting() or "")
    sound = place.siglum(NEW, "verify")
    show("the ledger is sound", sound.returncode == 0, sound.stdout + sound.stderr if sound.returncode else "")


def main():
    folder, olds = Path(sys.argv[1]).absolute(), [arg for arg in sys.argv[2:] if arg != "--at-once"]
    for old in olds:
        print(old, flush=True)
        beside(folder, old, "--at-once" in sys.argv)
    print(f"{len(olds)} older programs, {len(_failed)} failed")
    return bool(_failed)


if __name__ == "__main__":
    sys.exit(main())
