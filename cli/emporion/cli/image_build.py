"""`emporion image build` and `verify`: an image with a signed statement of what it is."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from emporion.cli.context import home, now
from emporion.cli.image_render import files_of, recipe_options, write_files
from emporion.cli.options import json_option
from emporion.cli.render import json_out, note, table
from emporion.market.errors import ExitCode, UserError

__all__ = ["build", "verify"]


def _keys() -> Path:
    return home() / "keys"


@click.command(short_help="Build an image, and sign what it is.")
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[DIR|RECIPE.yaml]")
@recipe_options
@click.option("--builder", type=click.Choice(["docker", "buildkit", "buildah"]), help="The first one found by default.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("image.tar"),
    show_default=True,
    metavar="FILE",
    help="Where the image goes; its statement goes beside it.",
)
@click.option(
    "--tag", default="emporion/image:local", show_default=True, metavar="NAME:TAG", help="What the builder calls it."
)
@click.option("--platform", metavar="linux/arm64", help="Another processor than this machine's.")
@click.option("--build-arg", "build_args", multiple=True, metavar="NAME=VALUE", help="Over an ARG of the Dockerfile.")
@click.option("--twice", is_flag=True, help="Build again without cache, and compare.")
@json_option
def build(
    source: Path | None,
    builder: str | None,
    out: Path,
    tag: str,
    platform: str | None,
    build_args: tuple[str, ...],
    twice: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - as click hands them over
) -> ExitCode:
    """Build the image of a rendered folder, a recipe or flags into a Docker archive.

    Beside it lies a statement of what it is (in-toto, SLSA provenance), signed by this machine's key in
    EMPORION_HOME/keys, and a list of its parts where syft is on PATH. Exits 1 when --twice gives another image.
    """
    from emporion.images.build import build_image, epoch_of
    from emporion.images.builders import Job, choose_builder
    from emporion.images.statement import own_key

    chosen = choose_builder(builder, shutil.which)
    arguments = _arguments(build_args)
    with tempfile.TemporaryDirectory() as scratch:
        context = source if source is not None and source.is_dir() else _rendered(source, options, Path(scratch))
        dockerfile = context / "Dockerfile"
        if not dockerfile.is_file():
            raise UserError(
                "E-CONTEXT", f"there is no Dockerfile in {context}", str(context), "emporion image render --out DIR"
            )
        epoch = epoch_of(dockerfile.read_text(encoding="utf-8"))
        job = Job(context, out.absolute(), tag, epoch, arguments, platform)
        made = build_image(job, chosen, own_key(_keys()), clock=now, report=note, twice=twice)
    if as_json:
        json_out(
            "emporion.image_build/1",
            {
                "archive": str(out),
                "image_id": f"sha256:{made.built.image_id}",
                "builder": chosen.name,
                "statement": str(made.statement),
                "sbom": str(made.sbom) if made.sbom else None,
                "reproducible": made.reproducible,
                "layers": [{"bytes": layer.size_bytes, "made_by": layer.made_by} for layer in made.built.layers],
            },
        )
    else:
        rows = [[f"{layer.size_bytes / 1e6:.1f}", layer.made_by] for layer in made.built.layers]
        click.echo(table(["MB", "LAYER"], rows, right=["MB"]))
        click.echo(f"{out}  sha256:{made.built.image_id}")
        if made.reproducible is not None:
            click.echo("a second build is the same" if made.reproducible else "a second build is another image")
    return ExitCode.FAILED if made.reproducible is False else ExitCode.DONE


def _rendered(source: Path | None, options: dict[str, Any], scratch: Path) -> Path:
    files, _ = files_of(source, options)
    write_files(scratch, files)
    return scratch


def _arguments(pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise UserError("E-USAGE", f"--build-arg {wrong[0]} gives no value", "--build-arg", "write NAME=VALUE")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


@click.command(short_help="Verify the statement of an image.")
@click.argument("archive", type=click.Path(path_type=Path), metavar="IMAGE.tar")
@click.option(
    "--key", type=click.Path(path_type=Path), metavar="FILE.pub", help="The signer's; this machine's by default."
)
@json_option
def verify(archive: Path, key: Path | None, as_json: bool) -> None:
    """Verify that an image is the one of which a key states what it was made of. Exits 3 when it is not."""
    from emporion.images.build import verify_image
    from emporion.images.statement import key_id, load_public_key

    public = load_public_key(key or _keys() / "images.pub")
    built, predicate = verify_image(archive, public)
    if as_json:
        image_id = f"sha256:{built.image_id}"
        json_out("emporion.image_verify/1", {"image_id": image_id, "key": key_id(public), "provenance": predicate})
    else:
        click.echo(f"verified  sha256:{built.image_id}  by key {key_id(public)[:16]}")
