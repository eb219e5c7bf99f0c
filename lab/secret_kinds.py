#!/usr/bin/env python3
"""Shows which kinds of secrets programs remove, of those that four other scanners name, and which look-alikes they spare.

    secret_kinds.py [--all] NAME=PROGRAM...    such as before=OLD/siglum after=target/debug/siglum

Each kind of crates/domain/src/redact/corpus/scanners.txt is drawn three times, and each drawn secret is put into three
texts. All are the prompts of one transcript, which each program imports into a home of its own and shows again. A kind is
caught if nothing of its nine texts holds its secret any more. Prints tables in Markdown: of the scanners, and of the
kinds that one of the programs does not treat rightly (with --all, of every kind). Exit code 1 if the last program
misses a secret or changes a look-alike.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

KINDS = Path(__file__).parent.parent / "crates/domain/src/redact/corpus/scanners.txt"
DRAWS = 3
LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
LETTERS = LOWER + UPPER + DIGITS
# As corpus/draw.rs has them.
SIGNS = {"w": LETTERS, "b": LETTERS + "-_", "B": LETTERS + "+/", "l": LOWER + DIGITS, "U": UPPER + DIGITS,
         "h": "0123456789abcdef", "H": "0123456789ABCDEF", "d": DIGITS, "N": UPPER + "234567"}


def signs(draw, of, count):
    ends = [sign for sign in of if sign.isalnum()]
    return "".join(draw.choice(ends if at in (0, count - 1) else of) for at in range(count))


def fill(draw, form):
    def filled(match):
        if match[0] == "{uuid}":
            return "-".join(mark + signs(draw, SIGNS["h"], n) for mark, n in
                            [("", 8), ("", 4), ("4", 3), ("9", 3), ("", 12)])
        of, count = SIGNS[match[1]], int(match[2])
        drawn = signs(draw, of, count)
        # A secret nearly always has a digit; here it always has one.
        return drawn[:count // 2] + "7" + drawn[count // 2 + 1:] if count >= 10 and "0" in of else drawn
    return re.sub(r"\{uuid\}|\{([wbBlUhHdN])(\d+)\}", filled, form)


def samples(draw, name, is_own, form):
    """Texts with a secret of the kind, each with that secret."""
    if is_own:
        around = [("It is ", " for now."), ('{"value": "', '"}'), ("VALUE=", "\nPORT=8080")]
    else:
        name = name.replace("-", "_")
        around = [(f"{name.upper()}_API_KEY=", "\nPORT=8080"), (f'{{"{name}_secret": "', '"}'), (f"  {name}_token: '", "'\n")]
    for before, after in around:
        secret = fill(draw, form)
        yield before + secret + after, secret


def lookalike(draw, is_own, form):
    """A text that looks like the kind and holds no secret."""
    if "://" in form:
        return None
    if is_own:
        literal = form.split("{")[0]
        return f"It begins with {literal} as a rule." if len(literal) >= 2 else None
    is_bare = form.startswith("{") and form.endswith("}") and form.count("{") == 1
    return fill(draw, f"build {form} is done") if is_bare else None


def stored(program, texts):
    """What the program keeps of each text: its events as JSON."""
    with tempfile.TemporaryDirectory() as home:
        native, work = "0199d000-0000-7000-8000-000000000001", Path(home, "work")
        work.mkdir()
        transcript = Path(home, f".claude/projects/-repo/{native}.jsonl")
        transcript.parent.mkdir(parents=True)
        with open(transcript, "w") as file:
            for number, text in enumerate(texts):
                line = {"type": "user", "uuid": f"u-{number}", "timestamp": "2026-01-01T00:00:00.000Z",
                        "sessionId": native, "cwd": str(work), "isSidechain": False, "gitBranch": "main",
                        "message": {"role": "user", "content": f"[{number}] {text} [end]"}}
                print(json.dumps(line), file=file)
        env = {"HOME": home, "SIGLUM_HOME": f"{home}/siglum", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        run = lambda *args: subprocess.run([program, *args], cwd=work, env=env, check=True, capture_output=True).stdout
        run("import", "--all")
        shown = run("session", "show", native, "--full", "--limit", "0", "--json").decode()
    kept = {}
    for number, text in re.findall(r"\[(\d+)\] (.*?) \[end\]", shown):
        kept[int(number)] = json.loads(f'"{text}"')
    missing = [number for number in range(len(texts)) if number not in kept]
    assert not missing, f"{program} shows nothing of {len(missing)} texts, such as {texts[missing[0]]!r}"
    return kept


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    print("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines), end="\n\n")


def main(programs, shows_all):
    draw, texts, kinds = random.Random(1), [], []

    def put(text):
        texts.append(text)
        return len(texts) - 1

    for line in KINDS.read_text().splitlines():
        if line and not line.startswith("#"):
            scanner, name, known, form = line.split("\t")
            of_kind = [sample for _ in range(DRAWS) for sample in samples(draw, name, known == "own", form)]
            planted = [(put(text), text, secret) for text, secret in of_kind]
            text = lookalike(draw, known == "own", form)
            kinds.append((scanner, name, planted, None if text is None else (put(text), text)))
    sums, by_kind = [Counter() for _ in programs], [[] for _ in kinds]
    for (_, program), total in zip(programs, sums):
        kept = stored(program, texts)
        for row, (scanner, _, planted, like) in zip(by_kind, kinds):
            caught = sum(secret not in kept[number] for number, _, secret in planted)
            spared = "–" if like is None else "yes" if kept[like[0]] == like[1] else "no"
            is_right = caught == len(planted) and spared != "no"
            row.append(((f"{caught} of {len(planted)}", spared), is_right))
            total.update({(scanner, "kinds"): 1, (scanner, "caught"): caught == len(planted), (scanner, "alike"): spared != "–",
                          (scanner, "spared"): spared == "yes", "wrong": not is_right})
    each = [f"{what} {name}" for name, _ in programs for what in ("caught", "spared")]
    of_all = (("caught", "kinds"), ("spared", "alike"))
    counts = lambda scanner: (f"{total[scanner, good]} of {total[scanner, all_]}" for total in sums for good, all_ in of_all)
    table(["scanner", *each], [[scanner, *counts(scanner)] for scanner in sorted({kind[0] for kind in kinds})])
    shown = [(kind[:2], row) for kind, row in zip(kinds, by_kind) if shows_all or not all(is_right for _, is_right in row)]
    table(["scanner", "kind", *each], [[*kind, *(cell for cells, _ in row for cell in cells)] for kind, row in shown])
    return sums[-1]["wrong"] > 0


if __name__ == "__main__":
    named = [argument.split("=", 1) for argument in sys.argv[1:] if argument != "--all"]
    if not named or any(len(pair) != 2 for pair in named):
        sys.exit(__doc__)
    sys.exit(main(named, "--all" in sys.argv))
