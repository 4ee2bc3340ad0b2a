"""The names of the API that have no implementation yet, in one table. Using one raises UnsupportedError."""
from __future__ import annotations

from tessera._errors import UnsupportedError

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable

# path -> what it needs
NAMES = {
    "tessera.autodiff": "derivatives of graph functions",
    "tessera.grad": "derivatives of graph functions",
    "tessera.value_and_grad": "derivatives of graph functions",
    "tessera.vjp": "derivatives of graph functions",
    "tessera.jvp": "derivatives of graph functions",
    "tessera.hvp": "derivatives of graph functions",
    "tessera.custom_vjp": "derivatives of graph functions",
    "tessera.custom_jvp": "derivatives of graph functions",
    "tessera.checkpoint": "derivatives of graph functions",
    "tessera.stop_gradient": "derivatives of graph functions",
    "tessera.scan": "loops in graph functions",
    "tessera.cond": "branches in graph functions",
    "tessera.while_loop": "loops in graph functions",
    "tessera.index_launch": "distributed execution",
    "tessera.ShardSpec": "distributed execution",
    "tessera.domain": "distributed execution",
    "tessera.array": "distributed execution; ts.asarray makes an array of numbers",
    "tessera.profiler.Profile.roofline": "counts of a kernel's operations and bytes",
    "tessera.testing.check_grad": "derivatives of graph functions",
    "tessera.testing.reference": "a reference for each operation",
    "tessera.torch": "derivatives of graph functions; a torch.autograd.Function of two kernels needs none (samples/python/torch_extension)",
    "tessera.random": "random numbers in graph functions",
    "tessera.fft": "Fourier transforms in graph functions",
    "tessera.sparse": "sparse tensors",
    "tessera.quant": "quantisation",
    "tessera.optim": "optimisers",
    "tessera.dist.mesh": "distributed execution",
    "tessera.dist.tensor": "distributed execution",
    "tessera.dist.Block": "distributed execution",
    "tessera.dist.Cyclic": "distributed execution",
    "tessera.dist.BlockCyclic": "distributed execution",
    "tessera.dist.Pipeline": "distributed execution",
    "tessera.dist.cut": "distributed execution",
    "tessera.dist.shard": "distributed execution",
    "tessera.dist.expect": "distributed execution",
    "tessera.dist.replicate": "distributed execution",
    "tessera.dist.all_to_all": "distributed execution",
    "tessera.dist.permute": "distributed execution",
    "tessera.dist.axis_index": "distributed execution",
    "tessera.dist.axis_size": "distributed execution",
    "tessera.Region": "privileges of regions",
    "tessera.read": "privileges of regions",
    "tessera.write": "privileges of regions",
    "tessera.readwrite": "privileges of regions",
    "tessera.point": "distributed execution",
}


# Modules and classes: using one begins with naming it, which raises. Naming the others gives a function.
AT_ONCE = frozenset(f"tessera.{name}" for name in ("Region domain array torch random fft sparse quant optim").split())


MADE: dict[int, str] = {}  # id of a function that was made -> its name in the module tessera


def functions(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of one module that are not built, by name."""
    found = {path.rpartition(".")[2]: path for path in NAMES if path.rpartition(".")[0] == module and path not in AT_ONCE}
    return {name: function(path) for name, path in found.items()}


def attribute(path: str) -> Any:
    """__getattr__ of the package: raises, as there is nothing under that path."""
    if path not in AT_ONCE:
        module, _, name = path.rpartition(".")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    raise UnsupportedError(f"{path} is not built yet: it needs {NAMES[path]}", "E_UNIMPLEMENTED")


def function(path: str) -> Callable[..., Any]:
    """A function under that path that raises."""
    needs = NAMES[path]

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{path} is not built yet: it needs {needs}", "E_UNIMPLEMENTED")

    MADE[id(missing)] = path.removeprefix("tessera.")
    missing.__name__ = missing.__qualname__ = path.rpartition(".")[2]
    missing.__module__ = path.rpartition(".")[0]
    missing.__doc__ = f"Not built yet: needs {needs}. Calling it raises UnsupportedError."
    return missing
