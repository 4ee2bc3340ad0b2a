"""IR texts that a person edited and that the checks accept (tests/ir has those that they refuse): nothing they hold makes the
compiler or the processor trap, nothing outside the tensors is touched, and sums have the order that the text gives them."""
import pathlib

import numpy as np

from cases import Program, want

TEXT = (pathlib.Path(__file__).resolve().parents[1] / "ir" / "programs" / "tile-kernel.mlir").read_text()
HIGHEST, LOWEST = (1 << 63) - 1, -(1 << 63)


def edit(name, replacements, expected):
    """tile-kernel computes y = x + 1; `expected(x, y)` is what y holds after the edit, 0 where nothing is stored."""
    text = TEXT
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    p = Program(f"ir_text/{name}", text, is_ir=True)
    x = np.arange(100.0)
    values = None if expected is None else expected(x, x + 1)
    return p.run({"n": 100}, {"x": ("f32", x)}, {"y": want("f32", values, shape=(100,), initial=np.zeros(100))})


def before(lines, replacements=()):
    """Edits that put lines in front of the addition."""
    return [("    %7 = arith", "".join(f"    {line}\n" for line in lines) + "    %7 = arith"), *replacements]


def starts():
    for s in (HIGHEST, HIGHEST - 1, HIGHEST - 63, LOWEST, LOWEST + 1, -64, 100):
        constant = f"%s = arith.constant {s} : index"
        yield edit(f"load/{s}", [("    %2 = tile.load %x[%1]", f"    {constant}\n    %2 = tile.load %x[%s]")], lambda x, y: x * 0 + 1)
        yield edit(f"store/{s}", before([constant], [("%y[%1]", "%y[%s]")]), lambda x, y: y * 0)
        yield edit(f"prefetch/{s}", before([constant, "tile.prefetch %x[%s] extents [64] : !tile.view<?xf32>"]), lambda x, y: y)
    for lo, hi, everything in ((LOWEST, HIGHEST, True), (HIGHEST, LOWEST, False), (HIGHEST, HIGHEST, False), (LOWEST, LOWEST, False)):
        yield edit(f"bounds/{lo}/{hi}", before([f"%lo = arith.constant {lo} : index", f"%hi = arith.constant {hi} : index"],
                                               [("bounds(%4 to %6)", "bounds(%lo to %hi)")]), lambda x, y, all=everything: y * all)


def arithmetic():
    """Division by zero, its overflow and shifts too far: whatever the result, there is one."""
    operations = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui", "shli", "shrui", "shrsi")
    for op in operations:
        for x in (1, LOWEST):
            for y in (0, -1, LOWEST, 64):
                for known in (True, False):
                    lines = [f"%a = arith.constant {x} : index", f"%b = arith.constant {y} : index"]
                    if not known:
                        lines += ["%zero = arith.subi %n, %n : index", "%d = arith.addi %zero, %b : index"]
                    lines += [f"%q = arith.{op} %a, {'%b' if known else '%d'} : index"]
                    yield edit(f"{op}/{x}/{y}/{'known' if known else 'unknown'}", before(lines, [("%y[%1]", "%y[%q]")]), None)
        yield edit(f"{op}/tile", before(["%i = arith.constant 0 : i32", "%zeros = tile.broadcast %i : i32 -> tensor<64xi32>",
                                         f"%q = arith.{op} %zeros, %zeros : tensor<64xi32>", "%m = tile.reduce max %q axis 0 : tensor<64xi32> -> i32",
                                         "%at = arith.index_cast %m : i32 to index"], [("%y[%1]", "%y[%at]")]), None)


def loops():
    """Steps that are known when they run, variables that reach the largest index."""
    for lo, hi, step, count in ((0, 10, 3, 4), (0, 10, 0, 0), (0, 10, -1, 0), (0, 10, LOWEST, 0), (HIGHEST - 3, HIGHEST, 2, 2), (LOWEST, HIGHEST, HIGHEST, 3),
                                (HIGHEST, LOWEST, 1, 0), (LOWEST, LOWEST + 1, HIGHEST, 1)):
        lines = [f"%lo = arith.constant {lo} : index", f"%hi = arith.constant {hi} : index", f"%by = arith.constant {step} : index",
                 "%zero = arith.subi %n, %n : index", "%step = arith.addi %zero, %by : index",
                 "%sum = scf.for %i = %lo to %hi step %step iter_args(%a = %2) -> (tensor<64xf32>) {",
                 "  %b = arith.addf %a, %cst : tensor<64xf32>", "  scf.yield %b : tensor<64xf32>", "}"]
        yield edit(f"loop/{lo}/{hi}/{step}", before(lines, [("arith.addf %2, %cst : tensor<64xf32>\n    tile.store", "arith.addf %sum, %cst : tensor<64xf32>\n    tile.store")]),
                   lambda x, y, count=count: y + count)


def fold(values):
    """By halves: i with i + n/2, and so on."""
    while len(values) > 1:
        values = values[:len(values) // 2] + values[len(values) // 2:]
    return values[0]


def ordered_sum(x, lanes, chains):
    """The sum of x in f32 in the order <lanes = ..., chains = [...]> (docs/ir/tile.md, OrderAttr)."""
    runs, done = [], 0
    steps = [(count, lanes) for count in chains] + [(1, 1 << e) for e in range(lanes.bit_length() - 2, -1, -1)]
    for count, width in steps:
        whole = (len(x) - done) // (count * width)
        if whole < (2 if count > 1 else 1):
            continue
        elements = x[done:done + whole * count * width].reshape(whole, count, width)
        total = elements[0].copy()
        for step in elements[1:]:
            total = total + step
        runs.append(fold(fold(total)))
        done += whole * count * width
    total = runs[0]
    for run in runs[1:]:
        total = total + run
    return total


def orders():
    """A sum has the bits of the order that its text has, whatever the width of the target's vectors."""
    n = 61
    text = TEXT.replace("tensor<64x", f"tensor<{n}x").replace("extents [64]", f"extents [{n}]").replace("ceildiv(n, 64)", f"ceildiv(n, {n})")
    text = text.replace("constant 64 : index", f"constant {n} : index")
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(2 * n) * 10.0 ** rng.integers(-4, 5, 2 * n)).astype("f4")
    for lanes, chains in ((1, ()), (1, (1,)), (1, (4, 1)), (2, (1,)), (4, (4, 1)), (8, (4, 1)), (8, (8, 4, 1)), (16, (2, 1)), (32, (1,)), (64, (4, 1))):
        order = f"<lanes = {lanes}" + (f", chains = {list(chains)}>" if chains else ">")
        edited = text.replace(f"%7 = arith.addf %2, %cst : tensor<{n}xf32>",
                              f"%s = tile.reduce sum %2 axis 0 order {order} : tensor<{n}xf32> -> f32\n"
                              f"    %7 = tile.broadcast %s : f32 -> tensor<{n}xf32>")
        assert edited != text
        p = Program(f"ir_text/order/{lanes}/{'.'.join(map(str, chains))}", edited, is_ir=True)
        sums = np.repeat([ordered_sum(half, lanes, chains or (1,)) for half in x.reshape(2, n)], n)
        yield p.run({"n": 2 * n}, {"x": ("f32", x.astype(float))}, {"y": want("f32", sums.astype(float))})


GRID = """module {
  graph.func @k.host(%arg0: !graph.tensor<["m", "n"], f32>) -> !graph.tensor<["m", "n"], f32> attributes {numerics = "standard"} {
    %0 = graph.launch @k(write %arg0) dims ["m", "n"] : (!graph.tensor<["m", "n"], f32>) -> !graph.tensor<["m", "n"], f32>
    graph.return %0 : !graph.tensor<["m", "n"], f32>
  }
  tile.kernel @k(%y: !tile.view<?x?xf32>, %m: index, %n: index) grid ["m", "n"] attributes {ORDER, numerics = "standard", params = [#tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["m", "n"]>, #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>], schedule.fusion = "auto", scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %i = tile.program_id 0 : index
    %j = tile.program_id 1 : index
    %c1000 = arith.constant 1000 : index
    %rows = arith.muli %i, %c1000 : index
    %at = arith.addi %rows, %j : index
    %word = arith.index_cast %at : index to i32
    %value = arith.sitofp %word : i32 to f32
    %tile = tile.broadcast %value : f32 -> tensor<1x1xf32>
    tile.store %tile, %y[%i, %j] extents [1, 1] : tensor<1x1xf32>, !tile.view<?x?xf32>
    tile.return
  }
}
"""


def orders_of_programs():
    """Whatever order programs run in, each position of the grid has one: grids of no, one, a prime number of programs, and of
    fewer than there are chiplets."""
    for order in ("chiplets = 8 : i64", "chiplets = 6 : i64", "chiplets = 1 : i64", "chiplets = 8 : i64, group_rows = 4 : i64", "group_rows = 3 : i64"):
        p = Program("ir_text/programs/" + order.replace(" : i64", "").replace(" = ", "").replace(", ", "/"), GRID.replace("ORDER", order), is_ir=True)
        for m, n in ((0, 5), (5, 0), (1, 1), (1, 7), (7, 1), (1, 13), (3, 5), (8, 1), (8, 2), (17, 1), (4, 16), (19, 23), (31, 33)):
            p.run({"m": m, "n": n}, {}, {"y": want("f32", np.arange(m)[:, None] * 1000.0 + np.arange(n), initial=np.full((m, n), -1.0))})
        yield p


def programs():
    yield from orders()
    yield from orders_of_programs()
    yield from starts()
    yield from arithmetic()
    yield from loops()
