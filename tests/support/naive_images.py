"""What the images' tables forbid, read in the plainest way: what the solver is compared with."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import emporion.images
from emporion.images.node import Node
from emporion.images.versions import Version
from emporion.images.wish import Wish
from emporion.market.gpus import gpu_info

__all__ = ["forbidden", "read"]

DATA = Path(emporion.images.__file__).with_name("data")
FLOORS = {11: (450, 80, 2), 12: (525, 60, 13), 13: (580,)}


@cache
def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def numbers(text: str) -> Version:
    """Return a version as numbers."""
    return tuple(int(part) for part in text.split("."))


def sm_of(gpu: str) -> Version:
    """Return a GPU's compute capability."""
    digits = str(gpu_info(gpu).compute_capability).removeprefix("sm_")
    return int(digits[:-1]), int(digits[-1])


def forbidden(  # noqa: C901, PLR0911 - the tables, one after the other
    torch: str, wheel: str, python: Version, node: Node, wish: Wish
) -> bool:
    """Return whether some table forbids a combination; written without a look at how the solver asks."""
    row = next(row for row in read("torch.csv") if row["torch"] == torch)
    cuda = (int(wheel[2:-1]), int(wheel[-1]))
    if wheel not in row["wheels"].split():
        return True
    if not numbers(row["python_min"]) <= python <= numbers(row["python_max"]):
        return True
    minor = numbers(torch)[:2]
    holds = [
        flavour
        for flavour in read("torch_wheels.csv")
        if flavour["wheel"] == wheel
        and flavour["machine"] == node.machine
        and numbers(flavour["torch_from"]) <= minor <= numbers(flavour["torch_to"])
    ]
    if not holds:
        return True
    archs = holds[0]["archs"].split()
    for gpu in node.gpus:
        sm = sm_of(gpu)
        code = any(numbers(a.removesuffix("+PTX"))[0] == sm[0] and numbers(a.removesuffix("+PTX")) <= sm for a in archs)
        ptx = any(a.endswith("+PTX") and numbers(a[:-4]) <= sm for a in archs)
        if not code and not ptx:
            return True
        asks = next(a for a in read("architectures.csv") if a["architecture"] == gpu_info(gpu).architecture)
        if node.driver and asks["min_driver"] and node.driver < numbers(asks["min_driver"]):
            return True
        if node.driver and asks["last_branch"] and node.driver[0] > int(asks["last_branch"]):
            return True
        if any(sm < numbers(op["min_sm"]) for op in read("ops.csv") if op["op"] in {one.name for one in wish.ops}):
            return True
    if node.driver and node.driver < FLOORS[cuda[0]]:
        classes = {row["gpu"]: row["class"] for row in read("gpu_classes.csv")}
        branches = next(t["forward_branches"] for t in read("cuda_toolkits.csv") if numbers(t["cuda"]) == cuda).split()
        layered = node.gpus and all(classes[gpu] == "datacenter" for gpu in node.gpus)
        if not (wish.compat_layer and layered and str(node.driver[0]) in branches):
            return True
    return bool(wish.ops) and not wish.build_kernels and not published(torch, wheel, python, node, wish)


def published(torch: str, wheel: str, python: Version, node: Node, wish: Wish) -> bool:
    """Return whether flash-attn's makers publish a wheel for a combination."""
    minor = ".".join(torch.split(".")[:2])
    broken = {(row["flash_attn"], row["torch"], row["wheel"]) for row in read("flash_attn_broken.csv")}
    rope = any(op.name == "rope" for op in wish.ops)
    return any(
        minor in row["torch"].split()
        and any(tag[:2] == wheel[2:4] for tag in row["cuda_tags"].split())
        and numbers(row["python_min"]) <= python <= numbers(row["python_max"])
        and node.machine in row["machines"].split()
        and (row["flash_attn"], minor, wheel) not in broken
        and (not rope or row["flash_attn"].startswith("2.8.3"))
        and all(
            any(numbers(a)[0] == sm_of(gpu)[0] and numbers(a) <= sm_of(gpu) for a in row["archs"].split())
            for gpu in node.gpus
        )
        for row in read("flash_attn.csv")
    )
