"""The library's messages as records of the logger "tessera"."""
from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any

_LEVELS = (40, 30, 20, 10)  # as logging numbers them, by tsr_log_level_t


def receive(level: int, code: str, text: str) -> None:
    """Called by _core, in any thread."""
    logging: Any = sys.modules.get("logging")
    if logging is None and level >= 2 or logging and not logging.getLogger("tessera").isEnabledFor(_LEVELS[level]):
        if code == "N_PRINT" and sys.stderr:  # what kernels print is shown whether or not the program logs
            sys.stderr.write(f"{text}\n")
        return
    if logging is None:  # a program that did not import it has no handler, so that logging writes to stderr
        logging = __import__("logging")
    logging.getLogger("tessera").log(_LEVELS[level], "[%s] %s", code, text, extra={"code": code})
