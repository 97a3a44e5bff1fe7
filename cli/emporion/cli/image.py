"""`emporion image`: what runs on the nodes."""

from __future__ import annotations

import click

from emporion.cli.lazy import LazyGroup

__all__ = ["image"]


@click.group(
    cls=LazyGroup,
    sections={
        "Make": {
            "render": "emporion.cli.image_render:render",
            "build": "emporion.cli.image_build:build",
            "compile-kernels": "emporion.cli.image_parts:compile_kernels",
            "inject-driver-compat": "emporion.cli.image_parts:inject_driver_compat",
            "healthcheck": "emporion.cli.image_render:healthcheck",
        },
        "Check": {
            "check": "emporion.cli.image_check:check",
            "verify": "emporion.cli.image_build:verify",
        },
    },
    short_help="Make, build and check the images that run on GPU nodes.",
)
def image() -> None:
    """Make, build and check images: the right CUDA, torch, kernels and fabric for a GPU, its driver and a cloud."""
