#!/usr/bin/env python3
"""Shows real hook managers and Siglum in one repository: each alone, before `siglum init`, after it, and after `uninstall`.

    hook_managers.py FOLDER [MANAGER]...    FOLDER keeps what is installed; managers: husky9, husky8, lefthook,
                                            simple-git-hooks, pre-commit

Environment: SIGLUM_BIN (the program). Exit code 1 if a hook of theirs does not run as it does alone, if ours did not see
a commit beside theirs, if a checkout is changed, or if `uninstall` leaves something.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {"husky9": "husky@9.1.7", "husky8": "husky@8.0.3", "lefthook": "lefthook@2.0.4", "simple-git-hooks": "simple-git-hooks@2.13.1"}
PRE_COMMIT = "pre-commit==4.3.0"
HOOKS = ["pre-commit", "commit-msg", "post-commit"]
NOTES = '#!/bin/sh\necho "$1" >>../ran\ntest ! -e ../refuse\n'
_failed = []


def show(what, true, seen=""):
    print(f"  {'ok  ' if true else 'FAIL'} {what}{f': {seen}' if seen != '' else ''}", flush=True)
    if not true:
        _failed.append(what)


class Place:
    """A repository with a home of its own, and a manager's files in it."""

    def __init__(self, folder, manager, tools):
        self.manager, self.tools, self.dir = manager, tools, folder / "repo"
        shutil.rmtree(folder, ignore_errors=True)
        self.dir.mkdir(parents=True)
        self.env = {
            "HOME": str(folder), "SIGLUM_HOME": str(folder / "ledger"), "LANG": "C.UTF-8",
            "PATH": f"{tools}/node_modules/.bin:{tools}/venv/bin:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(tools / "cache"),
        }
        self.sh("git init -q -b main && git config user.name Ada && git config user.email ada@example.com")
        (self.dir / "note.sh").write_text(NOTES)
        write(self.dir, manager)
        (self.dir / ".gitignore").write_text("node_modules\n")
        (self.dir / "node_modules").symlink_to(tools / "node_modules")

    def sh(self, script, fails=False):
        done = subprocess.run(["sh", "-c", script], cwd=self.dir, env=self.env, capture_output=True, text=True)
        if done.returncode and not fails:
            raise SystemExit(f"{self.manager}: {script}: {done.stdout}{done.stderr}")
        return done

    def install(self):
        self.sh(INSTALL[self.manager])

    def siglum(self, *args):
        done = subprocess.run([os.environ["SIGLUM_BIN"], *args], cwd=self.dir, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.manager}: siglum {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def work(self):
        """Commits, one of them refused, and what came of it."""
        refuse, ran = self.dir.parent / "refuse", self.dir.parent / "ran"
        ran.unlink(missing_ok=True)
        self.sh("git add -A && git commit -q --no-verify --allow-empty -m base", fails=True)
        before = self.sh("git rev-parse HEAD").stdout.strip()
        ran.write_text("")
        ends = []
        for number in range(3):
            (self.dir / "file").write_text(f"{number}\n")
            if number == 1:
                refuse.touch()
            ends.append(self.sh(f"git add file && git commit -q -m 'change {number}'", fails=True).returncode)
            refuse.unlink(missing_ok=True)
        ends.append(self.sh("git commit -q --amend --no-edit", fails=True).returncode)
        status = self.sh("git status --porcelain").stdout
        (self.dir / "file").unlink()
        self.sh("git add -A && git commit -q --no-verify -m end")
        self.made = self.sh(f"git rev-list {before}..HEAD").stdout.split()
        return {"ends": ends, "ran": ran.read_text().split(), "status": status}

    def seen_by(self):
        """What showed Siglum each commit of the last work."""
        return [json.loads(self.siglum("why", commit, "--json"))["data"].get("seen_by") for commit in self.made]

    def files(self):
        """The checkout, git's hooks and git's settings."""
        kept = [path for path in self.dir.rglob("*") if path.is_file() and not path.is_symlink()]
        kept = [path for path in kept if ".git" not in path.parts or "hooks" in path.parts or path.name == "config"]
        return {str(path.relative_to(self.dir)): path.read_bytes() for path in kept}


INSTALL = {
    "husky9": "husky",
    "husky8": "husky install",
    "lefthook": "lefthook install --force",
    "simple-git-hooks": "simple-git-hooks",
    "pre-commit": "pre-commit install " + " ".join(f"-t {hook}" for hook in HOOKS),
}


def write(folder, manager):
    """What a project has in its repository for a manager."""
    (folder / "package.json").write_text("{}\n")
    if manager.startswith("husky"):
        (folder / ".husky").mkdir()
        for hook in HOOKS:
            head = "" if manager == "husky9" else '#!/usr/bin/env sh\n. "$(dirname -- "$0")/_/husky.sh"\n'
            path = folder / ".husky" / hook
            path.write_text(f"{head}sh note.sh {hook}\n")
            path.chmod(0o755)
    elif manager == "lefthook":
        jobs = "".join(f"{hook}:\n  commands:\n    note:\n      run: sh note.sh {hook}\n" for hook in HOOKS)
        (folder / "lefthook.yml").write_text(jobs)
    elif manager == "simple-git-hooks":
        (folder / "package.json").write_text(json.dumps({"simple-git-hooks": {hook: f"sh note.sh {hook}" for hook in HOOKS}}))
    else:
        jobs = "".join(
            f"  - id: {hook}\n    name: {hook}\n    entry: sh note.sh {hook}\n    language: system\n    always_run: true\n"
            f"    pass_filenames: false\n    stages: [{hook}]\n"
            for hook in HOOKS
        )
        (folder / ".pre-commit-config.yaml").write_text(f"repos:\n- repo: local\n  hooks:\n{jobs}")


def tools_of(folder):
    tools = folder / "tools"
    if not (tools / "installed").exists():
        shutil.rmtree(tools, ignore_errors=True)
        for name in ["husky8", "rest"]:
            (tools / name).mkdir(parents=True)
            wanted = [package for manager, package in PACKAGES.items() if (manager == "husky8") == (name == "husky8")]
            (tools / name / "package.json").write_text("{}")
            # Their own scripts would install hooks; lefthook's program is a package of its own.
            subprocess.run(["npm", "install", "--silent", "--ignore-scripts", *wanted], cwd=tools / name, check=True)
        subprocess.run([sys.executable, "-m", "venv", tools / "rest/venv"], check=True)
        subprocess.run([tools / "rest/venv/bin/pip", "install", "--quiet", PRE_COMMIT], check=True)
        (tools / "installed").touch()
    return tools


def same(what, alone, found):
    for part in alone:
        show(f"{what}: {part} as alone", alone[part] == found[part], found[part] if alone[part] == found[part] else f"{found[part]}, alone {alone[part]}")


def seen(what, place, by_hooks=True):
    seen_by = place.seen_by()
    # Of an amend two hooks tell, and the ledger keeps who came first.
    is_meant = [(how in ["hook", "rewrite"]) == by_hooks for how in seen_by]
    show(f"{what}: Siglum's hooks saw {'each commit' if by_hooks else 'no commit'}", len(is_meant) == 3 and all(is_meant), seen_by)


def gone(what, before, after):
    left = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    show(f"{what}: nothing is left", not left, ", ".join(left))


def compare(folder, manager, tools):
    print(f"\n{manager}", flush=True)
    place = Place(folder / "alone", manager, tools)
    place.install()
    alone = place.work()
    show("alone: it runs hooks and refuses", set(HOOKS) <= set(alone["ran"]) and alone["ends"][1] != 0, alone["ran"])

    place = Place(folder / "first", manager, tools)
    place.install()
    place.sh("git add -A && git commit -q --no-verify -m base")
    before = place.files()
    place.siglum("init", "--yes")
    same("siglum init after it", alone, place.work())
    seen("siglum init after it", place)
    place.siglum("uninstall", "--yes")
    gone("siglum init after it, then uninstall", before, place.files())
    same("after uninstall", alone, place.work())
    seen("after uninstall", place, by_hooks=False)

    place = Place(folder / "then", manager, tools)
    untouched = place.files()
    place.siglum("init", "--yes")
    place.install()
    same("siglum init before it", alone, place.work())
    place.siglum("init", "--yes")
    same("siglum init again", alone, place.work())
    seen("siglum init again", place)
    place.siglum("uninstall", "--yes")
    left = [name for name, text in place.files().items() if b"siglum" in text and untouched.get(name) != text]
    show("siglum init before it, then uninstall: no block is left", not left, ", ".join(left))
    same("after uninstall", alone, place.work())


def main():
    folder, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:] or [*PACKAGES, "pre-commit"]
    folder.mkdir(parents=True, exist_ok=True)
    tools = tools_of(folder)
    for manager in wanted:
        compare(folder / manager, manager, tools / ("husky8" if manager == "husky8" else "rest"))
    print(f"\n{len(_failed)} not as alone" if _failed else "\nall as alone")
    sys.exit(bool(_failed))


if __name__ == "__main__":
    main()
