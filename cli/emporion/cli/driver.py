"""`emporion driver`: what is known of NVIDIA's drivers, and against one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from emporion.cli.context import now
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out, note, table
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from emporion.images.driver_bugs import Bug

__all__ = ["driver"]


@click.group(cls=Group, short_help="What is known of drivers.")
def driver() -> None:
    """Show what is known of NVIDIA's drivers: what runs on them, and which are known to be bad."""


@driver.command(name="list", short_help="List the branches of drivers, or the known bugs.")
@click.option("--known-bugs", is_flag=True, help="Drivers known to be bad, with what mends it.")
@json_option
def list_(*, known_bugs: bool, as_json: bool) -> None:
    """List the branches of drivers with the CUDA that each knows, or with --known-bugs which are known to be bad."""
    from emporion.images.cuda import native_cuda
    from emporion.images.document import bug_json
    from emporion.images.driver_bugs import bugs, ends_of_life
    from emporion.images.versions import dotted

    if known_bugs:
        if as_json:
            json_out("emporion.driver_bugs/1", {"bugs": [bug_json(bug) for bug in bugs()]})
        else:
            told = [[bug.id, bug.drivers_text or "any", _where(bug), bug.effect, bug.fix, bug.source] for bug in bugs()]
            click.echo(table(["BUG", "DRIVERS", "WHERE", "EFFECT", "MENDED BY", "SOURCE"], told, drop=["SOURCE"]))
        return
    found = [
        (branch, dotted(cuda) if (cuda := native_cuda((branch, 999))) else None, end)
        for branch, end in ends_of_life().items()
    ]
    if as_json:
        rows = [{"branch": branch, "cuda": cuda, "end_of_life": end} for branch, cuda, end in found]
        json_out("emporion.drivers/1", {"branches": rows})
    else:
        lines = [[f"R{branch}", cuda, end] for branch, cuda, end in found]
        click.echo(table(["BRANCH", "NEWEST CUDA", "MAINTAINED UNTIL"], lines))


@driver.command(short_help="Check one driver against the known bugs.")
@click.argument("version")
@click.option("--gpu", metavar="a100", help="The GPU that it drives.")
@click.option("--kernel", metavar="6.8.0-87-generic", help="What `uname -r` prints.")
@click.option("--fabric-manager", metavar="550.54.14", help="The fabric manager's version.")
@click.option("--when", "holds", multiple=True, metavar="multi-gpu", help="What holds on the node; may be repeated.")
@json_option
def check(
    *,
    version: str,
    gpu: str | None,
    kernel: str | None,
    fabric_manager: str | None,
    holds: tuple[str, ...],
    as_json: bool,
) -> ExitCode:
    """Check the driver VERSION: which CUDA it runs, whether it is maintained, and which known bugs it has.

    Exits 3 when a known bug is met, and when the driver is not known (`[N/A]`). Bugs that depend on what was not said
    are listed with it, and do not count.
    """
    from emporion.images.cuda import native_cuda
    from emporion.images.document import bug_json
    from emporion.images.driver_bugs import host_of, maintained, matching
    from emporion.images.node import gpus_named
    from emporion.images.versions import dotted

    host = host_of(version, kernel, gpus_named(gpu) if gpu else (), holds, fabric_manager)
    found = matching(host)
    met = [bug for bug, unknown in found if not unknown]
    cuda = native_cuda(host.driver) if host.driver else None
    kept = maintained(host.driver, now().date()) if host.driver else None
    if as_json:
        document = {
            "driver": version if host.driver else None,
            "cuda": dotted(cuda) if cuda else None,
            "maintained": kept,
            "bugs": [bug_json(bug, unknown) for bug, unknown in found],
        }
        json_out("emporion.driver/1", document)
    else:
        state = {True: "maintained", False: "maintained no more", None: "not known whether it is maintained"}[kept]
        click.echo(f"driver {version}: CUDA {dotted(cuda) if cuda else '?'} natively, {state}")
        if found:
            rows = [["?" if unknown else "yes", b.id, b.effect, b.fix, "; ".join(unknown)] for b, unknown in found]
            click.echo(table(["MET", "BUG", "EFFECT", "MENDED BY", "IF"], rows))
        if host.driver is None:
            note("the driver is not known: every bug may be met")
    return ExitCode.INFEASIBLE if met or host.driver is None else ExitCode.DONE


def _where(bug: Bug) -> str:
    words = [f"kernel {bug.kernels_text}"] if bug.kernels_text else []
    return ", ".join([*words, *bug.gpus, *bug.when]) or "anywhere"
