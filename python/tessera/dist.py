"""Meshes, sharded tensors and collectives."""
from tessera import _missing
from tessera._names import DIST as _DIST

globals().update(_DIST)
mesh = _missing.function("tessera.dist.mesh")
tensor = _missing.function("tessera.dist.tensor")
ShardSpec = _missing.function("tessera.ShardSpec")
__all__ = sorted([*_DIST, "mesh", "tensor", "ShardSpec"])
