"""What a user can mend.

::

    UserError            one problem: code, what, where, fix
    └── UserErrors       all problems of one document, in the order of their lines

Everything else that is raised is a bug and keeps its traceback. Only the command line turns these into text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

__all__ = ["ExitCode", "UserError", "UserErrors", "did_you_mean"]


class ExitCode(IntEnum):
    """What a command tells the shell (DESIGN.md section 6)."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    INTERRUPTED = 130


@dataclass(eq=False)
class UserError(Exception):
    """One thing that the user can mend.

    `what` is one lower-case sentence without a full stop, with the value seen and the values allowed; `where` is a file
    and line, a key or a command (`intent.yaml:5  resources.gpus`); `fix` says what to do.
    """

    code: str
    what: str
    where: str | None = None
    fix: str | None = None
    exit_code: ExitCode = ExitCode.BAD_INPUT

    def __str__(self) -> str:
        """Return the three lines of DESIGN.md section 7 without the word `error:`, which the printer adds."""
        lines = [f"{self.what}  [{self.code}]"]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.fix:
            lines.append(f"  try: {self.fix}")
        return "\n".join(lines)

    def problems(self) -> tuple[UserError, ...]:
        """Return the single problems, itself when it is one."""
        return (self,)


@dataclass(eq=False)
class UserErrors(UserError):  # noqa: N818 - several errors
    """All problems of one document at once."""

    errors: tuple[UserError, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, errors: list[UserError]) -> UserError:
        """Return one error for `errors` (at least one); its exit code is the first's."""
        if len(errors) == 1:
            return errors[0]
        first = errors[0]
        return cls(first.code, f"{len(errors)} problems", first.where, first.fix, first.exit_code, errors=tuple(errors))

    def __str__(self) -> str:
        """Return every problem, one after the other."""
        return "\n".join(str(error) for error in self.errors)

    def problems(self) -> tuple[UserError, ...]:
        """Return the single problems."""
        return self.errors


_NEAR = 8
"""Near names looked at for one with the same letters."""


def did_you_mean(seen: str, candidates: list[str] | tuple[str, ...] | set[str]) -> str | None:
    """Return the candidate nearest to `seen`, or None when none is near (ratio 0.6 of difflib, case ignored).

    One with the same letters comes first: two of them changing places is the commonest slip.
    """
    import difflib  # noqa: PLC0415 - only a failing command pays for it

    by_lower = {candidate.lower(): candidate for candidate in sorted(candidates)}
    near = difflib.get_close_matches(seen.lower(), list(by_lower), n=_NEAR, cutoff=0.6)
    same = [name for name in near if sorted(name) == sorted(seen.lower())]
    return by_lower[(same or near)[0]] if near else None
