"""The operations of graph functions, which are also called on arrays, and `specialize`."""
from tessera._kernel import specialize
from tessera._names import OP as _OP

globals().update(_OP)
__all__ = sorted([*_OP, "specialize"])
