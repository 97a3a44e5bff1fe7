"""The `pulumi` command of one world, run as a child with Pulumi's own output in front of the user.

A thin layer over the command line, not the Automation API: the user sees Pulumi's display, Ctrl-C reaches the engine
exactly once, and start-up does not import the SDK (docs/adr/0004-pulumi-as-a-child.md).
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any

from emporion.market.errors import ExitCode, UserError
from emporion.operations.project import Project

__all__ = ["Outcome", "Pulumi"]

CREATES = frozenset({"create", "create-replacement"})
"""Steps of the engine that make something."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one pulumi operation ended."""

    succeeded: bool
    changes: Mapping[str, int]
    """Operation -> number of resources (`create`, `update`, `same`, …)."""
    errors: tuple[str, ...]
    """Error diagnostics, in order, each once."""
    failed_urns: tuple[str, ...]
    interrupted: bool = False
    policies: tuple[Mapping[str, Any], ...] = ()
    """What policy packs found, as the engine tells it (`policyEvent`)."""

    @property
    def changed(self) -> int:
        """How many resources were made, changed or removed."""
        return sum(count for operation, count in self.changes.items() if operation != "same")


@dataclass(frozen=True, slots=True)
class Pulumi:
    """Runs `pulumi` for one project in one world."""

    project: Project
    executable: Path
    environ: Mapping[str, str]
    world: str
    output: IO[str]
    """Where Pulumi's own display goes: stdout, or stderr with --json."""
    colour: bool = False

    def operate(self, command: str, stack: str, *arguments: str) -> Outcome:
        """Run `pulumi COMMAND` (up, preview, refresh, destroy), shown to the user, and return how it ended."""
        with tempfile.TemporaryDirectory(prefix="emporion-") as folder:
            log = Path(folder) / "events.json"
            argv = [
                str(self.executable),
                command,
                *self._base(stack),
                "--event-log",
                str(log),
                *arguments,
                "--color",
                "always" if self.colour else "never",
            ]
            self.output.flush()
            environ = {**self.environ, "PULUMI_DEBUG_COMMANDS": "true"}
            with subprocess.Popen(  # its own group: Ctrl-C is handed over once, by us
                argv,
                cwd=self.project.directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                process_group=0,
            ) as child:
                code, interrupted = _wait(child)
            return _outcome(code, interrupted, _events(log))

    def planned_creates(self, stack: str) -> list[dict[str, Any]] | None:
        """Return the resources that `up` would create, replacements too, as the state would hold them.

        None when the preview fails.
        """
        done = self._run(["preview", *self._base(stack), "--json"])
        try:
            steps = json.loads(done.stdout)["steps"] if done.returncode == 0 else None
        except (json.JSONDecodeError, KeyError):
            return None
        return None if steps is None else [step["newState"] for step in steps if step["op"] in CREATES]

    def last_result(self, stack: str) -> str | None:
        """Return how the last operation ended (`succeeded`, `failed`, `in-progress`); None: there was none."""
        history = json.loads(self._capture("stack", "history", "-s", stack, "--json", "--page-size", "1"))
        return history[0]["result"] if history else None

    def export(self, stack: str) -> dict[str, Any]:
        """Return the stack's deployment (`pulumi stack export`), secrets still encrypted."""
        document: dict[str, Any] = json.loads(self._capture("stack", "export", "-s", stack))
        return document

    def replace_state(self, stack: str, document: Mapping[str, Any]) -> None:
        """Write a deployment back (`pulumi stack import`)."""
        self._capture("stack", "import", "-s", stack, given=json.dumps(document))

    def stacks(self) -> list[str]:
        """Return the stacks of the project that the backend knows."""
        return [entry["name"].rpartition("/")[2] for entry in json.loads(self._capture("stack", "ls", "--json"))]

    def ensure_stack(self, stack: str) -> bool:
        """Make the stack in the backend when it is not there; return whether it was made."""
        if stack in self.stacks():
            return False
        self._capture("stack", "init", stack, "--non-interactive", "--no-select")
        return True

    def remove_stack(self, stack: str) -> None:
        """Forget an empty stack and its configuration."""
        self._capture("stack", "rm", stack, "--yes")

    def cancel(self, stack: str) -> None:
        """Remove the stack's lock."""
        self._capture("cancel", stack, "--yes")

    def _base(self, stack: str) -> list[str]:
        return ["-s", stack, "--non-interactive"]

    def _capture(self, *arguments: str, given: str | None = None) -> str:
        done = self._run(arguments, given)
        if "incorrect passphrase" in done.stderr:
            raise UserError(
                "E-PASSPHRASE",
                f"the secrets of {self.project.name!r} were made with another passphrase",
                f"EMPORION_HOME={self.environ.get('EMPORION_HOME', '')}",
                "use the EMPORION_HOME with which the stack was made, or another stack name",
                ExitCode.FAILED,
            )
        if done.returncode:
            message = " ".join(
                line.removeprefix("error: ").strip() for line in done.stderr.splitlines() if line.strip()
            )
            raise UserError(
                "E-ENGINE",
                f"pulumi {' '.join(arguments[:2])} failed: {message}",
                str(self.project.directory),
                "look at the message; `./run shell` gives a shell in which pulumi can be asked directly",
                ExitCode.FAILED,
            )
        return done.stdout

    def _run(self, arguments: Sequence[str], given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.executable), *arguments],
            cwd=self.project.directory,
            env=dict(self.environ),
            capture_output=True,
            text=True,
            check=False,
            **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}),
        )


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Wait for the engine; hand an interrupt over to it and go on waiting: it saves its state before it leaves."""
    interrupted = False

    def hand_over(signum: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        child.send_signal(signal.SIGINT if signum == signal.SIGINT else signal.SIGTERM)

    try:
        before = {signum: signal.signal(signum, hand_over) for signum in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: signals are its affair
        return child.wait(), False
    try:
        return child.wait(), interrupted
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _events(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the engine's events; a torn last line (the engine was killed) is left out."""
    if not log.is_file():
        return
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                return


def _outcome(code: int, interrupted: bool, events: Iterator[dict[str, Any]]) -> Outcome:  # noqa: FBT001 - private
    changes: dict[str, int] = {}
    errors: dict[str, None] = {}
    failed: list[str] = []
    policies: list[Mapping[str, Any]] = []
    for event in events:
        if diagnostic := event.get("diagnosticEvent"):
            if diagnostic.get("severity") == "error" and not diagnostic.get("ephemeral"):
                errors[diagnostic["message"].strip()] = None
        elif summary := event.get("summaryEvent"):
            changes = {name: count for name, count in (summary.get("resourceChanges") or {}).items() if count}
        elif event.get("resOpFailedEvent"):
            failed.append(event["resOpFailedEvent"]["metadata"]["urn"])
        elif violation := event.get("policyEvent"):
            policies.append(violation)
    return Outcome(code == 0, changes, tuple(errors), tuple(failed), interrupted, tuple(policies))
