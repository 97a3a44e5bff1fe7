"""`emporion image render` and `healthcheck`: the files that a builder takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emporion.cli.options import json_option, node_options, wish_options
from emporion.cli.render import json_out, note, warn
from emporion.market.errors import UserError

__all__ = ["files_of", "healthcheck", "recipe_options", "render", "write_files"]

_FLAGS = ("gpu", "cloud", "framework", "pytorch", "cuda", "python", "ops", "driver", "arch", "base")
_SWITCHES = ("compat_layer", "compile_kernels", "deterministic")


def recipe_options(command: Any) -> Any:  # noqa: ANN401 - click's decorators
    """Add everything that a recipe's file may say and a command line may too, over it."""
    own = (
        click.option("--cloud", metavar="aws", help="Whose fabric the image gets a layer for."),
        click.option("--framework", type=click.Choice(["pytorch", "none"]), help="What it is made around."),
        click.option("--base", metavar="IMAGE@sha256:…", help="A base image in the place of ours, by its digest."),
        click.option("--deterministic", is_flag=True, help="Settings that let equal runs give equal bits."),
    )
    for option in reversed(own):
        command = option(command)
    return wish_options(node_options(command))


def said(path: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a recipe's file and flags say together; flags win."""
    from emporion.images.recipe import load_recipe

    keys = load_recipe(path) if path is not None else {}
    given = {name: options[name] for name in _FLAGS if options[name] is not None}
    return {**keys, **given, **{name: True for name in _SWITCHES if options[name]}}


def files_of(path: Path | None, options: dict[str, Any]) -> tuple[dict[str, str], Any]:
    """Return the files of a recipe and its verdict, with warnings told. Raises: UserError: as `render` of a recipe."""
    from emporion.images.recipe import recipe_of
    from emporion.images.render import render as rendered
    from emporion.nodes.bundle import health_check

    recipe = recipe_of(said(path, options), str(path) if path else None)
    made = rendered(recipe, health_check())
    for warning in made.warnings:
        warn(warning)
    _warn_of_absence(recipe.gpu, recipe.cloud)
    return dict(made.files), made.verdict


def _warn_of_absence(gpu: str, cloud: str) -> None:
    """Warn when no offer of the cloud has the GPU: the image is made all the same."""
    from emporion.cli.planning import catalogue
    from emporion.images.node import gpus_named
    from emporion.market.offers import OfferFilter

    wanted = OfferFilter(gpus=frozenset(gpus_named(gpu)), providers=frozenset({cloud}))
    if not catalogue(None).count(wanted):
        warn(f"no offer of {cloud} has {gpu}")


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write the files of a build's context. Raises: UserError E-FILE: when they cannot be written."""
    from emporion.market.files import write_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(folder / name, text)
            if text.startswith("#!"):
                (folder / name).chmod(0o755)
    except OSError as error:
        raise UserError(
            "E-FILE", f"{folder} cannot be written: {error.strerror}", str(folder), "name a folder"
        ) from None


@click.command(short_help="Write a Dockerfile for a GPU, a cloud and versions.")
@click.argument("recipe", required=False, type=click.Path(path_type=Path), metavar="[RECIPE.yaml]")
@recipe_options
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the whole context of a build there.")
@json_option
def render(recipe: Path | None, out: Path | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - as click hands them over
    """Write a Dockerfile for a GPU, a cloud and versions; flags win over the recipe's keys.

    What is not given is chosen: the newest that works. Without --out the Dockerfile goes to stdout; a build needs the
    entrypoint and the health check beside it too.
    """
    files, verdict = files_of(recipe, options)
    if out is not None:
        write_files(out, files)
    if as_json:
        from emporion.images.document import verdict_json

        chosen = verdict_json(verdict) if verdict is not None else None
        json_out("emporion.image/1", {"files": files, "verdict": chosen, "directory": str(out) if out else None})
    elif out is not None:
        click.echo(f"{out}: {', '.join(files)}")
        note(f"  next: emporion image build {out}")
    else:
        click.echo(files["Dockerfile"], nl=False)


@click.command(short_help="Write the health check as one file.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it there instead of to stdout.")
@click.option("--json", "as_json", is_flag=True, help="Say in JSON what was written, or the program's text.")
def healthcheck(out: Path | None, as_json: bool) -> None:
    """Write the health check as one Python file that needs no Emporion.

    Run it on a node as `python FILE [--gpu a100] [--json] [--strict]`: it says whether the GPUs are what they should
    be, puts load on them, and ends with 0 when they work. In Kubernetes make it an exec probe.
    """
    from emporion.nodes.bundle import health_check

    text = health_check()
    if out is not None:
        write_files(out.parent, {out.name: text})
    if as_json:
        json_out("emporion.healthcheck/1", {"file": str(out) if out else None, "text": None if out else text})
    elif out is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"{out}: {len(text.splitlines())} lines")
