"""The `emporion` command: its groups, and the outermost layer that turns errors into text and exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from emporion.cli.lazy import LazyGroup
from emporion.market.errors import ExitCode

__all__ = ["SECTIONS", "main", "root"]

SECTIONS = {
    "Decide": {
        "init": "emporion.cli.init:init",
        "intent": "emporion.cli.intent:intent",
        "plan": "emporion.cli.plan:plan",
        "offers": "emporion.cli.offers:offers",
    },
    "Run": {
        "preview": "emporion.cli.cluster:preview",
        "up": "emporion.cli.cluster:up",
        "refresh": "emporion.cli.cluster:refresh",
        "recover": "emporion.cli.cluster:recover",
        "status": "emporion.cli.cluster:status",
        "ssh": "emporion.cli.cluster:ssh",
        "down": "emporion.cli.cluster:down",
    },
    "Judge": {
        "policy": "emporion.cli.policy:policy",
        "cost": "emporion.cli.cost:cost",
        "config": "emporion.cli.config:config",
    },
    "Images": {
        "image": "emporion.cli.image:image",
        "env": "emporion.cli.env:env",
        "driver": "emporion.cli.driver:driver",
    },
    "Tools": {
        "local": "emporion.cli.local:local",
        "engine": "emporion.cli.engine:engine",
        "completion": "emporion.cli.completion:completion",
    },
}

_HELP = """Turn a wish for GPUs into a running cluster on whichever cloud suits it.

\b
Start here:
  emporion plan --gpus a100:8 --min-vram 80gb --network low-latency
  emporion init my-cluster

Exit codes: 0 done, 1 failed, 2 bad input, 3 infeasible, 130 interrupted.
"""


class _Version:
    """`--version`, read from the installed package only when it is asked for."""

    @staticmethod
    def show(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
        if not asked or ctx.resilient_parsing:
            return
        from importlib.metadata import version

        click.echo(f"emporion {version('emporion')}")
        ctx.exit()


@click.command(
    cls=LazyGroup,
    sections=SECTIONS,
    name="emporion",
    help=_HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("-v", "--verbose", count=True, help="Log to stderr; twice for everything.")
@click.option("--debug", is_flag=True, envvar="EMPORION_DEBUG", help="Show tracebacks of faults in Emporion itself.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_Version.show, help="Print the version."
)
def root(verbose: int, debug: bool) -> None:  # noqa: D103 - the help is above, click passes by name
    if verbose or debug:
        from emporion.cli.logs import configure

        configure(verbose=2 if debug else verbose)


def main(argv: Sequence[str] | None = None, obj: object = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit code; never raises.

    `obj` is handed to the commands, which look there for what stands in for the network.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            returned = root.main(args=arguments, prog_name="emporion", standalone_mode=False, obj=obj)
            sys.stdout.flush()
        except Exception as error:  # noqa: BLE001 - the outermost layer, the only place that may
            return _report(error, arguments)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _silence()
        return ExitCode.FAILED
    return int(returned or ExitCode.DONE)


def _report(error: Exception, arguments: list[str]) -> int:
    if isinstance(error, BrokenPipeError):
        _silence()
        return ExitCode.FAILED
    if isinstance(error, click.Abort):
        sys.stderr.write("interrupted\n")
        return ExitCode.INTERRUPTED
    from emporion.cli import faults

    known = faults.as_user_error(error)
    if known is None:
        known = faults.as_fault(error, debug="--debug" in arguments or bool(os.environ.get("EMPORION_DEBUG")))
    try:
        faults.show(known, as_json=faults.wants_json(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError:  # stdout takes nothing, as on a full disk: stderr has to tell it
        _silence()
        faults.show(known, as_json=False)
    return int(known.exit_code)


def _silence() -> None:
    """Send what is still buffered nowhere: stdout takes it no more, and Python would complain at exit."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
