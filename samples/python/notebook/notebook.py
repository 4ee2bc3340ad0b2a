"""Runs the cells of notebook.ipynb as a notebook does, without one: each cell is in linecache, and its last value is shown. With an
argument it writes what a browser would show to that file: notebook.py page.html"""
import ast
import json
import linecache
import pathlib
import sys
from typing import Any

NOTEBOOK = pathlib.Path(__file__).with_name("notebook.ipynb")


def run(text: str, name: str, names: dict[str, Any]) -> Any:
    """Runs a cell; the value of its last line, if that is an expression."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if isinstance(last, ast.Expr) else None


def main() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    pages = []
    for number, cell in enumerate(json.loads(NOTEBOOK.read_text())["cells"]):
        if cell["cell_type"] == "code":
            value = run("".join(cell["source"]), f"<cell {number}>", names)
            if value is not None:
                pages.append(value._repr_html_())
    sizes = [len(page.encode()) for page in pages]
    assert len(pages) == 5 and max(sizes) < 200_000, sizes
    print(f"notebook: {len(pages)} values shown, {sum(sizes):,} bytes of HTML; right")
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text("<!doctype html><meta charset=utf-8><title>notebook</title>" + "\n".join(pages))


if __name__ == "__main__":
    main()
