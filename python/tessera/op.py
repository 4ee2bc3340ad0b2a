"""The operations of graph functions, which are also called on arrays, and `specialize`."""
from tessera import _missing
from tessera._names import OP as _OP

globals().update(_OP)
specialize = _missing.function("tessera.op.specialize")
__all__ = sorted([*_OP, "specialize"])
