"""What the PTX of a kernel may hold besides arithmetic: a gate, and a tidying.

Triton writes one entry whose memory is its arguments and one block of shared memory. Inline assembly can write anything
else into that text: variables that outlive a launch, other entries, timers. A kernel that remembers, or that can tell
one run from another, has no honest use here. The gate reads the whole text, as ptxas does, so that nothing need be known
of where inline assembly begins and ends. It is a courtesy with a line number, no wall: what a cubin holds is looked at
again before it runs.
"""
import re

# read-only tables of libdevice; they lie in .global, too
TABLES = {"__cudart_i2opi_f": 24, "__cudart_i2opi_d": 144, "__cudart_sin_cos_coeffs": 128}  # bytes
_REFLECT = re.compile(r"^\.global \.align 1 \.b8 (_\$_str(?:_\$_\d+)?)\[\d+\] = \{[^}]*\};\n", re.M)
_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
_DECLARATION = re.compile(r"(?<![\w.%$])(?<!\.ptr )\.(global|const|shared|local)\b(?:\s*\.(?:align\s+\d+|\w+))*"
                          r"\s*([\w$]*)\s*(?:\[(\d+)\])?")
_EXTERN = re.compile(r"\.extern\s+\.func\b[^;{}]*?([\w$]+)\s*\((?=[^;{}()]*\)[^;{}()]*;)")
_ENTRY = re.compile(r"(?<![\w$%])\.entry\s+[\w$]+\s*(?:\(([^)]*)\))?")
_CLOCK = re.compile(r"%(?:clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|pm\d\w*|gridid|envreg\d+)(?![\w$])")


class Refused(Exception):
    """What is out of place, in words that follow the kernel's name, and in which line of the PTX."""

    def __init__(self, message, ptx, line):
        super().__init__(message)
        self.ptx, self.line = ptx, line


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _outside(text):
    """The text with everything in braces blanked."""
    out, depth = [], 0
    for part in re.split(r"([{}])", text):
        depth -= part == "}"
        out.append(_blank(part) if depth > 0 else part)
        depth += part == "{"
    return "".join(out)


def _declared(text, outside):
    """Complaints about variables that are not Triton's own."""
    for m in _DECLARATION.finditer(text):
        space, name, size, inside = m[1], m[2], int(m[3] or 0), outside[m.start()] == " "
        if space == "shared" and name == "global_smem" and not inside:
            continue
        if space == "local" and name.startswith("__local_depot") and inside:
            continue
        if space == "global" and name in TABLES and size == TABLES[name] and not inside:
            continue
        kind = {"shared": "shared memory", "local": "local memory"}.get(space, "static device memory")
        yield m.start(), f"declares {kind} of its own; scratch comes from d2k.empty and d2k.zeros"


def _scratch(text, used):
    """Complaints about the two hidden parameters, which only Triton's own code reads, where it asked for such memory."""
    entry = _ENTRY.search(text)
    names = re.findall(r"([\w$]+)\s*(?:,|$)", entry[1].strip()) if entry and entry[1] else []
    for name, wanted in zip(names[-2:], used):
        for m in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text[entry.end():] if not wanted else ""):
            yield entry.end() + m.start(), "reads a parameter that is not among its arguments"


def _complaints(text, used):
    yield from _declared(text, _outside(text))
    yield from _scratch(text, used)
    for m in re.finditer(r"^[ \t]*#|\\", text, re.M):
        yield m.start(), "has a preprocessor's line in its assembly"
    for m in _EXTERN.finditer(text):
        if m[1] in ("vprintf", "__assertfail"):
            yield m.start(), "prints or asserts on the device, which a kernel to be timed cannot: take device_print out"
        else:
            yield m.start(), f"calls '{m[1]}', which lies outside of it"
    for m in list(_ENTRY.finditer(text))[1:]:
        yield m.start(), "has a second entry in its assembly"
    for m in _CLOCK.finditer(text):
        yield m.start(), (f"reads {m[0]}; what a kernel does may depend on its arguments only, "
                          "not on when or how often it runs")


def check(ptx, used):
    """Raises Refused for the first thing that is out of place. used: bytes of global scratch and of profile scratch."""
    text = _SKIPPED.sub(lambda m: _blank(m[0]), ptx)
    for place, message in sorted(_complaints(text, used))[:1]:
        raise Refused(message, ptx, ptx.count("\n", 0, place) + 1)


def tidy(ptx):
    """Without the strings by which libdevice once asked for settings: nothing refers to them any more, yet each would
    be static device memory in the cubin."""

    def unless_used(m):
        return m[0] if len(re.findall(re.escape(m[1]) + r"(?![\w$])", ptx)) > 1 else ""

    return _REFLECT.sub(unless_used, ptx)
