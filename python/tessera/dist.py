"""Meshes, sharded tensors and collectives."""
from tessera import _missing
from tessera._names import DIST as _DIST

_functions = {**_DIST, **_missing.functions("tessera.dist"), "ShardSpec": _missing.function("tessera.ShardSpec")}
globals().update(_functions)
__all__ = sorted(_functions)
