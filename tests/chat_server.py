#!/usr/bin/env python3
"""A small chat-completions server for tests, standard library only.

    chat_server.py [--by-turn] SCRIPT LOG PORTFILE

Listens on a free port of 127.0.0.1, writes its number to PORTFILE, answers request number n with line n of SCRIPT, and
appends every request to LOG as one JSON line: {"path", "headers", "body"}. A line of SCRIPT is a JSON object:

    {"content": "words" or null, "calls": [["name", ARGUMENTS], ...], "finish": "stop", "usage": {...}}
        a reply; ARGUMENTS may be an object (sent as its JSON text) or a string (sent as it is); a third element of a
        call is its id (null: no id member); "message" adds members to the message
    {"status": 429, "headers": {...}, "body": ANY}      any answer; a string body is sent as it is
    {"drop": true}                                      closes the connection without an answer
    {"cut": N, ...}                                     any of the above, but only N bytes of the body are sent
    {"delay": SECONDS, ...}                             any of the above, late

With --by-turn the line is chosen by the number of assistant messages in the request. After the last line every request is answered 400 "script at its end".
"""
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def tool_call(number, call):
    name, arguments = call[0], call[1]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    made = {"type": "function", "function": {"name": name, "arguments": text}}
    call_id = call[2] if len(call) > 2 else f"call_{number}"
    if call_id is not None:
        made["id"] = call_id
    return made


def reply_body(line):
    message = {"role": "assistant", **line.get("message", {})}
    if "content" in line:
        message["content"] = line["content"]
    calls = [tool_call(i, c) for i, c in enumerate(line.get("calls", []))]
    if calls:
        message["tool_calls"] = calls
    finish = line.get("finish", "tool_calls" if calls else "stop")
    body = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": finish, "message": message}]}
    if "usage" in line:
        body["usage"] = line["usage"]
    return body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            body = json.loads(data)
        except ValueError:
            body = {"not JSON": data.decode(errors="replace")}
        entry = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        with open(self.server.log, "a") as f:
            f.write(json.dumps(entry) + "\n")
        n, self.server.served = self.server.served, self.server.served + 1
        if self.server.by_turn:
            n = sum(m["role"] == "assistant" for m in body["messages"])
        script = self.server.script
        end = {"status": 400, "body": {"error": {"message": "script at its end"}}}
        self.answer(script[n] if n < len(script) else end)

    def answer(self, line):
        time.sleep(line.get("delay", 0))
        if line.get("drop"):
            self.close_connection = True
            return
        status = line.get("status", 200)
        body = line["body"] if "body" in line else reply_body(line)
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in line.get("headers", {}).items():
            self.send_header(name, value)
        self.end_headers()
        if "cut" in line:
            data = data[: line["cut"]]
            self.close_connection = True
        self.wfile.write(data)


def main():
    by_turn = sys.argv[1] == "--by-turn"
    script, log, portfile = sys.argv[1 + by_turn :]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(script) as f:
        server.script = [json.loads(line) for line in f if line.strip()]
    server.log, server.served, server.by_turn = log, 0, by_turn
    with open(portfile + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(portfile + ".new", portfile)
    server.serve_forever()


main()
