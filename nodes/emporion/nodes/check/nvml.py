"""A node as NVML tells of it, through nvidia-ml-py. What a board does not have is None; what fails is a fault."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from typing import Any

from emporion.nodes.check.seen import Attributes, GpuSeen, NodeSeen, ProbeFault

__all__ = ["Nvml", "p2p_status"]

_SERIOUS = {8, 10, 11, 14, 15, 16, 999}
"""Power missing, timeout, interrupt, damaged inforom, lost, reset required, unknown error. Any other answer (not
supported, not permitted, no such link, unknown to an older driver) says nothing against the GPU."""
_LOST = 15
_MISMATCH = 18
_LINKS = 18
_XID_EVENT = 0x8
_INIT_FAULTS = {
    9: ("no-driver", "the NVIDIA driver is not loaded", "load the driver on the host"),
    12: ("no-driver", "there is no NVML library", "start the container with its GPUs (`--gpus all`, or CDI)"),
}


class Nvml:
    """NVML, opened once."""

    def __init__(self, pynvml: Any) -> None:  # noqa: ANN401 - a module
        """Open NVML through the module of nvidia-ml-py. Raises: ProbeFault: when it does not open."""
        self.api = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise _init_fault(error.value, str(error)) from None

    def look(self) -> NodeSeen:
        """Return the node as it is now. Raises: ProbeFault: when not even the number of GPUs is told."""
        try:
            count = int(self.api.nvmlDeviceGetCount())
        except self.api.NVMLError as error:
            raise ProbeFault("nvml", f"NVML does not count the GPUs: {error}", "restart the container") from None
        driver = self._call({}, "nvmlSystemGetDriverVersion")
        return NodeSeen(driver if driver is None else _text(driver), tuple(self._gpu(index) for index in range(count)))

    def _call(self, faults: dict[str, str], name: str, *arguments: object) -> Any:  # noqa: ANN401 - as NVML answers
        """Return what a call answers, or None; a failure that is no lack of the board goes into `faults`."""
        try:
            return getattr(self.api, name)(*arguments)
        except self.api.NVMLError as error:
            if error.value in _SERIOUS:
                faults[name] = "lost" if error.value == _LOST else str(error)
            return None

    def _gpu(self, index: int) -> GpuSeen:
        faults: dict[str, str] = {}
        handle = self._call(faults, "nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            return GpuSeen(index, lost="lost" in faults.values(), faults=faults)

        def ask(name: str, *arguments: object) -> Any:  # noqa: ANN401 - as NVML answers
            return self._call(faults, name, handle, *arguments)

        mig, ecc, rows = ask("nvmlDeviceGetMigMode"), ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetRemappedRows")
        use, up_down = ask("nvmlDeviceGetUtilizationRates"), self._links(ask)
        uuid, memory = ask("nvmlDeviceGetUUID"), ask("nvmlDeviceGetMemoryInfo")
        reasons = ask("nvmlDeviceGetCurrentClocksEventReasons")
        return GpuSeen(
            index,
            uuid=_text(uuid) if uuid is not None else None,
            nvml=self._attributes(ask),
            mig=bool(mig and mig[0]),
            temperature_c=ask("nvmlDeviceGetTemperature", 0),
            slowdown_c=ask("nvmlDeviceGetTemperatureThreshold", 1),
            throttle_bits=reasons if reasons is not None else ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
            power_limit_w=_watts(ask("nvmlDeviceGetEnforcedPowerLimit")),
            power_default_w=_watts(ask("nvmlDeviceGetPowerManagementDefaultLimit")),
            busy_percent=use.gpu if use is not None else None,
            memory_free_mib=int(memory.free) >> 20 if memory is not None else None,
            ecc_on=bool(ecc[0]) if ecc is not None else None,
            ecc_uncorrected=ask("nvmlDeviceGetTotalEccErrors", 1, 0) if ecc is None or ecc[0] else None,
            remap_pending=bool(rows[2]) if rows is not None else None,
            remap_failed=bool(rows[3]) if rows is not None else None,
            pcie_width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
            pcie_width_max=ask("nvmlDeviceGetMaxPcieLinkWidth"),
            pcie_replays=ask("nvmlDeviceGetPcieReplayCounter"),
            nvlinks_up=up_down[0],
            nvlinks_down=up_down[1],
            nvlink_errors=up_down[2],
            lost="lost" in faults.values(),
            faults=faults,
        )

    def _attributes(self, ask: Callable[..., Any]) -> Attributes:
        name, cc, memory = (
            ask("nvmlDeviceGetName"),
            ask("nvmlDeviceGetCudaComputeCapability"),
            ask("nvmlDeviceGetMemoryInfo"),
        )
        pci = ask("nvmlDeviceGetPciInfo")
        return Attributes(
            name=_text(name) if name is not None else None,
            compute_capability=(int(cc[0]), int(cc[1])) if cc is not None else None,
            bus_bits=ask("nvmlDeviceGetMemoryBusWidth"),
            memory_mib=int(memory.total) >> 20 if memory is not None else None,
            pci_id=f"{int(pci.pciDeviceId) >> 16:04x}" if pci is not None else None,
        )

    def _links(self, ask: Callable[..., Any]) -> tuple[int, int, int | None]:
        """Return NVLinks that are up and down, and their errors; links that a board does not have are in neither."""
        states = [ask("nvmlDeviceGetNvLinkState", link) for link in range(_LINKS)]
        up = [link for link, state in enumerate(states) if state]
        errors = [ask("nvmlDeviceGetNvLinkErrorCounter", link, counter) for link in up for counter in range(4)]
        known = [int(error) for error in errors if error is not None]
        return len(up), states.count(0), sum(known) if known else None

    def watch(self, index: int) -> Any:  # noqa: ANN401 - a set of NVML's
        """Return a watch for critical errors of a GPU, or None where the driver has none."""
        faults: dict[str, str] = {}
        handle = self._call(faults, "nvmlDeviceGetHandleByIndex", index)
        events = self._call(faults, "nvmlEventSetCreate")
        if handle is None or events is None:
            return None
        self._call(faults, "nvmlDeviceRegisterEvents", handle, _XID_EVENT, events)
        return None if faults else events

    def xids(self, events: Any) -> tuple[int, ...]:  # noqa: ANN401 - as `watch` made it
        """Return the critical errors since a watch began, and end it."""
        found: list[int] = []
        while events is not None and len(found) < _LINKS:
            event = self._call({}, "nvmlEventSetWait_v2", events, 0)
            if event is None:
                break
            found.append(int(event.eventData))
        if events is not None:
            self._call({}, "nvmlEventSetFree", events)
        return tuple(found)


def p2p_status(pynvml: Any, one: object, other: object) -> dict[str, int | None]:  # noqa: ANN401 - a module
    """Return how two GPUs reach each other, by kind; None is not told.

    The module's NVML_P2P_CAPS_INDEX_READ is the tuple (0,), and ctypes takes numbers alone (cases/operations.md O19).
    """
    found: dict[str, int | None] = {}
    for kind in ("READ", "WRITE", "NVLINK", "ATOMICS"):
        index = getattr(pynvml, f"NVML_P2P_CAPS_INDEX_{kind}")
        try:
            status = pynvml.nvmlDeviceGetP2PStatus(one, other, index[0] if isinstance(index, tuple) else index)
        except pynvml.NVMLError:
            status = None
        found[kind.lower()] = status
    return found


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _init_fault(code: int, said: str) -> ProbeFault:
    if code == _MISMATCH:
        module, library = _module_version(), _library_version()
        what = (
            f"the kernel module is {module or '?'} and the NVML library {library or '?'}: a driver was updated in place"
        )
        return ProbeFault(
            "mismatch", what, "reboot, or reload the module; hold the driver's packages back from updates"
        )
    kind, what, fix = _INIT_FAULTS.get(code, ("nvml", f"NVML does not open: {said}", "restart the container"))
    return ProbeFault(kind, what, fix)


def _module_version() -> str | None:
    """Return the version of the loaded kernel module."""
    path = os.environ.get("EMPORION_NVIDIA_VERSION", "/proc/driver/nvidia/version")
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - one line of the kernel's
            match = re.search(r"Kernel Module\s+(?:for \S+\s+)?([0-9]+(?:\.[0-9]+)+)", file.read())
    except OSError:
        return None
    return match[1] if match else None


def _library_version() -> str | None:
    """Return the version in the name of the NVML library that the loader finds."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
    for folder in [*folders, "/usr/lib/aarch64-linux-gnu", "/usr/local/nvidia/lib64"]:
        for path in sorted(glob.glob(f"{folder}/libnvidia-ml.so.*.*")) if folder else ():  # noqa: PTH207 - names alone
            return path.rpartition("libnvidia-ml.so.")[2]
    return None
