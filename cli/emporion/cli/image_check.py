"""`emporion image check`: whether an image runs on a node, before anything is scheduled there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.options import json_option, node_options
from emporion.cli.render import json_out, note, warn
from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from emporion.images.labels import ImageFacts

__all__ = ["check"]

_NODE_KEYS = ("gpu", "driver", "arch")
_MACHINES = {"arm64": "aarch64"}


@click.command(short_help="Say whether an image runs on a node or an offer.")
@click.argument("image", type=click.Path(path_type=Path), metavar="IMAGE|RECIPE.yaml")
@click.option("--node", "node_file", type=click.Path(path_type=Path), metavar="FACTS.json", help="gpu, driver, arch.")
@click.option("--offer", metavar="ID", help="An offer's id, as `emporion plan` prints it.")
@node_options
@json_option
def check(
    image: Path,
    node_file: Path | None,
    offer: str | None,
    gpu: str | None,
    driver: str | None,
    arch: str | None,
    as_json: bool,
) -> ExitCode:
    """Say whether an image runs on a node: IMAGE is a recipe, a rendered folder, an OCI layout or an OCI archive.

    Exits 3 when it does not, and when what is known of the node does not tell.
    """
    from emporion.images.fit import check_image
    from emporion.images.node import node_of

    told: dict[str, Any] = {**_of_offer(offer), **_of_file(node_file)}
    given = {"gpu": gpu, "driver": driver, "arch": arch}
    told |= {name: value for name, value in given.items() if value is not None}
    node = node_of(told.get("gpu"), told.get("driver"), told.get("arch"))
    fit = check_image(_facts(image), node)
    if as_json:
        json_out("emporion.image_check/1", {"works": fit.works, "why": list(fit.why), "warnings": list(fit.warnings)})
    else:
        click.echo({True: "runs", False: "does not run", None: "cannot be told"}[fit.works])
        for why in fit.why:
            note(f"  {why}")
        for warning in fit.warnings:
            warn(warning)
    return ExitCode.DONE if fit.works else ExitCode.INFEASIBLE


def _facts(path: Path) -> ImageFacts:
    from emporion.images.labels import facts_of, labels_of_archive, labels_of_folder

    if path.is_dir():
        return facts_of(labels_of_folder(path), str(path))
    if path.suffix in {".yaml", ".yml"}:
        from emporion.images.recipe import load_recipe, recipe_of
        from emporion.images.render import labels_of_recipe

        return facts_of(labels_of_recipe(recipe_of({"cloud": "aws"} | load_recipe(path), str(path))), str(path))
    return facts_of(labels_of_archive(path), str(path))


def _of_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError("E-FILE", f"{path.name} cannot be read: {error}", str(path), "name a JSON file") from None
    if not isinstance(read, dict) or set(read) - set(_NODE_KEYS) or not all(isinstance(v, str) for v in read.values()):
        raise UserError("E-FILE", f"{path.name} is not a node's facts", str(path), f"keys are {', '.join(_NODE_KEYS)}")
    return read


def _of_offer(offer: str | None) -> dict[str, Any]:
    if offer is None:
        return {}
    from emporion.cli.planning import catalogue
    from emporion.market.errors import did_you_mean

    known = {one.id: one for one in catalogue(None).offers}
    found = known.get(offer)
    if found is None:
        near = did_you_mean(offer, [name for name in known if name.partition("/")[0] == offer.partition("/")[0]])
        raise UserError("E-OFFER", f"no offer is called {offer!r}", "--offer", f"did you mean {near}" if near else None)
    if found.gpu is None:
        raise UserError("E-OFFER", f"what GPU {offer} has is not known", "--offer", "say it with --gpu")
    told = {"gpu": found.gpu, "arch": _MACHINES.get(found.arch, found.arch)}
    return {**told, "driver": found.software.driver} if found.software and found.software.driver else told
