"""The functions that concern the threads of one program."""
from tessera._names import GROUP as _GROUP

globals().update(_GROUP)
__all__ = sorted(_GROUP)
