#!/usr/bin/env python3
"""seed.py FAMILY SEED [RUNNER]: prints the random program of one seed (FAMILY is kernel_statements or graph_statements).
With RUNNER, the path of kernel-conformance, runs it, and if it fails prints a small program that fails in the same way."""
import ast
import importlib
import re
import subprocess
import sys
import tempfile
import warnings

from cases import Writer


def failures(family, drawn, texts, runner):
    """By index of those texts that the reference accepts and that fail: how, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(folder)
        for i, text in enumerate(texts):
            try:
                p = family.case(text, [drawn], [family.evaluate(text, drawn)])
            except Exception:  # an edited program may be anything
                continue
            p.name = f"edit/{i}"
            writer.add(p)
        writer.finish()
        out = subprocess.run([runner, folder], capture_output=True, text=True).stdout if writer.programs else ""
    found = {}
    for block in re.split(r"^FAIL edit/", out, flags=re.M)[1:]:
        index, report = block.split("\n", 1)
        kind = re.search(r"E_[A-Z_]+|crashed|differ|[A-Za-z_ ]{8,}", report)
        found[int(index)] = (kind.group() if kind else "", report.split("\n\n")[0])
    return found


def edits(text):
    """The text with one statement or one operation less, in every way."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for at in range(len(nodes)):
        tree = ast.parse(text)
        node = list(ast.walk(tree))[at]
        for field, old in ast.iter_fields(node):
            if isinstance(old, list) and old and isinstance(old[0], ast.stmt):
                for i, s in enumerate(old):
                    for new in [[], *([s.body, s.orelse] if isinstance(s, ast.If) else [s.body] if isinstance(s, (ast.For, ast.While)) else [])]:
                        setattr(node, field, (old[:i] + new + old[i + 1:]) or [ast.Pass()])
                        yield ast.unparse(tree)
                setattr(node, field, old)
            elif isinstance(old, (ast.BinOp, ast.UnaryOp, ast.Call, ast.IfExp, ast.Compare, ast.BoolOp, ast.Subscript)):
                for new in ast.iter_child_nodes(old):
                    if isinstance(new, ast.expr):
                        setattr(node, field, new)
                        yield ast.unparse(tree)
                setattr(node, field, old)
            elif isinstance(old, list) and old and isinstance(old[0], ast.expr) and isinstance(node, (ast.Call, ast.Tuple)):
                for i, e in enumerate(old):
                    for new in ast.iter_child_nodes(e):
                        if isinstance(new, ast.expr):
                            setattr(node, field, old[:i] + [new] + old[i + 1:])
                            yield ast.unparse(tree)
                setattr(node, field, old)


def shrink(family, drawn, text, kind, runner):
    while True:
        texts = sorted({t for t in edits(text) if len(t) < len(text)}, key=len)
        for start in range(0, len(texts), 100):
            found = failures(family, drawn, texts[start:start + 100], runner)
            same = [i for i, (k, _) in found.items() if k == kind]
            if same:
                text = texts[start + min(same)]
                break
        else:
            return text


def main():
    name, seed, *runner = sys.argv[1:]
    warnings.simplefilter("ignore")
    family = importlib.import_module(name)
    drawn, _ = family.build(int(seed))
    text = family.source([drawn])
    print(text)
    if not runner:
        return 0
    found = failures(family, drawn, [text], runner[0])
    if not found:
        print("passed")
        return 0
    kind, report = found[0]
    print(f"failed ({kind}):\n{report}\nsmaller:\n")
    text = shrink(family, drawn, ast.unparse(ast.parse(text)), kind, runner[0])
    print(text, "\n")
    print(failures(family, drawn, [text], runner[0])[0][1])
    return 1


if __name__ == "__main__":
    sys.exit(main())
