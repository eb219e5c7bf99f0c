#!/bin/sh
# A small agent that tells Siglum what it does: it writes a file and commits it.
set -eu

session=shell-$$-$(date +%s)
number=0

# A text as JSON.
quote() {
	printf '%s' "$1" | awk 'BEGIN { printf "\"" }
		{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); if (NR > 1) printf "\\n"; printf "%s", $0 }
		END { printf "\"" }'
}

# say TYPE [MORE FIELDS]: a line for `siglum record`. This script is the agent, so it names its own process.
say() {
	number=$((number + 1))
	printf '{"v":1,"type":"%s","session":"%s","id":"%s"%s}\n' "$1" "$session" "$number" "${2:+,$2}" |
		siglum record --agent shell-agent --pid $$ --quiet
}

# run CALL COMMAND: runs a command, as a tool of the agent.
run() {
	call="\"call\":\"$1\",\"tool\":\"sh\",\"kind\":\"shell\""
	say tool_call "$call,\"input\":$(quote "$2")"
	if output=$(sh -c "$2" 2>&1); then outcome=ok; else outcome=failed; fi
	say tool_result "$call,\"outcome\":\"$outcome\",\"output\":$(quote "$output")"
}

say session_start '"model":"model-1"'
say link '"link":"issue=42"'
say prompt "\"turn\":\"1\",\"text\":$(quote 'Write a list of "fruit" and commit it.')"
write='"call":"write","tool":"write","kind":"edit","paths":["fruit.txt"]'
say tool_call "$write"
printf 'apple\npear\n' >fruit.txt
say tool_result "$write"
run commit "git add fruit.txt && git commit -q -m 'Add fruit'"
say message '"message":"m-1","text":"Done."'
say usage '"message":"m-1","input":150,"output":20,"model":"model-1"'
say turn_end '"turn":"1"'
say session_end '"reason":"done"'
echo "$session"
