"""The same generated offers in the form of each side. Equal seeds give equal bytes."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from catalogues import COLUMNS, read, write

CLOUDS = ("aws", "azure", "lambda")
"""Providers of the bundled snapshot that SkyPilot serves from a CSV alone."""
SHAPES = {
    "a100-80gb": ("A100-80GB", 8, 80, 96, 1152),
    "h100": ("H100", 8, 80, 192, 2048),
    "l4": ("L4", 1, 24, 8, 32),
    "t4": ("T4", 1, 16, 8, 32),
    "v100-16gb": ("V100", 1, 16, 8, 61),
}
"""GPU here -> its name at SkyPilot, GPUs, VRAM in GB, vCPUs and RAM of one machine."""
USD_PER_GPU_HOUR = {"a100-80gb": 4, "h100": 9, "l4": 0.8, "t4": 0.5, "v100-16gb": 3}
"""About what they cost; prices are drawn around these."""
GPUHUNT_NAMES = {"lambda": "lambdalabs"}
ZONED = "aws"
"""SkyPilot wants a zone in the rows of this one, and none in the others'."""
PAD_VCPUS = (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Market:
    """A generated market: how many rows, at how many (provider, region) places, how many of them match one wish."""

    rows: int
    places: int
    matching: int = 0
    """Rows of 8 x a100-80gb beside the one of each place; the rest is padded with CPU-only machines."""

    def offers(self, seed: int = 7) -> Iterator[dict[str, str]]:
        """Yield the rows in the columns of an offers file."""
        dice = random.Random(seed)  # noqa: S311 - a benchmark's data
        places = _places(self.places)
        made = 0
        for provider, region in places:
            for gpu in SHAPES:
                made += 1
                yield _gpu_row((provider, region), gpu, "", dice)
        for number in range(self.matching):
            made += 1
            yield _gpu_row(dice.choice(places), "a100-80gb", f"-{number}", dice)
        for number in range(self.rows - made):
            yield _cpu_row(dice.choice(places), number, dice)


def _places(count: int) -> list[tuple[str, str]]:
    """Return `count` places: the bundled regions of the clouds in turn, then numbered ones."""
    known = {(row["provider"], row["region"]) for row in read("offers.csv") if row["provider"] in CLOUDS}
    by_cloud = {cloud: sorted(place for place in known if place[0] == cloud) for cloud in CLOUDS}
    turns = max(map(len, by_cloud.values()))
    real = [by_cloud[cloud][turn] for turn in range(turns) for cloud in CLOUDS if turn < len(by_cloud[cloud])]
    extra = [(CLOUDS[number % len(CLOUDS)], f"region-{number}") for number in range(max(0, count - len(real)))]
    return (real + extra)[:count]


def _gpu_row(place: tuple[str, str], gpu: str, suffix: str, dice: random.Random) -> dict[str, str]:
    _, gpus, vram, vcpus, ram = SHAPES[gpu]
    price = Decimal(str(USD_PER_GPU_HOUR[gpu])) * gpus * dice.randint(800, 1200) / 1000
    machine = {"gpu": gpu, "gpu_count": gpus, "gpu_vram_gb": vram, "vcpus": vcpus, "ram_gb": ram}
    return _row(place, f"{place[0]}-{gpu}x{gpus}{suffix}", machine, price)


def _cpu_row(place: tuple[str, str], number: int, dice: random.Random) -> dict[str, str]:
    vcpus = dice.choice(PAD_VCPUS)
    machine = {"gpu": "", "gpu_count": 0, "gpu_vram_gb": "", "vcpus": vcpus, "ram_gb": vcpus * 4}
    return _row(place, f"{place[0]}-cpu{vcpus}-{number}", machine, Decimal(vcpus) * dice.randint(40, 60) / 1000)


def _row(place: tuple[str, str], kind: str, machine: Mapping[str, object], price: Decimal) -> dict[str, str]:
    row = dict.fromkeys(COLUMNS, "") | {key: str(value) for key, value in machine.items()}
    dated = {"source": "generated", "as_of": "2026-12-01"}
    return (
        row
        | {"provider": place[0], "region": place[1], "instance_type": kind, "on_demand_usd_hr": f"{price:.4f}"}
        | dated
    )


def write_ours(market: Market, path: Path) -> None:
    """Write an offers file."""
    write(path, market.offers())


def write_skypilot(market: Market, folder: Path) -> None:
    """Write SkyPilot's catalogue files: `<cloud>/vms.csv` each, and the names of the accelerators."""
    heads = (
        "InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price", "SpotPrice",
        "Region", "Arch", "LocalDiskType", "NVMeLocalDiskSize", "LocalDiskCount", "Generation",
    )  # fmt: skip
    rows: dict[str, list[Sequence[str]]] = {cloud: [] for cloud in CLOUDS}
    for row in market.offers():
        name = SHAPES[row["gpu"]][0] if row["gpu"] else ""
        count = row["gpu_count"] if name else ""
        zone = [row["region"] + "a"] if row["provider"] == ZONED else []
        rows[row["provider"]].append((
            row["instance_type"], name, count, row["vcpus"], row["ram_gb"], name, row["on_demand_usd_hr"], "",
            row["region"], "x86_64", "", "", "", "V2", *zone,
        ))  # fmt: skip
    for cloud, lines in rows.items():
        _table(folder / cloud / "vms.csv", [*heads, *(["AvailabilityZone"] if cloud == ZONED else [])], lines)
    served = str(["AWS", "Azure", "Lambda"])
    _table(
        folder / "common" / "accelerators.csv",
        ["AcceleratorName", "Clouds"],
        [(shape[0], served) for shape in SHAPES.values()],
    )


def _table(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        writer.writerows(rows)


def write_gpuhunt(market: Market, folder: Path) -> None:
    """Write gpuhunt's catalogue files, `<provider>.csv` each."""
    heads = (
        "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot",
        "disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data",
    )  # fmt: skip
    rows: dict[str, list[Sequence[str]]] = {cloud: [] for cloud in CLOUDS}
    for row in market.offers():
        name = SHAPES[row["gpu"]][0].removesuffix("-80GB") if row["gpu"] else ""
        rows[row["provider"]].append((
            row["instance_type"], row["region"], row["on_demand_usd_hr"], row["vcpus"], row["ram_gb"],
            row["gpu_count"], name, row["gpu_vram_gb"], "False", "", "nvidia" if name else "", "", "x86", "{}",
        ))  # fmt: skip
    for cloud, lines in rows.items():
        _table(folder / f"{GPUHUNT_NAMES.get(cloud, cloud)}.csv", heads, lines)
