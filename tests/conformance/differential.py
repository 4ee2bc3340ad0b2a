"""Random programs: expressions over tiles, with reductions, scans, broadcasts and loops between, against NumPy in double.

The generator builds the program's text and its value side by side. Values stay within [-4, 4] by construction (every
step is clamped), and only operations whose error stays small are drawn, so that one tolerance serves all. The seeds are
fixed: a failure has a name.
"""
import numpy as np

from cases import program, want
from dtypes import random

PROGRAMS = 60
SIZES = [(1, 1), (8, 16), (13, 21), (24, 40)]
TILE_M = 8


class Builder:
    """Statements and, per statement, a function from the environment of arrays to an array."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines, self.steps = [], []
        self.tiles, self.columns, self.masks = ["x", "y"], [], []  # names of MxN values, of M values, of bool MxN values

    def pick(self, names):
        return names[self.rng.integers(len(names))]

    def emit(self, names, text, function):
        name = f"v{len(self.steps)}"
        self.lines.append(f"{name} = {text}")
        self.steps.append((name, function))
        names.append(name)
        return name

    def clamped(self, text, function):
        self.emit(self.tiles, f"ts.tile.minimum(ts.tile.maximum({text}, -4.0), 4.0)", lambda e: np.clip(function(e), -4, 4))

    def step(self):
        a, b = self.pick(self.tiles), self.pick(self.tiles)
        choice = self.rng.integers(14)
        if choice == 0:
            self.clamped(f"{a} + {b}", lambda e: e[a] + e[b])
        elif choice == 1:
            self.clamped(f"{a} * {b} - 0.5", lambda e: e[a] * e[b] - 0.5)
        elif choice == 2:
            self.clamped(f"{a} / (1.0 + {b} * {b})", lambda e: e[a] / (1 + e[b] * e[b]))
        elif choice == 3:
            self.clamped(f"ts.tile.tanh({a})", lambda e: np.tanh(e[a]))
        elif choice == 4:
            self.clamped(f"ts.tile.sqrt(ts.tile.abs({a}) + 1.0)", lambda e: np.sqrt(np.abs(e[a]) + 1))
        elif choice == 5:
            self.emit(self.columns, f"ts.tile.row_max({a})", lambda e: e[a].max(1))
        elif choice == 6:
            self.emit(self.columns, f"ts.tile.minimum(ts.tile.row_sum({a}) * 0.0625, 4.0)", lambda e: np.minimum(e[a].sum(1) / 16, 4))
        elif choice == 7 and self.columns:
            c = self.pick(self.columns)
            self.clamped(f"{a} - {c}[:, None] * 0.5", lambda e: e[a] - e[c][:, None] * 0.5)
        elif choice == 8:
            self.clamped(f"ts.tile.cumsum({a}, axis=1) * 0.125", lambda e: np.cumsum(e[a], axis=1) / 8)
        elif choice == 9:
            # Thresholds that no value meets exactly, or rounding would decide.
            t = float(np.round(self.rng.uniform(-1, 1), 2)) + 0.0013
            self.emit(self.masks, f"x < {t:.4f}", lambda e: e["x"] < t)
        elif choice == 10 and self.masks:
            m = self.pick(self.masks)
            self.emit(self.tiles, f"ts.tile.where({m}, {a}, {b})", lambda e: np.where(e[m], e[a], e[b]))
        elif choice == 11:
            turns, name = int(self.rng.integers(1, 4)), f"v{len(self.steps)}"
            self.lines += [f"{name} = {a}", f"for t{name} in range({turns}):", f"    {name} = {name} * 0.5 + {b} * 0.25"]

            def loop(e):
                v = e[a]
                for _ in range(turns):
                    v = v * 0.5 + e[b] * 0.25
                return v

            self.steps.append((name, loop))
            self.tiles.append(name)
        elif choice == 12:
            name, t = f"v{len(self.steps)}", int(self.rng.integers(0, 3))
            self.lines += [f"{name} = {a}", f"if mode > {t}:", f"    {name} = {b} + 0.25", "else:", f"    {name} = -{name}"]
            self.steps.append((name, lambda e: e[b] + 0.25 if e["mode"] > t else -e[a]))
            self.tiles.append(name)
        else:
            self.clamped(f"ts.tile.exp({a} * 0.25)", lambda e: np.exp(e[a] * 0.25))


def build(seed):
    b = Builder(seed)
    for _ in range(int(b.rng.integers(4, 14))):
        b.step()
    result = b.tiles[-1] if b.tiles[-1] not in ("x", "y") else b.emit(b.tiles, "x + y", lambda e: e["x"] + e["y"])
    body = "".join(f"        {line}\n" for line in b.lines)
    # One program sees whole rows, or row reductions would depend on the tile: N is at most 40.
    p = program(f"differential/{seed}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32], mode: ts.i32):
    for m in ts.tile.parallel(0, M, {TILE_M}):
        x = X[m:m+{TILE_M}, 0:40]
        y = Y[m:m+{TILE_M}, 0:40]
{body}        Z[m:m+{TILE_M}, 0:40] = {result}
""")
    for i, (m, n) in enumerate(SIZES):
        environment = {"x": random("f32", (m, n), 2 * i), "y": random("f32", (m, n), 2 * i + 1), "mode": i}
        for name, function in b.steps:
            environment[name] = function(environment)
        p.run({"M": m, "N": n}, {"X": ("f32", environment["x"]), "Y": ("f32", environment["y"])},
              {"Z": want("f32", environment[result], rtol=1e-5, atol=2e-4)}, {"mode": i})
    return p


def programs():
    for seed in range(PROGRAMS):
        yield build(seed)
