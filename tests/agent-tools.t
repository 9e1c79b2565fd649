#!/bin/bash
# The agent's tools: arguments of every kind, files, links, and what a command in the shell can see and do.
# shellcheck disable=SC2154,SC2034,SC2119 # status, log and others come from the sourced files
. "$(dirname "$0")/lib.sh"
t_dir
. "$D2K_ROOT/tests/agent.sh"

# told N: the answer to call N, counted from 1, as plain text
told() { jq -s -j "[.[] | select(.event == \"result\").text][$1 - 1]" "$log"; }

# Arguments
jq -cn '[["{bad", "null", "[]", "\"x\"", "", "5", "{}", "{\"path\":1}", "{\"path\":null}", "{\"path\":\"a\",\"path\":\"b\"}",
	"{\"path\":\"x\"} {}", "{\"path\":\"x\",\"paht\":\"y\"}", "{\"path\":\"task.md\",\"lines\":\"2\"}",
	"{\"path\":\"task.md\",\"lines\":0}", "{\"path\":\"task.md\",\"lines\":1e30}", "{\"path\":\"\\u0000\"}",
	"{\"path\":\"\\ud800\"}", "{\"path\":\"\"}"][] | {name: "read", arguments: .}] | {calls: (. + [
	{name: "raed", arguments: {}}, {name: "", arguments: {}}, {arguments: {}}, {name: "check\nsubmit", arguments: {}},
	{name: "edit", arguments: {path: "task.md", old: "", new: "x"}},
	{name: "edit", arguments: {path: "task.md", old: "x", new: "y", all: "yes"}}])},
	{calls: [range(40) | {name: "list", id: "same"}]}, {calls: [{name: "submit"}]}' >scripts/hostile
play hostile
exits 0 'hostile arguments'
is "$(field '.status')/$(field .turns)" script_end/3 'the run ends in order'
is "$(jq -s '[.[] | select(.event == "result" and .turn == 0)] | length, (map(select(.ok)) | length)' "$log" | xargs)" '24 0' \
	'each is answered with an error'
like "$(told 1)" 'error: the arguments are no valid JSON .*cut off' 'bad JSON'
like "$(told 2)$(told 3)$(told 4)$(told 6)" '(error: the arguments must be one JSON object with: path, first_line, lines){4}' 'no object'
like "$(told 5)" 'error: the arguments are no valid JSON' 'nothing at all'
like "$(told 7)" "argument 'path' is missing" 'a missing one'
like "$(told 8)$(told 9)" "('path' must be a string.*){2}" 'a wrong type'
like "$(told 12)" "unknown argument 'paht'; this tool takes: path, first_line, lines" 'an unknown one'
like "$(told 13)$(told 14)$(told 15)" "('lines' must be a whole number from 1.*){3}" 'wrong numbers'
like "$(told 19)" "there is no tool 'raed'; the tools are: read, write, edit, list, shell, check, profile, submit" 'an unknown tool'
is "$(jq -s '[.[] | select(.event == "result" and .turn == 1)] | length, (map(.id) | unique | length), (map(select(.ok)) | length)' \
	"$log" | xargs)" '40 40 32' 'forty calls of one id: all answered by ids of their own, 32 run'
is "$(jq -s 'all(.[] | select(.event == "reply").message.tool_calls[]?; (.function.arguments | fromjson | type == "object")
	and (.function.name | length > 0))' "$log")" true 'the history holds objects only'
like "$(told 65)" "error: cannot read 'submission.py'" 'nothing to submit'

# Files
jq -cn '{calls: [
	{name: "write", arguments: {path: "a/b.txt", content: "one\ntwo\nthree\n"}},
	{name: "read", arguments: {path: "/agent/a/b.txt", first_line: 2, lines: 1}},
	{name: "read", arguments: {path: "a/b.txt", first_line: 9}},
	{name: "list", arguments: {path: "a"}},
	{name: "read", arguments: {path: "../transcript.jsonl"}},
	{name: "write", arguments: {path: "/etc/d2k", content: "x"}},
	{name: "shell", arguments: {command: "ln -s /etc/passwd p; ln -s .. up; ln -sf /etc/passwd submission.py; mkfifo f; head -c 200000 /dev/zero | tr \"\\0\" x >big; printf \"a\\377b\" >raw"}},
	{name: "read", arguments: {path: "p"}},
	{name: "read", arguments: {path: "up/transcript.jsonl"}},
	{name: "write", arguments: {path: "up/lock2", content: "x"}},
	{name: "read", arguments: {path: "f"}},
	{name: "check"},
	{name: "submit"},
	{name: "read", arguments: {path: "big"}},
	{name: "read", arguments: {path: "raw"}},
	{name: "write", arguments: {path: "submission.py", content: "mine"}},
	{name: "submit", arguments: {path: "raw"}},
	{name: "submit", arguments: {path: "submission.py"}}]}' >scripts/files
play files
is "$(field .status)/$(field .submission)" submitted/mine 'a run about files'
is "$(told 2)" two 'a line of a file'
like "$(told 3)" 'error: the file has only 3 lines' 'past its end'
is "$(told 4)" $'b.txt  14 bytes' 'a listing'
like "$(told 5)$(told 6)" "(cannot (read|write) '[^']*': it is outside the workspace.*){2}" 'outside'
like "$(told 8)$(told 9)$(told 10)$(told 12)$(told 13)" '(links are not followed.*){5}' 'links that a command made'
like "$(told 11)" 'no regular file' 'a FIFO'
is "$(told 14 | wc -c)/$(told 14 | sed -n 2p)" "$((32768 + 43))/[... 167232 of 200000 bytes left out ...]" 'a long file is shown in part'
is "$(told 15)" $'a\ufffdb' 'bytes that are no UTF-8'
like "$(told 17)" "'raw' is not UTF-8 text" 'are no submission'
ok test ! -e /etc/d2k -a ! -e "$(dirname "$log")/lock2" -- 'nothing was written outside'

# Shell: what it sees. A server listens on this machine, out of its reach.
: >replies
serve
port=$(<port)
export TEST_SECRET=sekret-in-environment
sh() { jq -cn --arg c "$1" --argjson t "${2:-20}" '{calls: [{name: "shell", arguments: {command: $c, timeout: $t}}]}'; }
{
	sh 'env | cut -d= -f1 | sort | xargs'
	sh 'pwd; ls -a; id -u >/dev/null && echo hello >&2; exit 3'
	sh 'cat /proc/*/environ 2>/dev/null | tr "\0" "\n" | grep -c "sekre[t]"'
	sh "ls '$tests' '$root' '$T_SCRATCH' '$(dirname "$D2K_PYTHON")/../../tools' '$(dirname "$D2K_PYTHON")/../../tasks' 2>&1 | grep -c 'No such'"
	sh 'for host in 127.0.0.1 1.1.1.1; do timeout 5 bash -c "exec 3<>/dev/tcp/$host/'"$port"'" 2>/dev/null && echo reached; done; grep -c : /proc/net/dev'
	sh 'python3 -c "import triton, numpy, ml_dtypes; print(triton.__version__)"'
	sh 'echo x 2>/dev/null >/usr/d2k || echo read-only; touch "$(dirname "$(command -v python3)")/d2k" 2>/dev/null || echo read-only'
	sh 'sleep 100 & echo $! >pid; setsid sleep 100 & disown; echo started'
	sh 'sleep 100' 1
	sh 'kill -9 $$'
	sh 'yes ä | head -c 99999'
	sh 'head -c 20000000 /dev/zero'
	sh 'tail -c 9 .output/shell-1.txt'
	sh 'python3 -c "x = bytearray(64 << 30)" 2>&1 | tail -n 1'
	sh 'for i in {1..2000}; do sleep 5 & done 2>&1 | grep -c -i "resource\|retry" | head -c 1' 10
	sh 'dd if=/dev/zero of=large bs=1M count=1000 2>/dev/null; ls -l large | cut -d" " -f5'
	sh 'echo "unfinished'
	sh $'printf "\\033[31mred\\0"'
	sh 'chmod 0 .'
	sh 'echo inside'
} >scripts/shell
play shell without 60
unserve
is "$(field .status)" script_end 'a run about the shell'
unlike "$(cat "$log")" 'sekret' 'no variable of the environment anywhere'
unlike "$(told 1)" 'TEST|D2K|KEY' 'none of ours in its environment'
is "$(told 2 | xargs)" 'exit code 3 /agent . .. task.md workloads.jsonl hello' 'it starts in the workspace, both streams together'
is "$(told 3 | tail -n 1)" 0 'nor in any process it can see'
is "$(told 4 | tail -n 1)" 5 'nothing of the project is there'
is "$(told 5 | xargs)" 'exit code 0 1' 'no network but a loopback of its own'
is "$(told 6 | tail -n 1)" "$("$D2K_PYTHON" -c 'import importlib.metadata as m; print(m.version("triton"))')" 'Triton is there'
is "$(told 7 | tail -n +2 | xargs)" 'read-only read-only' 'the system is read-only'
like "$(told 8)" $'exit code 0\nstarted' 'a command with programs in the background returns'
is "$(jq -s '[.[] | select(.event == "result").elapsed] | .[7] - .[6] < 5' "$log")" true 'at once'
like "$(told 9)" '^stopped after 1 seconds' 'time'
like "$(told 10)" '^(killed by signal 9|exit code 137)' 'a signal'
is "$(told 11 | grep -c '^.*bytes left out')/$(told 11 | tail -n 1)" '1/[the whole output is in .output/shell-1.txt]' 'a long output is clipped and kept'
like "$(told 12)" 'printed more than 8 MiB; the rest was dropped' 'a longer one is dropped'
is "$(told 13 | tail -n +2 | tr -d '\n')" 'äää' 'the file has the rest'
like "$(told 14)" 'MemoryError' 'memory'
like "$(told 15)" $'\n[1-9]' 'processes'
ok test "$(told 16 | tail -n 1)" -le 268435456 -- 'file size'
like "$(told 17)" 'exit code [12]' 'a command that is cut off'
is "$(told 18)" $'exit code 0\n\e[31mred\ufffd' 'control bytes'
is "$(told 20)" $'exit code 0\ninside' 'the folder of a model that locked itself out'
sleep 0.2
is "$(pgrep -fc '^sleep 100$')" 0 'no program is left behind'
t_done
