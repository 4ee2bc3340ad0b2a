#!/usr/bin/env python3
"""Rewrites the parts of python/tessera/*.pyi that follow from the table of operations. PYTHONPATH names a built package.

Such a part begins with "# made by python/tools/stubs.py: WHAT" and ends with "# end"; WHAT is a module, "dtypes" or "names".
"""
import inspect
import pathlib
import re
import sys

from tessera import _dtypes, _names

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tessera"
PART = re.compile(r"(^# made by python/tools/stubs\.py: (\w+)\n).*?(^# end$)", re.MULTILINE | re.DOTALL)
TABLES = {"tile": _names.TILE, "op": _names.OP, "group": _names.GROUP, "dist": _names.DIST}


def function(name, of):
    """The declaration of one function. What it takes and gives is arrays of any library, numbers, or in a kernel neither."""
    words = []
    for parameter in inspect.signature(of).parameters.values():
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}".replace("'", '"')
        words.append(f"{star}{parameter.name}: _Any{default}")
    return f"def {name}({', '.join(words)}) -> _Any: ...\n"


def dtypes():
    return "".join(f"{name}: _Final[_DType]\n" for name in sorted(_dtypes._ALL))


def names(taken):
    """ts.NAME of the functions of ts.op and ts.tile, but for names that the package has already."""
    lines = []
    for module, table in (("op", _names.OP), ("tile", {k: v for k, v in _names.TILE.items() if k not in _names.OP})):
        found = sorted(name for name in table if name not in taken)
        lines.append(f"from tessera.{module} import (\n" + "".join(f"    {name} as {name},\n" for name in found) + ")\n")
    return "".join(lines)


def rewritten(text):
    def part(match):
        what = match[2]
        if what == "dtypes":
            body = dtypes()
        elif what == "names":
            outside = PART.sub("", text)
            body = names(set(re.findall(r"(?:^def |^class | as )(\w+)", outside, re.MULTILINE)))
        else:
            body = "".join(function(name, of) for name, of in sorted(TABLES[what].items()))
        return match[1] + body + match[3]

    return PART.sub(part, text)


def main():
    wrong = False
    for file in sorted(FOLDER.glob("*.pyi")):
        before = file.read_text()
        after = rewritten(before)
        if after == before:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{file.name} is not what the table of operations gives: run python/tools/stubs.py", file=sys.stderr)
            wrong = True
        else:
            file.write_text(after)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
