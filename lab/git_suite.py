#!/usr/bin/env python3
"""Runs git's own tests with no hooks, with hooks that do nothing and with Siglum's, and compares what passes.

    git_suite.py FOLDER [TEST]...    FOLDER keeps git's source and program; tests as t3400 or t34*; by default those of
                                     commit, rebase, cherry-pick, am, merge, submodule and worktree

Environment: SIGLUM_BIN (the program). Exit code 1 if a test ends with Siglum's hooks as with neither
of the others: tests that write hooks of their own find that place taken; or if Siglum recorded nothing, so that its
hooks cannot have run. No agent is there: every commit is a person's.
"""
import hashlib
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "2.47.3"
SOURCE = f"http://deb.debian.org/debian/pool/main/g/git/git_{VERSION}.orig.tar.xz"
SHA256 = "9c2eb1250781b3e5bfef098572d07fdf132d67e6c065e4307332ade9819a1501"
WITHOUT = ["CURL", "EXPAT", "GETTEXT", "TCLTK", "PYTHON", "OPENSSL"]
USUAL = ["t24*", "t34*", "t35*", "t415*", "t74*", "t75*", "t76*"]
LINE = re.compile(r"^(not ok|ok) (\d+) - (.*)$", re.M)
PAIRS = 2


def build(folder):
    """Git's source and program, once."""
    git = folder / f"git-{VERSION}"
    if (git / "built").exists():
        return git
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder / "git.tar.xz"
    urllib.request.urlretrieve(SOURCE, packed)
    if hashlib.sha256(packed.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{SOURCE} is not what it was")
    shutil.rmtree(git, ignore_errors=True)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    make = ["make", f"-j{os.cpu_count()}", "CFLAGS=-O1", *(f"NO_{what}=1" for what in WITHOUT)]
    with open(folder / "make.log", "w") as log:
        subprocess.run(make, cwd=git, stdout=log, stderr=log, check=True)
    (git / "built").touch()
    return git


def scratch_environment(folder, git):
    """Where Siglum has its home while git is tested."""
    scratch = folder / "scratch"
    return {"HOME": str(scratch / "home"), "SIGLUM_HOME": str(scratch / "ledger"), "LANG": "C.UTF-8", "PATH": f"{git}:/usr/bin:/bin"}


def our_template(folder, git):
    """What `siglum init` puts into a repository, to be put into every one."""
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "home").mkdir(parents=True)
    env, repo = scratch_environment(folder, git), scratch / "repo"
    subprocess.run(["git", "init", "-q", f"--template={git}/templates/blt", repo], env=env, check=True)
    subprocess.run([os.environ["SIGLUM_BIN"], "init", "--yes"], cwd=repo, env=env, check=True, capture_output=True)
    return [repo / ".git/hooks", repo / ".git/siglum"]


def recorded(folder, git):
    """What Siglum's hooks told the ledger. Tests throw their repositories away, and with them what waits there: it is less
    than the hooks saw."""
    env = scratch_environment(folder, git)
    subprocess.run([os.environ["SIGLUM_BIN"], "log"], cwd=folder / "scratch/repo", env=env, capture_output=True)
    ledger = sqlite3.connect(f"file:{env['SIGLUM_HOME']}/ledger.db?mode=ro", uri=True)
    return {table: ledger.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ["intents", "commits"]}


def run(git, tests, root):
    """How each test of each script ended, and the processor time of all in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    waiting, running, ended = list(tests), {}, {}
    while waiting or running:
        while waiting and len(running) < PAIRS:
            test = waiting.pop(0)
            log = open(root / f"{test}.log", "w+")
            script = subprocess.Popen(
                ["sh", f"{test}.sh", f"--root={root}"], cwd=git / "t", stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment()
            )
            running[script.pid] = (test, log)
        pid, status = os.wait()
        if pid in running:
            test, log = running.pop(pid)
            log.seek(0)
            ended[test] = {(int(number), name): word for word, number, name in LINE.findall(log.read())}
            ended[test]["ends with"] = os.waitstatus_to_exitcode(status)
            log.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment():
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent", "LANG": "C", "SHELL": "/bin/sh", "TERM": "dumb"}


def main():
    folder, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:] or USUAL
    git = build(folder)
    tests = sorted({path.stem for want in wanted for path in (git / "t").glob(f"{want.rstrip('*')}*.sh")})
    template = git / "templates/blt"
    plain = folder / "template"
    if not plain.exists():
        shutil.copytree(template, plain)
    results = {}
    for arm in ["no hooks", "hooks that do nothing", "Siglum's"]:
        shutil.rmtree(template)
        shutil.copytree(plain, template)
        ours = our_template(folder, git)
        if arm != "no hooks":
            for source in ours:
                shutil.copytree(source, template / source.name, dirs_exist_ok=True)
        if arm == "hooks that do nothing":
            shutil.rmtree(template / "siglum")
            for hook in (template / "hooks").iterdir():
                if not hook.suffix:
                    hook.write_text("#!/bin/sh\nexit 0\n")
        root = folder / "trash"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        results[arm] = run(git, tests, root)
    seen = recorded(folder, git)
    shutil.rmtree(template)
    shutil.copytree(plain, template)
    (none, none_s), (nothing, nothing_s), (ours, ours_s) = results.values()
    differing = taken = 0
    for test in tests:
        for key in sorted(none[test].keys() | nothing[test].keys() | ours[test].keys(), key=str):
            ends = [found[test].get(key) for found in (none, nothing, ours)]
            if ends[2] not in ends[:2]:
                differing += 1
                print(f"{test} {key}: {ends[0]} with no hooks, {ends[1]} with hooks that do nothing, {ends[2]} with Siglum's")
            elif ends[0] != ends[2]:
                taken += 1
                print(f"{test} {key}: {ends[2]} with Siglum's as with hooks that do nothing")
    cases = sum(len(found) - 1 for found in none.values())
    passed = sum(word == "ok" for found in none.values() for word in found.values())
    print(f"{len(tests)} scripts, {cases} tests of git {VERSION}, {passed} pass with no hooks")
    print(f"{taken} end otherwise with any hooks in their place, {differing} with Siglum's alone")
    print(f"Siglum's hooks told of {seen['intents']} commits under way and of {seen['commits']} that were made")
    times = f"{none_s:.0f} s with no hooks, {nothing_s:.0f} s with hooks that do nothing, {ours_s:.0f} s with Siglum's"
    print(f"processor time {times} ({ours_s / nothing_s:.2f} × hooks that do nothing)")
    sys.exit(differing > 0 or cases == 0 or not any(seen.values()))


if __name__ == "__main__":
    main()
