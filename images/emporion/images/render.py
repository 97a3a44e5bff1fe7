"""A recipe as the files that a builder takes: Dockerfile, entrypoint, health check. Equal recipes give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from emporion.images.bases import base_pythons, devel_base, runtime_base
from emporion.images.build_plan import flash_archs, torch_archs
from emporion.images.cuda import Route, least_driver
from emporion.images.fabric import Setting, efa, efa_warning, fabric_of, node_settings, packages_of
from emporion.images.frameworks import wheel_cuda
from emporion.images.judge import Combination, sm_name
from emporion.images.node import Node, architecture, node_of
from emporion.images.recipe import Recipe
from emporion.images.solve import Verdict, solve
from emporion.images.tables import rows
from emporion.images.versions import dotted
from emporion.images.wish import Wish, wish_of
from emporion.market.errors import ExitCode, UserError

__all__ = ["HEALTH_CHECK", "Rendered", "labels_of_recipe", "render", "wish_for"]

HEALTH_CHECK = "healthcheck.py"
_TEMPLATES = Path(__file__).with_name("templates")
_SNAPSHOT = datetime(2026, 11, 1, tzinfo=UTC)
"""The day of Ubuntu's archive that images are made of; later than every base."""
_TORCH_INDEX = "https://download.pytorch.org/whl"
_EFA = "https://efa-installer.amazonaws.com/aws-efa-installer-{}.tar.gz"
_TOOLS = ("ca-certificates", "python3", "python3-venv")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a recipe became."""

    files: Mapping[str, str]
    """By name: all that the build's context holds."""
    verdict: Verdict | None
    """What was chosen; None: an image without a framework."""
    warnings: tuple[str, ...]


def wish_for(recipe: Recipe) -> Wish:
    """Return what a recipe wishes for, on the Pythons that bases bring. Raises: UserError: as `wish_of`."""
    wish = wish_of(
        torch=recipe.pytorch,
        cuda=recipe.cuda,
        python=recipe.python,
        ops=recipe.ops,
        compat_layer=recipe.compat_layer,
        build_kernels=recipe.compile_kernels,
    )
    return replace(wish, pythons=base_pythons())


def render(recipe: Recipe, health_check: str) -> Rendered:
    """Return the files of a recipe; `health_check` is the program that the image carries.

    Raises: UserError E-IMAGE: when no combination works for it, with what would; E-BASE, E-TORCH, E-CUDA, E-PYTHON,
    E-OP, E-GPU, E-GPU-VENDOR, E-DRIVER: when a wish cannot be read or met.
    """
    node = node_of(recipe.gpu, recipe.driver, recipe.arch)
    verdict = _solved(recipe, node) if recipe.framework == "pytorch" else None
    found = verdict.combination if verdict else None
    values = {**_common(recipe, node), **(_framework(found, node) if found else _NO_FRAMEWORK)}
    values["base"] = recipe.base or runtime_base(found.candidate.python if found else base_pythons()[0], node.machine)
    values["base_tag"], _, digest = values["base"].partition("@")
    based = {"org.opencontainers.image.base.name": values["base_tag"], "org.opencontainers.image.base.digest": digest}
    labels = {**_labels(recipe, found, node), **based}
    values["labels"] = [f'{name}="{value}"' for name, value in sorted(labels.items())]
    values["env"] = _environment(recipe, found, node)
    files = {
        "Dockerfile": _template("Dockerfile.j2").render(values),
        "entrypoint.sh": _template("entrypoint.sh.j2").render(_entrypoint(recipe, found, node)),
        HEALTH_CHECK: health_check,
    }
    return Rendered(files, verdict, tuple(_warnings(recipe, verdict)))


def _solved(recipe: Recipe, node: Node) -> Verdict:
    verdict = solve(wish_for(recipe), node)
    if verdict.combination is None:
        fix = "; or ".join(other.how for other in verdict.alternatives) or "another GPU, or other versions"
        what = f"no image for {recipe.gpu} can hold this: {'; '.join(verdict.why)}"
        raise UserError("E-IMAGE", what, None, fix, ExitCode.INFEASIBLE)
    return verdict


@cache
def _template(name: str) -> Any:  # noqa: ANN401 - jinja2 has its own
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a Dockerfile is no HTML; every value is checked before
    )
    return environment.get_template(name)


def _pins(layer: str) -> str:
    return " ".join(f'"{row["name"]}=={row["version"]}"' for row in rows("packages.csv") if row["layer"] == layer)


def _health_packages() -> list[str]:
    return [
        " ".join([f"{row['name']}=={row['version']}", *(f"--hash={one}" for one in row["sha256"].split())])
        for row in rows("packages.csv")
        if row["layer"] == "health"
    ]


def _common(recipe: Recipe, node: Node) -> dict[str, Any]:
    fabric = fabric_of(recipe.cloud)
    plugin = efa() if fabric == "efa" else None
    return {
        "title": f"{recipe.gpu} on {recipe.cloud} ({fabric})",
        "gpu": ",".join(node.gpus),
        "apt_snapshot": f"{_SNAPSHOT:%Y%m%dT%H%M%SZ}",
        "epoch": int(_SNAPSHOT.timestamp()),
        "packages": sorted({*_TOOLS, *packages_of(recipe.cloud), *recipe.packages}),
        "efa": plugin,
        "efa_url": _EFA.format(plugin.installer) if plugin else "",
        "health_packages": _health_packages(),
        "pip": [f'"{pin}"' for pin in recipe.pip],
        "build_pins": _pins("build"),
        "kernel_pins": _pins("kernels"),
        "archs": " ".join(sm_name(sm) for sm in node.sms),
        "torch_archs": torch_archs(node),
        "flash_archs": flash_archs(node),
    }


_NO_FRAMEWORK: Mapping[str, Any] = {
    **dict.fromkeys(("devel_base", "torch_index", "torch_pin", "flash_wheel", "flash_version", "flash_source")),
    "compat_path": None,
    "build": False,
}


def _framework(found: Combination, node: Node) -> dict[str, Any]:
    candidate, cuda = found.candidate, wheel_cuda(found.candidate.wheel)
    build, compat = found.flash_source is not None, found.route is Route.COMPAT
    return {
        "devel_base": devel_base(cuda, candidate.python, node.machine) if build or compat else None,
        "torch_index": f"{_TORCH_INDEX}/{candidate.wheel}",
        "torch_pin": candidate.name,
        "flash_wheel": found.flash.url if found.flash else None,
        "flash_version": found.flash.version if found.flash else None,
        "flash_source": found.flash_source,
        "compat_path": f"/usr/local/cuda-{dotted(cuda)}/compat" if compat else None,
        "build": build,
    }


def labels_of_recipe(recipe: Recipe) -> dict[str, str]:
    """Return the labels that the image of a recipe will have. Raises: UserError: as `render`."""
    node = node_of(recipe.gpu, recipe.driver, recipe.arch)
    verdict = _solved(recipe, node) if recipe.framework == "pytorch" else None
    return _labels(recipe, verdict.combination if verdict else None, node)


def _labels(recipe: Recipe, found: Combination | None, node: Node) -> dict[str, str]:
    labels = {
        "org.opencontainers.image.title": f"{recipe.gpu} on {recipe.cloud}",
        "emporion.gpu": recipe.gpu,
        "emporion.cloud": recipe.cloud,
        "emporion.archs": " ".join(sm_name(sm) for sm in node.sms),
        "emporion.machine": node.machine,
    }
    if found is not None:
        cuda = wheel_cuda(found.candidate.wheel)
        labels["emporion.torch"] = found.candidate.name
        labels["emporion.cuda"] = dotted(cuda)
        labels["emporion.driver"] = least_driver(cuda) if found.route is not Route.COMPAT else "compat-layer"
        if found.flash or found.flash_source:
            labels["emporion.flash-attn"] = found.flash.version if found.flash else str(found.flash_source)
    return labels


def _environment(recipe: Recipe, found: Combination | None, node: Node) -> list[str]:
    """Return what is true on every node that the image may land on; the rest is the entrypoint's."""
    groups = {"always"} | ({"deterministic"} if recipe.deterministic else set())
    env = {row["name"]: row["value"] for row in rows("settings.csv") if row["group"] in groups}
    env["PATH"] = "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    env["TORCH_CUDA_ARCH_LIST"] = torch_archs(node)
    env["EMPORION_FP8"] = str(int(all(architecture(gpu).fp8 for gpu in node.gpus)))
    if found is not None and found.route is Route.COMPAT:
        env["NVIDIA_DISABLE_REQUIRE"] = "1"
    elif found is not None:
        env["NVIDIA_REQUIRE_CUDA"] = f"cuda>={wheel_cuda(found.candidate.wheel)[0]}.0"
    return [f'{name}="{_quoted(value)}"' for name, value in sorted((env | dict(recipe.env)).items())]


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")


def _entrypoint(recipe: Recipe, found: Combination | None, node: Node) -> dict[str, Any]:
    settings = node_settings(recipe.cloud, node.gpus)
    groups: dict[tuple[str, int | None], list[Setting]] = {}
    for setting in settings:
        groups.setdefault((setting.path, setting.gpus_on_node), []).append(setting)
    return {
        "compat": found is not None and found.route is Route.COMPAT,
        "cloud_libraries": fabric_of(recipe.cloud) == "host-mounted",
        "settings": [
            {
                "path": path,
                "gpus_on_node": count,
                "comments": list(dict.fromkeys(f"{one.name or one.value}: {one.why}." for one in group)),
                "lines": [_line(one) for one in group],
            }
            for (path, count), group in groups.items()
        ],
        "expected": [one.value for one in settings if one.name == "NCCL_TOPO_FILE"],
    }


def _line(setting: Setting) -> str:
    if setting.action == "source":
        return f'set +u\n    . "{setting.value}"\n    set -u'
    return f'export {setting.name}="{setting.value}"'


def _warnings(recipe: Recipe, verdict: Verdict | None) -> list[str]:
    if verdict is None or verdict.combination is None:
        return []
    warnings = [f"{one.what} {one.wished} -> {one.got}: {'; '.join(verdict.why)}" for one in verdict.lowered]
    told = efa_warning(verdict.combination.candidate.torch) if fabric_of(recipe.cloud) == "efa" else None
    return [*warnings, *verdict.warnings, *([told] if told else [])]
