"""The functions of kernels, for completion and documentation. The compiler reads them in the text of a kernel."""
from tessera._names import TILE as _TILE

globals().update(_TILE)
__all__ = sorted(_TILE)
