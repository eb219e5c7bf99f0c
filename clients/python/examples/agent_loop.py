"""An agent loop whose conversation is in Siglum: each turn is committed as a whole, and a crash loses nothing.

    python3 agent_loop.py CONVERSATION PROMPT

The same command again after a crash continues: a turn that was committed is not committed twice.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys

from siglum_client import Gateway, problems

AGENT = "my-runtime"


def model(prompt: str, output: str | None) -> tuple[str | None, str]:
    """What a model would answer: the command that it wants to run, and its text. Put yours here."""
    if output is None:
        return "ls", "Let me look."
    return None, f"There are {len(output.split())} files."


def main() -> None:
    conversation, prompt = sys.argv[1:]
    # A turn has the same key, however often it is tried.
    key = hashlib.sha256(prompt.encode()).hexdigest()[:16]
    with Gateway() as gateway:
        created = gateway.create_session({"agent": AGENT, "conversation_id": conversation})
        session = created["session"]["id"]
        try:
            with gateway.drive(session, holder=AGENT) as drive:
                turn = drive.open(key)
                if turn.receipt is not None:
                    print("committed before")
                    return
                turn.append({"type": "prompt", "key": f"{key}.prompt", "text": prompt})
                output: str | None = None
                for step in range(10):
                    command, text = model(prompt, output)
                    turn.append({"type": "message", "key": f"{key}.{step}", "text": text})
                    print(text)
                    if command is None:
                        break
                    call = f"{key}.call{step}"
                    # Before the tool runs: if this process dies now, the call is known.
                    turn.append({"type": "tool_call", "call": call, "tool": "shell", "class": "shell", "input": command})
                    output = subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout
                    turn.append({"type": "tool_result", "call": call, "tool": "shell", "class": "shell", "output": output})
                receipt = turn.commit({"type": "stop", "key": f"{key}.prompt"})
                print(f"committed as receipt {receipt['number']} of {session}")
        except problems.Leased:
            sys.exit("another driver has this conversation")
        except problems.Held as held:
            # A driver died during a call. A person says whether the call was executed.
            sys.exit(held.detail)


main()
