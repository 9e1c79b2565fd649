#!/bin/bash
# What d2k-judge takes out of a source, against Python's own parser: the syntax tree of what is left is that of the
# original without its string statements, line by line. The files are Triton's and a part of the standard library.
. "$(dirname "$0")/lib.sh"
python=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3}
[ -x "$python" ] || skip_all "no Python environment (tools/setup makes it)"
t_dir

cat >compare.py <<'END'
"""Strips files with the program named first and compares syntax trees. Prints the number of files, then the faults."""
import ast
import io
import os
import subprocess
import sys
import tokenize
import warnings

warnings.simplefilter("ignore")
KEYWORDS = (ast.Name, ast.IfExp, ast.BoolOp, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.comprehension)


def is_string_statement(node):
    """A statement with a string and no name in it, by the tree."""
    if not isinstance(node, ast.Expr):
        return False
    string = False
    for n in ast.walk(node.value):
        if isinstance(n, KEYWORDS) or isinstance(getattr(n, "op", None), ast.Not):
            return False
        if isinstance(n, ast.Compare) and any(isinstance(o, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for o in n.ops):
            return False
        if isinstance(n, ast.Constant):
            if n.value is None or isinstance(n.value, bool):
                return False
            string = string or isinstance(n.value, (str, bytes))
        string = string or isinstance(n, ast.JoinedStr)
    return string


def shape(tree):
    """The tree as text, with the lines of its statements, without string statements and pass."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, [s for s in body if not is_string_statement(s) and not isinstance(s, ast.Pass)])
    lines = [(type(n).__name__, n.lineno) for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    return ast.dump(tree), lines


def fault(source, stripped):
    if stripped.count("\n") != source.count("\n"):
        return "another number of lines"
    tree = ast.parse(stripped)
    if any(is_string_statement(n) for n in ast.walk(tree)):
        return "a string statement is left"
    if any(t.type == tokenize.COMMENT for t in tokenize.generate_tokens(io.StringIO(stripped).readline)):
        return "a comment is left"
    return None if shape(ast.parse(source)) == shape(tree) else "another program"


def readable(path):
    try:
        with open(path, encoding="utf-8", newline=None) as f:
            text = f.read()
        ast.parse(text)
        return text
    except (SyntaxError, ValueError):
        return None


def python_files(folders):
    for folder in folders:
        for at, below, names in os.walk(folder):
            below[:] = sorted(d for d in below if d not in ("test", "tests", "site-packages", "idlelib"))
            yield from (os.path.join(at, n) for n in sorted(names) if n.endswith(".py"))


program, limit, folders = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
sources = {}
for path in python_files(folders):
    text = readable(path)
    if text is not None and len(sources) < limit:
        sources[path] = text
out = subprocess.run([program, *sources], stdout=subprocess.PIPE, check=True).stdout
blocks, faults = io.BytesIO(out), []
for path, text in sources.items():
    name, length = blocks.readline().decode().rstrip("\n"), int(blocks.readline())
    what = "another file" if name != path else fault(text, blocks.read(length).decode())
    if what:
        faults.append(f"{path}: {what}")
print(len(sources))
print("\n".join(faults), end="")
END
library=$("$python" -c 'import os; print(os.path.dirname(os.__file__))')
triton=$("$python" -c 'import importlib.util as u; print(*u.find_spec("triton").submodule_search_locations)')
run "$python" compare.py "$D2K_BUILD/tests/d2k-strip" "${D2K_STRIP_FILES:-150}" "$triton" "$library"
exits 0 "every file can be split into tokens"
ok test "$(head -n 1 out)" -ge 100 -- "at least 100 files"
is "$(tail -n +2 out)" "" "what is left is the same program on the same lines, without comments and string statements"

t_done
