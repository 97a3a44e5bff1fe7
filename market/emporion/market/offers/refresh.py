"""Refreshing offers: every provider is asked at the same time, and one that fails keeps the prices that it had.

Adapters run in threads that nobody joins: one that hangs is left behind when its time is up. Files are written by the
caller's thread alone, so that an interrupt finds each of them whole.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from dataclasses import replace as changed
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Protocol

from emporion.market.dates import stamp
from emporion.market.errors import ExitCode, UserError, UserErrors, did_you_mean
from emporion.market.money import Rate
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.catalogue import Catalogue
from emporion.market.offers.refreshed import Known, Status, check_rows, keep, known_offers, read_status, write_status

__all__ = ["Listener", "OpenAsk", "Result", "chosen_adapters", "refresh"]

_FEWEST = 0.2
"""The share of the known offers below which an answer is taken for a cut one."""

Listener = Callable[[str, str, int, int | None], None]
"""(provider, what, done, total) -> None; called from several threads."""


class OpenAsk(Protocol):
    """How the way to the network is opened for one adapter; `HttpAsk` is the real one, a test brings its own."""

    def __call__(
        self,
        adapter: Adapter,
        now: datetime,
        env: Mapping[str, str],
        *,
        listen: Callable[[str, int, int | None], None],
        stop: threading.Event,
    ) -> AbstractContextManager[Ask]:
        """Return the `Ask` of an adapter; once `stop` is set it raises `Stopped`."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """How the refresh of one provider ended."""

    provider: str
    status: str
    """`refreshed`, `failed` (the old prices stay) or `skipped` (its key is missing and nobody named it)."""
    known: Known
    """What there is now."""
    refused: int = 0
    notes: tuple[str, ...] = ()
    rows: int = 0
    """Rows that were kept of the answer."""
    error: UserError | None = None
    """Why it failed or was skipped."""


@dataclass(frozen=True, slots=True)
class _End:
    """How one adapter ended."""

    adapter: Adapter
    rows: Sequence[Row] = ()
    error: BaseException | None = None


def chosen_adapters(installed: Mapping[str, Adapter], names: Sequence[str]) -> list[Adapter]:
    """Return the adapters of these providers, of all without a name.

    Raises: UserError E-PROVIDER: for each name that has none, with the nearest one.
    """
    problems = []
    for name in dict.fromkeys(names):
        if name.lower() not in installed:
            near = did_you_mean(name, set(installed))
            fix = f"did you mean {near}" if near else f"there are: {', '.join(installed)}"
            problems.append(UserError("E-PROVIDER", f"no live prices of {name[:40]!r}", "PROVIDER", fix))
    if problems:
        raise UserErrors.of(problems)
    wanted = {name.lower() for name in names} or set(installed)
    return [adapter for name, adapter in installed.items() if name in wanted]


def refresh(
    adapters: Sequence[Adapter],
    folder: Path,
    *,
    open_ask: OpenAsk,
    bundled: Catalogue,
    now: datetime,
    env: Mapping[str, str],
    named: bool,
    timeout_s: float,
    rates: Mapping[str, Rate] = MappingProxyType({}),
    accept_fewer: bool = False,
    listen: Listener = lambda _provider, _what, _done, _total: None,
) -> tuple[Result, ...]:
    """Ask these adapters for their prices and keep those of each that answers, in `folder`.

    `named`: the user named the providers, so that one whose key is missing has failed. `accept_fewer`: an answer with
    far fewer offers than are known is believed. No provider takes longer than `timeout_s`.

    Raises: whatever a fault in an adapter raises, after the results of the others were kept.
    """
    results, asked, faults = dict[str, Result](), list[Adapter](), list[BaseException]()
    for adapter in adapters:
        missing = [name for name in adapter.needs if not env.get(name)]
        if missing:
            known = known_offers(folder, adapter.provider, bundled, rates)
            status = "failed" if named else "skipped"
            results[adapter.provider] = Result(adapter.provider, status, known, error=_without_key(adapter, missing))
        else:
            asked.append(adapter)
    stop = threading.Event()
    try:
        for end in _as_they_end(asked, stop, open_ask=open_ask, now=now, env=env, timeout_s=timeout_s, listen=listen):
            if end.error is not None and not isinstance(end.error, UserError):
                faults.append(end.error)
                continue
            before = known_offers(folder, end.adapter.provider, bundled, rates)
            result = _kept(end, folder, before, rates, accept_fewer=accept_fewer)
            results[result.provider] = result
            _note(folder, result, now)
    finally:
        stop.set()
    for fault in faults:
        raise fault
    return tuple(results[adapter.provider] for adapter in adapters)


def _without_key(adapter: Adapter, missing: list[str]) -> UserError:
    names = ", ".join(missing)
    what = f"prices of {adapter.provider} cannot be read: needs {names}"
    return UserError("E-ADAPTER", what, adapter.provider, f"set {names} to a key of yours", ExitCode.FAILED)


def _as_they_end(
    adapters: Sequence[Adapter],
    stop: threading.Event,
    *,
    open_ask: OpenAsk,
    now: datetime,
    env: Mapping[str, str],
    timeout_s: float,
    listen: Listener,
) -> Iterator[_End]:
    """Yield the end of each adapter, all started at once; when time is up, that of those still at work."""
    ended: queue.SimpleQueue[_End] = queue.SimpleQueue()
    waiting = {adapter.provider: adapter for adapter in adapters}
    for adapter in adapters:
        asking = open_ask(adapter, now, env, listen=partial(listen, adapter.provider), stop=stop)
        threading.Thread(target=_work, args=(adapter, asking, ended), name=adapter.provider, daemon=True).start()
    deadline = time.monotonic() + timeout_s
    while waiting:
        try:
            end = ended.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            stop.set()
            for provider, adapter in waiting.items():
                what = f"prices of {provider} cannot be read: {adapter.source} took longer than {timeout_s:g} s"
                fix = "try again, or give it longer: --timeout"
                yield _End(adapter, error=UserError("E-ADAPTER", what, adapter.source, fix, ExitCode.FAILED))
            return
        del waiting[end.adapter.provider]
        yield end


def _work(adapter: Adapter, asking: AbstractContextManager[Ask], ended: queue.SimpleQueue[_End]) -> None:
    with _HandIn(adapter, ended), asking as ask:
        ended.put(_End(adapter, tuple(adapter.fetch(ask))))


@dataclass
class _HandIn:
    """Hands in whatever ends an adapter's thread; there, an exception would reach nobody."""

    adapter: Adapter
    ended: queue.SimpleQueue[_End]

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Hand the exception in, if there is one."""
        if error is not None:
            self.ended.put(_End(self.adapter, error=error))
        return True


def _kept(end: _End, folder: Path, before: Known, rates: Mapping[str, Rate], *, accept_fewer: bool) -> Result:
    """Return the result of an adapter, its prices kept if they are good."""
    adapter = end.adapter
    try:
        if isinstance(end.error, UserError):
            raise end.error
        if not end.rows:
            raise _odd(adapter, "names no offer at all")
        checked = check_rows(end.rows, adapter.provider, rates)
        if not accept_fewer and not adapter.lists_stock and _is_few(checked.found, before):
            what = f"names {checked.found.offers} offers, {before.offers} are known"
            raise _odd(adapter, what, f"if that is right: emporion offers refresh {adapter.provider} --accept-fewer")
    except UserError as error:
        return Result(adapter.provider, "failed", before, error=error)
    keep(folder, adapter.provider, checked)
    return Result(adapter.provider, "refreshed", checked.found, checked.refused, checked.notes, rows=checked.rows)


def _odd(adapter: Adapter, what: str, fix: str = "try again later") -> UserError:
    what = f"prices of {adapter.provider} cannot be read: {adapter.source} {what}"
    return UserError("E-ADAPTER", what, adapter.source, fix, ExitCode.FAILED)


def _is_few(found: Known, before: Known) -> bool:
    """Return whether an answer looks cut; who brings no CPU machines leaves the bundled ones where they are."""
    cpu = (before.refreshed or found.cpu_offers) and found.cpu_offers < _FEWEST * before.cpu_offers
    return found.gpu_offers < _FEWEST * before.gpu_offers or bool(cpu)


def _note(folder: Path, result: Result, now: datetime) -> None:
    """Write down how a refresh went; what is kept of an earlier one stays noted."""
    at, earlier = stamp(now), read_status(folder, result.provider)
    if result.status == "refreshed":
        status = Status(result.provider, at, at, result.rows, result.refused, result.notes, None)
    elif earlier is None:
        status = Status(result.provider, at, None, 0, 0, (), str(result.error))
    else:
        status = changed(earlier, tried_at=at, last_error=str(result.error))
    write_status(folder, status)
