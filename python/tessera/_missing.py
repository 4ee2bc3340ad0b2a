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
    "tessera.op.specialize": "hints by backend",
    "tessera.dist.mesh": "distributed execution",
    "tessera.dist.tensor": "distributed execution",
}


def function(path: str) -> Callable[..., Any]:
    """A function under that path that raises."""
    needs = NAMES[path]

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{path} is not built yet: it needs {needs}", "E_UNIMPLEMENTED")

    missing.__name__ = missing.__qualname__ = path.rpartition(".")[2]
    missing.__module__ = path.rpartition(".")[0]
    missing.__doc__ = f"Not built yet: needs {needs}. Calling it raises UnsupportedError."
    return missing
