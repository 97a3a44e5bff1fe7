"""What can go wrong while the engine is found, fetched or built, in words that the user can act on."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["EngineError", "disk_errors"]


@dataclass(eq=False)
class EngineError(Exception):
    """The engine cannot be had, and why.

    Codes: E-ENGINE-MISSING (not installed), E-ENGINE-PLATFORM (no POSIX system), E-ENGINE-CHECKSUM (a
    download is not what was published), E-ENGINE-NETWORK (no source answers), E-ENGINE-GO (no Go toolchain to build
    with), E-ENGINE-BUILD (the build failed), E-ENGINE-DISK (no space or no permission), E-ENGINE-LOCK (another process
    holds the installation). `what`, `where` and `fix` read as the other rooms' errors do; this room imports none.
    """

    code: str
    what: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        """Return what, where and fix in three lines, without the word `error:`, which the printer adds."""
        lines = [f"{self.what}  [{self.code}]"]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.fix:
            lines.append(f"  try: {self.fix}")
        return "\n".join(lines)


def no_space(folder: Path) -> EngineError:
    """Return the error for a disk that is full."""
    return EngineError(
        "E-ENGINE-DISK",
        "no space left on the disk while the engine was installed",
        str(folder),
        "free 5 GiB there, or set XDG_CACHE_HOME to a folder on a larger disk, and run `emporion engine install` again",
    )


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk or a folder that cannot be written into one `EngineError` E-ENGINE-DISK that names `folder`."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise no_space(folder) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}:
            raise EngineError(
                "E-ENGINE-DISK",
                f"the folder for the engine cannot be written: {(error.strerror or type(error).__name__).lower()}",
                str(error.filename or folder),
                "set XDG_CACHE_HOME (engine) or EMPORION_HOME (state) to a folder that you may write",
            ) from error
        raise
