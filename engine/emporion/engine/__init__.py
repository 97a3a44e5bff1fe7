"""Find, install and describe the Pulumi engine that runs Emporion's programs.

Importing this package costs nothing; what installs (network, archives, locks) is loaded when `install` is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emporion.engine.environment import exports, home_dir, pulumi_env
from emporion.engine.errors import EngineError
from emporion.engine.find import MINIMUM_VERSION, VERSION, Engine, cache_dir, locate, require

if TYPE_CHECKING:
    from emporion.engine.installer import install

__all__ = [
    "MINIMUM_VERSION",
    "VERSION",
    "Engine",
    "EngineError",
    "cache_dir",
    "exports",
    "home_dir",
    "install",
    "locate",
    "pulumi_env",
    "require",
]


def __getattr__(name: str) -> object:
    """Return `install`, loaded on first use."""
    if name == "install":
        from emporion.engine.installer import install  # noqa: PLC0415 - see above

        return install
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
