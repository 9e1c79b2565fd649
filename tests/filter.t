#!/bin/bash
# The loop every filter shares, tried through d2k-null: what passes is not touched, what is no record is reported and
# dropped, every line is out before the next is waited for, and no failure of a pipe or disk is silent.
. "$(dirname "$0")/lib.sh"
t_dir
PATH=$D2K_BUILD/tests:$PATH

# --- pass-through, byte for byte
cat >awkward <<'END'
{}
{"null":0}
{"b":1,"a":2,"null":{"z":1,"y":2}}
{"x":0.30000000000000004,"y":1e400,"z":-1E+400,"n":9223372036854775808,"m":-0,"pi":3.14159265358979323846264,"null":1}
{"nul":"\u0000","lone":"\ud83d","low":"\udc00x","pair":"\ud83d\ude00","s":"\/","cap":"\u00E9\u00e9","null":1}
 	{ "odd" :  [ 1 ,2,   3 ]	, "null":{ } }  
{"é":"漢字😀","":"","null":null,"DEL":""}
{"null":[[[[[[[[[[[[]]]]]]]]]]]],"key with spaces and \"quotes\"":true}
END
printf '{"crlf":1,"null":2}\r\n' >>awkward
sed '/null/!d' awkward >finished
run d2k-null <finished
exits 0 'finished records'
same out finished 'pass through byte for byte'
is "$(<err)" '' 'without a word'

run d2k-null --value '"new"' <awkward
exits 0 'a record without the section'
{ echo '{"null":"new"}'; cat finished; } >wanted
same out wanted 'gets it, the others stay'

sed 's/"null":.*$//' finished | awk 'NF { print $0 "\"last\":[1, 2 ]}" }' | grep -v '^{"last' >bare
run d2k-null --value '{"status":"ok"}' <bare
sed 's/}$/,"null":{"status":"ok"}}/' bare >wanted
same out wanted 'the section goes last, all before it is as it was'

run d2k-null --redo --value 7 <finished
exits 0 'redo'
{
	echo '{"null":7}'
	echo '{"b":1,"a":2,"null":7}'
	echo '{"x":0.30000000000000004,"y":1e400,"z":-1E+400,"n":9223372036854775808,"m":-0,"pi":3.14159265358979323846264,"null":7}'
	echo '{"nul":"\u0000","lone":"\ud83d","low":"\udc00x","pair":"\ud83d\ude00","s":"\/","cap":"\u00E9\u00e9","null":7}'
	echo ' 	{ "odd" :  [ 1 ,2,   3 ]	, "null":7 }  '
	echo '{"é":"漢字😀","":"","null":7,"DEL":""}'
	echo '{"null":7,"key with spaces and \"quotes\"":true}'
	printf '{"crlf":1,"null":7}\r\n'
} >wanted
same out wanted 'replaces just that section, where it stands'

# --- lines that are no record
{
	echo '{"id":"first"}'
	echo '[1]'
	echo '{"a":{"b":[{"c":1,"d":2,"c":3}]}}'
	printf '{"a":"\0"}\n'
	printf '{"a":"\xff"}\n'
	printf '{"a":%s1%s}\n' "$(printf '%0300d' 0 | tr 0 '[')" "$(printf '%0300d' 0 | tr 0 ']')"
	echo
	echo '{"a":1'
	echo '{"a":1} {"b":2}'
	echo '{"id":1,"i\u0064":2}'
	echo '{"id":"last"}'
} >bad
run d2k-null <bad
exits 1 'bad lines'
printf '%s\n' '{"id":"first","null":1}' '{"id":"last","null":2}' >wanted
same out wanted 'are dropped, the stream goes on'
cat >wanted <<'END'
d2k-null: <stdin>:2: not a JSON object at byte 1
d2k-null: <stdin>:3: duplicate key 'c' at byte 26
d2k-null: <stdin>:4: raw NUL at byte 7
d2k-null: <stdin>:5: invalid UTF-8 at byte 7
d2k-null: <stdin>:6: nested deeper than 200 levels at byte 205
d2k-null: <stdin>:7: not a JSON object at byte 1
d2k-null: <stdin>:8: text ends early at byte 7
d2k-null: <stdin>:9: text after the end at byte 9
d2k-null: <stdin>:10: duplicate key 'id' at byte 10
END
same err wanted 'each is reported with its line and the reason'

big() { # BYTES: a record in one line of so many bytes
	printf '{"a":"'
	head -c $(($1 - 17)) /dev/zero | tr '\0' x
	printf '","null":1}\n'
}
limit=$((64 << 20))
{
	echo '{"null":1}'
	for n in $((limit - 1)) $limit $((limit + 3000000)); do big "$n"; done
	echo '{"null":2}'
	big $limit | tr -d '\n'
} >long
run d2k-null <long
exits 1 'long lines'
{ echo '{"null":1}'; big $((limit - 1)); echo '{"null":2}'; } >wanted
same out wanted 'one byte below 64 MiB passes, from there on lines are dropped'
is "$(<err)" 'd2k-null: <stdin>:3: line of 64 MiB or longer
d2k-null: <stdin>:4: line of 64 MiB or longer
d2k-null: <stdin>:6: line of 64 MiB or longer' 'and reported'
big $((limit - 1)) | sed 's/"null"/"none"/' >almost
run d2k-null <almost
exits 1 'a line that its section would make too long'
same out almost 'is passed on without it'
like "$(<err)" "^d2k-null: <stdin>:1: with its section 'null' the line has 64 MiB or more$" 'and reported'
rm -f long almost wanted

# --- where input begins and ends
run d2k-null </dev/null
exits 0 'empty input'
is "$(wc -c <out)" 0 'empty output'
printf '{"id":"a"}\n{"id":"b"}' >unended
run d2k-null <unended
exits 0 'a last line without a newline'
printf '{"id":"a","null":1}\n{"id":"b","null":2}\n' >wanted
same out wanted 'is a line all the same'
echo '[]' >two
cp unended unended2
run d2k-null unended - two none <unended2
exits 1 'several files'
is "$(jq -r '.id + (.null | tostring)' out | tr '\n' ' ')" 'a1 b2 a3 b4 ' 'are read in turn, "-" is stdin'
is "$(<err)" "d2k-null: two:1: not a JSON object at byte 1
d2k-null: cannot open 'none': No such file or directory" 'messages name the file and its own line number'
run d2k-null .
exits 1 'a folder for a file'
like "$(<err)" "cannot read '\\.': Is a directory" 'is an error'

# --- what process() may answer
printf '{"id":"%s"}\n' a b c d >abcd
for result in pass bad again stop; do
	run d2k-null --id b --result $result <abcd
	case $result in pass) exits 0 "$result" ;; bad) exits 1 "$result" ;; *) exits 75 "$result" ;; esac
	[ $result = stop ] && n='1nnn' || n='1n34'
	is "$(jq -r '.null // "n"' out | tr -d '\n')" "$n" "$result: which records have the section"
done
{ cat abcd; echo x; } >abcdx
run d2k-null --result again <abcdx
exits 75 'to try again outweighs a bad line'
run d2k-null --value '{"a":1' <abcd
exits 1 'a section that is no JSON'
same out abcd 'is not let out'
like "$(<err)" "^d2k-null: <stdin>:1: section 'null' is unusable: " 'and reported'
run d2k-null --value '{"a":
 1}' <abcd
exits 0 'a section over two lines'
is "$(wc -l <out)" 4 'is put on one'
run d2k-null --section $'a"b' <abcd
exits 1 'a section whose name breaks the line'
same out abcd 'is not let out either'

# --- a line at a time
mkfifo to from
d2k-null <to >from 2>err &
pid=$!
exec 5>to 6<from
for i in 1 2 3; do
	echo "{\"id\":\"$i\"}" >&5
	read -r -t 10 line <&6 || line='nothing within ten seconds'
	is "$line" "{\"id\":\"$i\",\"null\":$i}" "line $i is out before the next is sent"
done
printf '{"null":1}\n{"null":2}\n{"nu' >&5
read -r -t 10 line <&6 && read -r -t 10 line <&6
is "$line" '{"null":2}' 'lines that pass do not wait for the half line after them'
echo 'll":3}' >&5
read -r -t 10 line <&6
is "$line" '{"null":3}' 'nor does that'
exec 5>&-
wait $pid
is $? 0 'the end of input is the end'
exec 6<&-
d2k-null --wait 5 <to >from 2>err &
pid=$!
exec 5>to 6<from
printf '{"null":1}\n{"id":"slow"}\n' >&5
read -r -t 3 line <&6 || line='nothing within three seconds'
is "$line" '{"null":1}' 'a finished line is out before the next is thought about'
kill -9 $pid
wait $pid 2>/dev/null
exec 5>&- 6<&-

# --- interrupts
d2k-null <to >from 2>err &
pid=$!
exec 5>to 6<from
echo '{"id":"a"}' >&5
read -r -t 10 line <&6
is "$line" '{"id":"a","null":1}' 'waiting for input'
kill -INT $pid
kill -TERM $pid
echo '{"id":"b"}' >&5
read -r -t 10 line <&6
is "$line" '{"id":"b"}' 'an interrupt (also if it is signalled twice): what still comes passes as it is'
exec 5>&-
wait $pid
is $? 75 'and the exit status says that it is not done'
exec 6<&-
d2k-null <to >from 2>err &
pid=$!
exec 5>to 6<from
echo '{"null":0}' >&5
read -r -t 10 line <&6
kill -TERM $pid
sleep 1.2
kill -TERM $pid
wait $pid
is $? 143 'one more, a second later, ends it although its input does not end'
exec 5>&- 6<&-
if command -v script >/dev/null; then
	script -qec "d2k-null" /dev/null <to >out 2>&1 &
	exec 5>to
	sleep 0.5
	printf '\003' >&5
	status=0
	wait $! || status=$?
	is $status 75 'an interrupt from the keyboard ends a program that waits for the keyboard'
	exec 5>&-
else
	skip 'no script(1)' 'an interrupt from the keyboard'
fi

# --- cut and resumed
{ echo '{"id":"é😀","n":1e400}'; sed -n '3p;5p' awkward; echo '{"id":"\ud83d"}'; echo '{"null":{"a":"{}"}}'; } >input
section='{"status":"ok"}'
run d2k-null --value "$section" <input
cp out whole
mapfile -t lines <input
size=$(stat -c %s input)
prefix=0 resumed=0 reported=0
for ((cut = 0; cut <= size; cut++)); do
	head -c "$cut" input >short
	run d2k-null --value "$section" short
	done=$(wc -l <out)
	head -n "$done" whole | cmp -s - out && prefix=$((prefix + 1))
	# the last line is an error, unless it was cut off whole: just before or just after its newline
	mapfile -t cut_lines <short
	n=${#cut_lines[@]}
	[ "$n" = 0 ] || [ "${cut_lines[n - 1]}" = "${lines[n - 1]}" ]
	[ $? = "$status" ] && reported=$((reported + 1))
	# resumed: what came out, then the input that it does not stand for
	{ cat out; tail -n +$((done + 1)) input; } >rest
	run d2k-null --value "$section" rest
	cmp -s out whole && resumed=$((resumed + 1))
done
is "$prefix" "$((size + 1))" 'cut at every byte, what comes out is a beginning of the whole, in whole lines'
is "$reported" "$((size + 1))" 'a line cut short is an error, a cut between lines is none'
is "$resumed" "$((size + 1))" 'resumed, the result is that of an uncut run'

# --- output that fails
if [ -e /dev/full ]; then
	status=0
	d2k-null <abcd >/dev/full 2>err || status=$?
	exits 1 'a full disk'
	is "$(<err)" 'd2k-null: cannot write to stdout: No space left on device' 'is reported'
	status=0
	d2k-null <finished >/dev/full 2>err || status=$?
	exits 1 'a full disk while records pass'
	status=0
	d2k-null --help >/dev/full 2>err || status=$?
	exits 1 'a full disk while help is shown'
fi
status=0
d2k-null <abcd >&- 2>err || status=$?
exits 1 'a closed stdout'
is "$(<err)" 'd2k-null: cannot write to stdout: Bad file descriptor' 'is reported'
status=0
d2k-null <&- >out 2>err || status=$?
exits 1 'a closed stdin'
is "$(<err)" "d2k-null: cannot read '<stdin>': Bad file descriptor" 'is reported'
mkfifo broken
{ exec 3<broken; exec 3<&-; } &
for ((i = 0; i < 20000; i++)); do echo '{"null":"0123456789012345678901234567890123456789"}'; done >many
status=0
d2k-null <many >broken 2>err || status=$?
exits 1 'a reader that goes away'
is "$(<err)" 'd2k-null: cannot write to stdout: Broken pipe' 'is an error, not a death by signal'

# --- messages cannot drive a terminal
printf '{"\e[31m\xc2\x9b":1,"\e[31m\xc2\x9b":2}\n{"a":1,"a":2}x\n' >evil
run d2k-null <evil
is "$(tr -d '[:print:]\n' <err | wc -c)" 0 'control bytes from outside do not reach the terminal'
echo 'x' >$'evil\e[31mname'
run d2k-null $'evil\e[31mname'
is "$(<err)" 'd2k-null: evil?[31mname:1: not a JSON object at byte 1' 'nor those in the name of a file'
t_done
