"""Backends, devices, memory and mappers of this process."""
from __future__ import annotations

from tessera import _core, _settings
from tessera._entry import entry
from tessera._mapper import set_mapper

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any

__all__ = ["backends", "capabilities", "capture", "config", "devices", "memory_info", "plugins", "select_backend", "set_mapper",
           "synchronize", "trim"]


@entry
def plugins(probe: bool = False) -> dict[str, Any]:
    """Every plugin that was found or is missing, with the reason why it is not used: the keys are those of docs/plugins.md. With
    `probe`, backends that were not probed yet are, each in a process of its own."""
    import json
    found: dict[str, Any] = json.loads(_core.plugins(bool(probe)))
    return found


@entry
def config() -> dict[str, Any]:
    """The configuration: "file" and what is wrong with it ("error"), and the "settings", for each key of docs/configuration.md its "value"
    and where it is set ("from"); None: nowhere."""
    import json
    found: dict[str, Any] = json.loads(_core.config())
    return found


@entry
def capture() -> Any:
    """with capture() as graph: the calls of the block on the current stream are recorded instead of run, and graph.replay() queues
    them. The graph reads and writes the arrays of those calls, results included, and keeps them alive."""
    return _core.Graph()


@entry
def backends() -> list[dict[str, Any]]:
    """Every backend that Tessera knows: name, description, whether it is available and selected, and the reason if it is not."""
    return _core.backends()


@entry
def select_backend(name: str | None) -> None:
    """Sets the backend of later calls; None returns to the environment's or the best one. A name that cannot be used raises
    BackendError and changes nothing."""
    _settings.set_backend(name)


@entry
def devices(backend: str | None = None) -> list[dict[str, Any]]:
    """The capabilities of each device of a backend; None: the current one."""
    return [capabilities(backend, device) for device in range(_core.device_count(_settings.backend(backend)))]


@entry
def capabilities(backend: str | None = None, device: int = 0) -> dict[str, Any]:
    """What a device can do, with the keys that docs/c-abi.md lists."""
    import json
    found: dict[str, Any] = json.loads(_core.capabilities(_settings.backend(backend), _settings.device(device)))
    return found


@entry
def memory_info() -> dict[str, int]:
    """total_bytes, free_bytes, in_use_bytes and pooled_bytes of the current device."""
    return _core.memory_info()


@entry
def synchronize() -> None:
    """Waits for all queued work on all backends, and raises the first failure of it."""
    _core.synchronize()


@entry
def trim() -> None:
    """Returns memory that is kept for later calls to the system."""
    _core.trim()
