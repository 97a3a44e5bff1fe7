"""A node as `nvidia-smi` tells of it, for images without nvidia-ml-py: one record a GPU; what is no number is None."""

from __future__ import annotations

import csv
import subprocess

from emporion.nodes.check.seen import Attributes, GpuSeen, NodeSeen, ProbeFault

__all__ = ["SMI_FIELDS", "look_by_smi", "parse_smi", "seen_by_smi"]

SMI_FIELDS = (
    "index", "uuid", "name", "driver_version", "compute_cap", "memory.total", "pci.device_id", "temperature.gpu",
    "utilization.gpu", "ecc.errors.uncorrected.volatile.total", "power.limit", "power.default_limit",
    "pcie.link.width.current", "pcie.link.width.max",
)  # fmt: skip
_TIMEOUT_S = 20


def parse_smi(text: str, fields: tuple[str, ...]) -> list[dict[str, str | None]]:
    """Return one record for each line, in their order; `[N/A]`, `[Not Supported]`, `ERR!` and the like are None."""
    records = []
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        padded = [*cells, *[""] * len(fields)]
        records.append({name: _told(cell) for name, cell in zip(fields, padded, strict=False)})
    return records


def _told(cell: str) -> str | None:
    return None if not cell or cell.startswith("[") or cell.upper() in {"N/A", "ERR!"} else cell


def _smi_number(cell: str | None) -> float | None:
    try:
        return float(cell.split()[0]) if cell else None
    except ValueError:
        return None


def _smi_whole(cell: str | None) -> int | None:
    number = _smi_number(cell)
    return None if number is None else int(number)


def seen_by_smi(text: str) -> NodeSeen:
    """Return the node of an answer to a query of SMI_FIELDS."""
    gpus, driver = [], None
    for at, record in enumerate(parse_smi(text, SMI_FIELDS)):
        index = _smi_whole(record["index"])
        cc, pci = record["compute_cap"], record["pci.device_id"]
        driver = driver or record["driver_version"]
        gpus.append(
            GpuSeen(
                at if index is None else index,
                uuid=record["uuid"],
                nvml=Attributes(
                    name=record["name"],
                    compute_capability=_capability(cc),
                    memory_mib=_smi_whole(record["memory.total"]),
                    pci_id=f"{int(pci, 16) >> 16:04x}" if pci else None,
                ),
                temperature_c=_smi_whole(record["temperature.gpu"]),
                busy_percent=_smi_whole(record["utilization.gpu"]),
                ecc_uncorrected=_smi_whole(record["ecc.errors.uncorrected.volatile.total"]),
                power_limit_w=_smi_number(record["power.limit"]),
                power_default_w=_smi_number(record["power.default_limit"]),
                pcie_width=_smi_whole(record["pcie.link.width.current"]),
                pcie_width_max=_smi_whole(record["pcie.link.width.max"]),
            )
        )
    return NodeSeen(driver, tuple(gpus))


def _capability(text: str | None) -> tuple[int, int] | None:
    major, _, minor = (text or "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def look_by_smi() -> NodeSeen:
    """Ask `nvidia-smi`. Raises: ProbeFault: when it is not there, or says that it cannot tell."""
    query = ["nvidia-smi", f"--query-gpu={','.join(SMI_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except FileNotFoundError:
        what = "there is neither nvidia-ml-py nor nvidia-smi"
        raise ProbeFault(
            "no-driver", what, "start the container with its GPUs and `utility` in its capabilities"
        ) from None
    except subprocess.TimeoutExpired:
        what = f"nvidia-smi does not answer within {_TIMEOUT_S} s"
        raise ProbeFault("nvml", what, "look at the host's kernel log") from None
    if done.returncode:
        said = (done.stdout or done.stderr).strip().splitlines()
        what = f"nvidia-smi ends with {done.returncode}: {said[0] if said else 'no words'}"
        raise ProbeFault("nvml", what, "look at the host's driver")
    return seen_by_smi(done.stdout)
