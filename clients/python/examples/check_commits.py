"""A check for CI: who made each commit of a range. Needs a read token, and nothing else.

    SIGLUM_GATEWAY_TOKEN=… python3 check_commits.py origin/main..HEAD

Exits with 1 if nobody is known to have made one of them. `siglum check` has more rules.
"""

from __future__ import annotations

import subprocess
import sys

from siglum_client import Gateway, problems


def known_makers(gateway: Gateway, commit: str) -> set[str]:
    """The sessions, or `human`, that made a commit; in several repositories, there may be several."""
    try:
        records = gateway.explain_commit(commit)["items"]
    except problems.NotFound:
        return set()
    committers = [record["committer"] for record in records]
    makers = {committer.get("session") or str(committer["kind"]) for committer in committers}
    return makers - {"unknown"}


def main() -> None:
    git = subprocess.run(["git", "rev-list", "--reverse", "--no-merges", sys.argv[1]], capture_output=True, text=True, check=True)
    unknown = 0
    with Gateway() as gateway:
        for commit in git.stdout.split():
            makers = known_makers(gateway, commit)
            print(commit[:12], ", ".join(sorted(makers)) or "unknown")
            unknown += not makers
    sys.exit(1 if unknown else 0)


main()
