#!/usr/bin/env python3
"""An agent hook that records its call: capture.py OUT_FILE EVENT

Appends one JSON line with stdin and the variables that tell which session is calling. Values that
look like secrets are never kept.
"""
import fcntl
import json
import os
import re
import sys

KEEP = re.compile(r"CLAUDE|SESSION|AGENT|TRACEPARENT", re.I)
DROP = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|HEADERS", re.I)


def main():
    out, event = sys.argv[1:3]
    text = sys.stdin.read()
    try:
        body = json.loads(text)
    except ValueError:
        body = text or None
    env = {k: v for k, v in sorted(os.environ.items()) if KEEP.search(k) and not DROP.search(k)}
    with open(out, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"event": event, "stdin": body, "env": env}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
