"""A document of machines that no snapshot and no live source has: on premises, or of a private provider.

::

    region: berlin
    latitude: 52.52
    longitude: 13.40
    machines:
      - name: rack-a
        label: a100-80gb
        gpus: 8
        vram: 80gb
        cuda: "12.4"
        os: ubuntu-22.04
        preinstalled: [pytorch==2.1.0, nccl]
        owned: {purchase: $180000, months: 48, power: 6.5kW, energy: $0.15/kWh, hosting: $900/month}

What comes back are rows of an offers file, checked as every such row is. Imported only to register: PyYAML costs 35 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from emporion.market.errors import UserError, UserErrors
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import gpu_info, label_of, labels, meets_vram
from emporion.market.intent.document import DocumentKind, read_document
from emporion.market.intent.read import Reading
from emporion.market.intent.tree import At, Problems
from emporion.market.money import Money, Rate
from emporion.market.offers.machine_keys import ROOT
from emporion.market.offers.owned import owned, owned_problems
from emporion.market.offers.row_prices import ON_PREMISES
from emporion.market.units import Memory, format_memory, plain, shown

__all__ = ["Machine", "a_known_cloud", "read_machines"]

_KIND = DocumentKind("a document of machines", "region: berlin")


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine of a document as a row of an offers file."""

    row: Mapping[str, str]
    where: str
    """The file and the line, for what the check of the row has to say."""


def read_machines(path: Path, *, clouds: frozenset[str], rates: Mapping[str, Rate], today: date) -> tuple[Machine, ...]:
    """Return the machines of a YAML document, not yet checked as rows; `clouds` are names that are nobody's own.

    Raises: UserError: E-FILE, E-YAML when it cannot be read; else every problem of it at once, with its line.
    """
    problems = Problems(str(path))
    reading = Reading(problems, rates, root=ROOT)
    values = reading.section(read_document(path, problems, _KIND), ROOT)
    if values.get("provider") in clouds:
        reading.fail(a_known_cloud(values["provider"]), "provider")
    rows = list(_rows(values, reading, str(path), today))
    if problems.found:
        raise UserErrors.of(sorted(problems.found, key=lambda error: _line_of(error, str(path))))
    return tuple(rows)


def a_known_cloud(provider: str) -> UserError:
    """Return the error for offers that claim to be those of a cloud."""
    return UserError("E-PROVIDER", f"{provider} is a known cloud", fix=f"write a name of your own, or {ON_PREMISES}")


def _line_of(error: UserError, source: str) -> int:
    """Return the line of a file to which an error points, 0 without one."""
    match = re.match(r":([0-9]+)", (error.where or "").removeprefix(source))
    return int(match[1]) if match else 0


def _rows(values: Mapping[str, Any], reading: Reading, source: str, today: date) -> Iterator[Machine]:
    if "region" not in values and "region" not in reading.places:
        reading.fail(
            UserError("E-MISSING", "where the machines stand is missing", fix="write region: berlin"), "region"
        )
    if ("latitude" in reading.places) != ("longitude" in reading.places):
        error = UserError("E-MISSING", "latitude and longitude are given together", fix="write both, or neither")
        reading.fail(error, "latitude" if "latitude" in reading.places else "longitude")
    machines = values.get("machines", ())
    if not machines and ("machines" in values or "machines" not in reading.places):
        error = UserError(
            "E-MISSING", "no machine is described", fix="write machines: [{name: rack-a, label: a100-80gb}]"
        )
        reading.fail(error, "machines")
    names: set[str] = set()
    for index, machine in enumerate(machines):
        path = f"machines[{index}]"
        at = reading.places.get(path, At())
        _check(machine, reading, path, names, values.get("provider", ON_PREMISES))
        if not reading.problems.found:
            yield Machine(_row(values, machine, today), f"{source}:{at.line}")


def _check(machine: Mapping[str, Any], reading: Reading, path: str, names: set[str], provider: str) -> None:
    def fail(code: str, what: str, fix: str, key: str = "") -> None:
        reading.fail(UserError(code, what, fix=fix), f"{path}.{key}" if key else path)

    given = _given(reading, path)
    if "name" not in given:
        fail("E-MISSING", "a machine needs a name", "write name: rack-a")
    elif machine.get("name") in names:
        fail("E-DUPLICATE", f"two machines are called {shown(machine['name'])}", "rename one", "name")
    names.add(machine.get("name", ""))
    named = given & {"label", "gpu"}
    if machine.get("gpus", 1) and not named:
        fail("E-MISSING", "what GPUs it has is missing", "write label: a100-80gb, or gpus: 0")
    if machine.get("gpus") == 0 and named:
        fail("E-CONTRADICTION", "gpus is 0, and a GPU is named", "write how many there are", "gpus")
    _check_gpu(machine, fail)
    _check_cost(machine, given, provider, fail)
    if "owned" in machine:
        for error in owned_problems(_given(reading, f"{path}.owned")):
            reading.fail(error, f"{path}.owned")


def _given(reading: Reading, path: str) -> set[str]:
    """Return the keys that stand below a path, readable or not."""
    below = (place.removeprefix(f"{path}.") for place in reading.places if place.startswith(f"{path}."))
    return {key for key in below if "." not in key}


def _check_cost(machine: Mapping[str, Any], given: set[str], provider: str, fail: Callable[..., None]) -> None:
    if not given & {"price", "owned"}:
        fail("E-MISSING", "neither price nor owned says what it costs", "write price: $12/hr, or owned: {purchase: …}")
    elif {"price", "owned"} <= given:
        fail("E-CONTRADICTION", "price and owned are both given", "keep one of them", "price")
    if "price" in machine and not machine["price"].usd and provider != ON_PREMISES:
        fix = f"only machines of provider {ON_PREMISES} may cost nothing"
        fail("E-MONEY", f"a price of 0 is none for provider {provider}", fix, "price")


def _check_gpu(machine: Mapping[str, Any], fail: Callable[..., None]) -> None:
    """See to it that label, model and memory are of one part."""
    label, name, vram = machine.get("label"), machine.get("gpu"), machine.get("vram")
    ids = labels()[label] if label else resolve_gpu(name).ids if name else ()
    if label and name and not set(ids) & set(resolve_gpu(name).ids):
        fail("E-CONTRADICTION", f"label says {label}, gpu says {shown(name)}", "keep one of them", "gpu")
    if vram is None or not ids:
        return
    if not any(_is_of(gpu, vram) for gpu in ids):
        sizes = sorted({plain(size) for gpu in ids if (size := gpu_info(gpu).vram_gb) is not None})
        near = [other for other, parts in labels().items() if _same_family(ids, parts) and _is_of(parts[0], vram)]
        fix = f"did you mean label: {' or '.join(near)}" if near else f"write vram: {' or '.join(sizes)}gb"
        fail(
            "E-CONTRADICTION",
            f"{label or name} has {' or '.join(sizes)} GB, vram says {format_memory(vram)}",
            fix,
            "vram",
        )


def _is_of(gpu: str, vram: Memory) -> bool:
    """Return whether a GPU is sold with this memory: exactly, or in binary units as its driver reports it."""
    info = gpu_info(gpu)
    if info.vram_gb is None:
        return True
    if vram.binary:
        more = Memory(vram.bytes * 100 // 115, binary=False)
        return meets_vram(more, info.vram_gb, None) is True and vram.gb * 100 >= info.vram_gb * 85
    return vram.gb == info.vram_gb or label_of(gpu).endswith(f"-{plain(vram.gb)}gb")


def _same_family(ids: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return gpu_info(ids[0]).family == gpu_info(others[0]).family


def _row(values: Mapping[str, Any], machine: Mapping[str, Any], today: date) -> dict[str, str]:
    count = machine.get("gpus", 1)
    memory: Memory | None = machine.get("memory")
    if "owned" in machine:
        cost = owned(machine["owned"])
        usd, source = cost.usd_per_hour, str(cost)
    else:
        price: Money = machine["price"]
        usd, source = price.usd * (max(count, 1) if price.per_gpu else 1), "registered"
    found = {
        "provider": values.get("provider", ON_PREMISES),
        "region": values["region"],
        "zone": values.get("zone"),
        "instance_type": machine["name"],
        "gpu": machine.get("gpu") or machine.get("label"),
        "gpu_count": count,
        "gpu_vram_gb": format_memory(machine["vram"]) if "vram" in machine else None,
        "vcpus": machine.get("vcpus"),
        "ram_gb": None if memory is None else plain(round(memory.gib if memory.binary else memory.gb, 6)),
        "on_demand_usd_hr": plain(usd),
        "source": values.get("source", source),
        "as_of": values.get("as_of", today.isoformat()),
        "preinstalled": " ".join(machine["preinstalled"]) if "preinstalled" in machine else None,
        "sla_percent": machine.get("sla"),
        "nvlink_gb_s_per_gpu": _shared(machine.get("nvlink_bandwidth"), 8),
        "fabric_gbps": _shared(machine.get("fabric_bandwidth"), 1),
        "network_gbps": _shared(machine.get("network_bandwidth"), 1),
        "lat": values.get("latitude"),
        "lon": values.get("longitude"),
        **{name: machine.get(name) for name in ("arch", "cuda", "driver", "os", "nvlink", "fabric")},
    }
    return {name: "" if value is None else str(value) for name, value in found.items()}


def _shared(gbps: Decimal | None, bits: int) -> str | None:
    return None if gbps is None else plain(round(gbps / bits, 6))
