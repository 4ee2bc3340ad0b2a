"""The rewriting of a source file that lets CPython run it as the language means it, see reference.py.

A name bound to a bare literal gets a dtype; one rebound in a loop or branch keeps its dtype; both sides of a conditional
expression have one dtype; `and` and `or` give truth values; the symbols of a signature are names in the body.
"""
import ast


def _is_literal(e):
    if isinstance(e, ast.UnaryOp) and not isinstance(e.op, ast.Not):
        return _is_literal(e.operand)
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _later(e):
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), e)


class Rules(ast.NodeTransformer):
    def __init__(self, unrolled):
        self.unrolled = unrolled  # of graph functions, whose names may change their dtype anywhere
        self.bound, self.fixed = set(), set()

    def visit_FunctionDef(self, f):
        self.bound, self.fixed, body = {a.arg for a in f.args.args}, set(), []
        for a in f.args.args:
            if isinstance(a.annotation, ast.Subscript):
                dims = a.annotation.slice.elts[:-1] if isinstance(a.annotation.slice, ast.Tuple) else []
                body += [ast.parse(f"{d.value} = {a.arg}.shape[{i}]").body[0] for i, d in enumerate(dims) if isinstance(d.value, str)]
            elif isinstance(a.annotation, ast.Attribute):
                body += ast.parse(f"{a.arg} = {a.arg} if isinstance({a.arg}, _V) else _keep(_V({ast.unparse(a.annotation)}.name, 0), {a.arg})").body
        f.body = body + self.block(f.body)
        for a in f.args.args:
            a.annotation = None
        f.returns = None
        return f

    def block(self, body):
        outer, out = set(self.bound), []
        for s in body:
            out.append(self.visit(s))
            self.bound |= {n.id for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} if isinstance(s, ast.Assign) else set()
        self.bound = outer
        return out

    def inner(self, *blocks):
        fixed, self.fixed = self.fixed, set(self.bound)
        out = [self.block(b) for b in blocks]
        self.fixed = fixed
        return out

    def visit_For(self, s):
        s.iter = self.visit(s.iter)
        [s.body] = self.inner(s.body)
        return s

    def visit_While(self, s):
        s.test = self.visit(s.test)
        [s.body] = self.inner(s.body)
        return s

    def visit_If(self, s):
        s.test = self.visit(s.test)
        s.body, s.orelse = self.inner(s.body, s.orelse)
        return s

    def visit_Assign(self, s):
        values = s.value.elts if isinstance(s.value, (ast.Tuple, ast.List)) else [s.value]
        names = isinstance(s.targets[0], (ast.Name, ast.Tuple))
        new = [_call("_typed", v) if names and _is_literal(v) else self.visit(v) for v in values]
        s.value = ast.Tuple(new, ast.Load()) if isinstance(s.value, (ast.Tuple, ast.List)) else new[0]
        if names and not self.unrolled:
            def old(t):
                if isinstance(t, ast.Tuple):
                    return ast.Tuple([old(e) for e in t.elts], ast.Load())
                return ast.Name(t.id, ast.Load()) if isinstance(t, ast.Name) and t.id in self.fixed else ast.Constant(None)
            s.value = _call("_keep", old(s.targets[0]), s.value)
        s.targets = [self.visit(t) for t in s.targets]
        return s

    def visit_IfExp(self, e):
        self.generic_visit(e)
        return _call("_choose", e.test, _later(e.body), _later(e.orelse))

    def visit_BoolOp(self, e):
        self.generic_visit(e)
        e.values = [_call("_truth", v) for v in e.values]
        return e
