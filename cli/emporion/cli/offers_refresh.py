"""`emporion offers refresh`: ask the providers for their prices of today."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import environment, now
from emporion.cli.options import json_option, rate_option
from emporion.cli.planning import exchange, offers_folder
from emporion.cli.render import age, json_out, note, table
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from datetime import date

    from emporion.market.offers.refresh import Listener, OpenAsk, Result

__all__ = ["Network", "refresh"]

_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Network:
    """How the command reaches the providers; another one can be handed to it as click's `obj`."""

    open_ask: OpenAsk


@click.command(short_help="Ask the providers for their prices of today.")
@click.argument("providers", nargs=-1, metavar="[PROVIDER]...")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(1, 3600),
    default=_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest that the providers may take.",
)
@click.option("--accept-fewer", is_flag=True, help="Believe an answer with far fewer offers than are known.")
@rate_option
@json_option
@click.pass_context
def refresh(
    context: click.Context,
    providers: tuple[str, ...],
    timeout_s: float,
    accept_fewer: bool,
    rates: tuple[str, ...],
    as_json: bool,
) -> ExitCode:
    """Ask the providers for their prices of today, all at once; without a name each that has a live source.

    New prices take the place of the bundled ones in plans and lists. A provider that fails keeps those that it had, and
    the exit code is 1. Keys are read from the environment and go to their provider only.
    """
    from emporion.market.offers import cache_folder, load_bundled
    from emporion.market.offers import refresh as market
    from emporion.market.offers.adapter import installed_adapters

    adapters = market.chosen_adapters(installed_adapters(), providers)
    with _progress() as listen:
        results = market.refresh(
            adapters,
            offers_folder(),
            open_ask=_network(context).open_ask,
            bundled=load_bundled(cache_folder(environment())),
            now=now(),
            env=environment(),
            named=bool(providers),
            rates=exchange(rates),
            timeout_s=timeout_s,
            accept_fewer=accept_fewer,
            listen=listen,
        )
    if as_json:
        json_out("emporion.refresh/1", {"providers": [_fields(result) for result in results]})
    else:
        _tell(results)
    return ExitCode.FAILED if any(result.status == "failed" for result in results) else ExitCode.DONE


def _network(context: click.Context) -> Network:
    from emporion.market.offers.ask import HttpAsk

    return context.find_object(Network) or Network(HttpAsk)


@contextmanager
def _progress() -> Iterator[Listener]:
    """Yield what shows how far each provider is: bars on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _provider, _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[provider]}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _bars(bars)


def _bars(bars: Any) -> Listener:  # noqa: ANN401 - rich is loaded only where there is a terminal
    from threading import Lock

    known: dict[str, Any] = {}
    one_at_a_time = Lock()

    def listen(provider: str, what: str, done: int, total: int | None) -> None:
        with one_at_a_time:
            if provider not in known:
                known[provider] = bars.add_task(what, total=total, provider=provider)
        bars.update(known[provider], description=f"{done} {what}", completed=done, total=total)

    return listen


def _tell(results: Sequence[Result]) -> None:
    today = now().date()
    rows = [
        [
            result.provider, str(result.known.offers), str(result.refused) if result.status == "refreshed" else "-",
            age(result.known.as_of, today), _status(result),
        ]
        for result in results
    ]  # fmt: skip
    click.echo(table(["PROVIDER", "OFFERS", "REFUSED", "AGE", "STATUS"], rows, right=("OFFERS", "REFUSED", "AGE")))
    for result in results:
        if result.status == "failed" and result.error is not None:
            for problem in result.error.problems():
                note(f"{result.provider}: {problem.what}; {_kept(result, today)}")
            if result.error.fix:
                note(f"  try: {result.error.fix}")
    if any(result.refused for result in results):
        note("rows that were refused: emporion offers refresh --json, or the .status.json beside the offers")


def _status(result: Result) -> str:
    if result.status == "skipped" and result.error is not None:
        return result.error.what.rpartition(": ")[2]
    return result.status


def _kept(result: Result, today: date) -> str:
    """Return what stays in the place of the prices that did not come."""
    known = result.known
    if known.damaged is not None:
        return "its refreshed file cannot be used either"
    if not known.offers:
        return "there are no older ones"
    what = "refreshed" if known.refreshed else "bundled"
    return f"its {known.offers} {what} offers stay, {age(known.as_of, today)} old"


def _fields(result: Result) -> dict[str, Any]:
    errors = result.error.problems() if result.error else ()
    return {
        "provider": result.provider,
        "status": result.status,
        "offers": result.known.offers,
        "gpu_offers": result.known.gpu_offers,
        "cpu_offers": result.known.cpu_offers,
        "as_of": result.known.as_of,
        "source": "refreshed" if result.known.refreshed else "bundled",
        "refused": result.refused,
        "notes": list(result.notes),
        "errors": [{"code": one.code, "what": one.what, "where": one.where, "fix": one.fix} for one in errors],
    }
