"""`emporion image inject-driver-compat` and `compile-kernels`: single layers, for a Dockerfile of your own."""

from __future__ import annotations

import click

from emporion.cli.env import chosen_text
from emporion.cli.options import json_option, node_options, wish_options
from emporion.cli.render import json_out, warn
from emporion.market.errors import ExitCode, UserError

__all__ = ["compile_kernels", "inject_driver_compat"]


@click.command(name="inject-driver-compat", short_help="Say which CUDA compat package a node needs, if any.")
@click.option("--cuda", required=True, metavar="13.0", help="The CUDA that is to run.")
@node_options
@json_option
def inject_driver_compat(cuda: str, gpu: str | None, driver: str | None, arch: str | None, as_json: bool) -> ExitCode:
    """Say which CUDA compat package a node needs, if any: only where its GPU and its driver's branch take one.

    Prints the package, or nothing where the driver runs that CUDA anyway. Exits 3 where no layer helps, and where the
    driver is not known.
    """
    from emporion.images.compat import inject
    from emporion.images.node import node_of
    from emporion.images.wish import wish_of

    wanted = wish_of(cuda=cuda).cuda
    if wanted is None:
        raise UserError("E-CUDA", "no CUDA is given", "--cuda", "write it as 13.0")
    found = inject(wanted, node_of(gpu, driver, arch))
    helped = found.needed is False or found.package is not None
    if as_json:
        json_out("emporion.compat/1", {"package": found.package, "needed": found.needed, "why": found.why})
    else:
        if found.package is not None:
            click.echo(found.package)
        warn(found.why) if not helped else click.echo(found.why, err=True)
    return ExitCode.DONE if helped else ExitCode.INFEASIBLE


@click.command(name="compile-kernels", short_help="Say where kernels come from: a published wheel, or a build.")
@wish_options
@node_options
@json_option
def compile_kernels(
    pytorch: str | None,
    cuda: str | None,
    python: str | None,
    ops: str | None,
    compat_layer: bool,
    compile_kernels: bool,  # noqa: ARG001 - the command itself says it
    gpu: str | None,
    driver: str | None,
    arch: str | None,
    as_json: bool,
) -> ExitCode:
    """Say where the kernels --ops come from: the wheel published for exactly these versions, or a build.

    A build is for the architectures of --gpu alone. Exits 3 when neither is possible.
    """
    from emporion.images.build_plan import kernel_plan
    from emporion.images.node import node_of
    from emporion.images.solve import solve
    from emporion.images.wish import wish_of

    names = tuple(word.strip() for word in (ops or "").split(",") if word.strip())
    if not names:
        raise UserError("E-OP", "no kernel is asked for", "--ops", "name some: --ops flash-attn,rope")
    node = node_of(gpu, driver, arch)
    if not node.gpus:
        raise UserError("E-GPU", "kernels are for one GPU", "--gpu", "name it: --gpu h100")
    wish = wish_of(
        torch=pytorch, cuda=cuda, python=python, ops=names, compat_layer=compat_layer, build_kernels=True
    )  # fmt: skip
    verdict = solve(wish, node)
    if verdict.combination is None:
        fix = "; or ".join(other.how for other in verdict.alternatives) or "another GPU"
        raise UserError("E-IMAGE", f"no kernels for this: {'; '.join(verdict.why)}", None, fix, ExitCode.INFEASIBLE)
    plan = kernel_plan(verdict.combination, node)
    if as_json:
        json_out("emporion.kernels/1", plan)
    else:
        click.echo(chosen_text(verdict.combination))
        click.echo(plan["wheel"] or "\n".join(f"{name}={value}" for name, value in plan["build"].items()))
    for warning in verdict.warnings:
        warn(warning)
    return ExitCode.DONE
