"""Google Cloud's list prices: the Cloud Billing Catalog, for the machine types that Compute Engine has in each zone.

With a login (`gcloud auth application-default login`) both are asked. With an API key alone (GOOGLE_API_KEY) the prices
are, and the zones of the machine types are those of the bundled snapshot: Compute Engine answers no keys.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list,
https://cloud.google.com/compute/docs/reference/rest/v1/machineTypes/aggregatedList (read 2026-12-01)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emporion.components.gcp.machines import SOURCE as COMPUTE
from emporion.components.gcp.machines import Machine, bundled_machines, listed_machines
from emporion.components.gcp.price_list import SOURCE, PriceList
from emporion.components.price_rows import PriceRow, odd, stamp
from emporion.market.offers.adapter import Adapter, Ask, Row

__all__ = ["ADAPTER", "Login", "fetch_with"]

_log = logging.getLogger(__name__)

_SKUS = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
"""The SKUs of the service Compute Engine."""
_COMPUTE = "https://compute.googleapis.com/compute/v1/projects"
_READ = "https://www.googleapis.com/auth/cloud-platform"
_MOST_PAGES = 1000
_FIX = "run gcloud auth application-default login, or set GOOGLE_API_KEY to a key for the Cloud Billing API"


@dataclass(frozen=True, slots=True)
class Login:
    """How the APIs are asked. A key or token goes into a header: addresses stand in messages."""

    headers: Mapping[str, str]
    project: str | None
    """None: only prices can be asked."""


def _log_in(ask: Ask) -> Login:
    """Return the application default login, else the key.

    Raises: UserError E-ADAPTER: when there is neither.
    """
    key = ask.env.get("GOOGLE_API_KEY")
    with_key = Login({"X-Goog-Api-Key": key}, None) if key else None
    try:
        import google.auth  # noqa: PLC0415 - an extra, and only a refresh needs it
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from google.auth.transport.requests import Request  # noqa: PLC0415
    except ModuleNotFoundError:
        if with_key is not None:
            return with_key
        raise odd(SOURCE, "cannot be asked: google-auth is not installed", "install emporion[gcp]") from None
    try:
        credentials, project = google.auth.default(scopes=[_READ])
        credentials.refresh(Request())  # type: ignore[no-untyped-call]
    except GoogleAuthError as error:
        if with_key is not None:
            return with_key
        said = str(error).split(". ", 1)[0].rstrip(".")
        raise odd(SOURCE, f"cannot be asked: no Google login ({said[:120]})", _FIX) from error
    headers = {"Authorization": f"Bearer {credentials.token}"}
    quota = getattr(credentials, "quota_project_id", None)
    if quota:  # whose quota a person's login uses; a service account has its own
        headers["X-Goog-User-Project"] = quota
    return Login(headers, ask.env.get("GOOGLE_CLOUD_PROJECT") or project)


def fetch_with(ask: Ask, log_in: Callable[[Ask], Login]) -> Iterator[Row]:
    """Yield a row per machine type and zone.

    Raises: UserError E-ADAPTER: when nobody is logged in, or an API answers what it does not document.
    """
    login = log_in(ask)
    prices = PriceList(ask.now)
    for done, body in enumerate(_pages(ask, _SKUS, login, {"pageSize": "5000"}, SOURCE), start=1):
        skus = body.get("skus", [])
        prices.take(_items(skus, SOURCE))
        ask.progress("pages of SKUs", done, None)
    if not len(prices):
        raise odd(SOURCE, "names no price of a machine")
    machines = sorted(_machines(ask, login), key=lambda found: (found.region, found.zone, found.instance_type))
    if not machines:
        raise odd(COMPUTE, "names no machine type that is for sale")
    as_of, currency = stamp(ask.now), prices.currency or "USD"
    for machine in machines:
        on_demand, spot = (
            prices.per_hour(machine.billed, machine.amounts, machine.region, market) for market in ("on_demand", "spot")
        )
        yield PriceRow(
            "gcp", machine.region, machine.zone, machine.instance_type, machine.about, on_demand, spot, SOURCE, as_of,
            currency, machine.billed.purchase, machine.arch,
        ).cells()  # fmt: skip


def _machines(ask: Ask, login: Login) -> Iterable[Machine]:
    if login.project is None:
        _log.warning("provider=gcp zones=bundled reason='no login or no project: Compute Engine answers no API key'")
        return bundled_machines()
    accelerators = list(_everywhere(ask, login, login.project, "acceleratorTypes"))
    return listed_machines(_everywhere(ask, login, login.project, "machineTypes"), accelerators)


def _everywhere(ask: Ask, login: Login, project: str, kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield the items of all zones.

    Raises: UserError E-ADAPTER: when a zone did not answer; its offers would be missing without a word.
    """
    url = f"{_COMPUTE}/{project}/aggregated/{kind}"
    for done, body in enumerate(_pages(ask, url, login, {"maxResults": "500"}, COMPUTE), start=1):
        scopes = body.get("items", {})
        if not isinstance(scopes, dict) or not all(isinstance(scope, dict) for scope in scopes.values()):
            raise odd(COMPUTE, f"answers {kind} without zones")
        told = body.get("unreachables") or []
        if not isinstance(told, list):
            raise odd(COMPUTE, f"answers {kind} without zones")
        silent = [*told, *(name for name, scope in scopes.items() if _unreachable(scope))]
        if silent or _unreachable(body):
            raise odd(COMPUTE, f"answers a partial page: {', '.join(map(str, silent))[:80] or 'a zone'} is unreachable")
        for scope in scopes.values():
            yield from _items(scope.get(kind, []), COMPUTE)
        ask.progress(f"pages of {kind}", done, None)


def _unreachable(scope: Mapping[str, Any]) -> bool:
    warning = scope.get("warning")
    return isinstance(warning, dict) and warning.get("code") not in (None, "NO_RESULTS_ON_PAGE")


def _pages(ask: Ask, url: str, login: Login, params: Mapping[str, str], source: str) -> Iterator[Mapping[str, Any]]:
    token, seen = "", set[str]()
    while len(seen) < _MOST_PAGES:
        seen.add(token)
        body = ask.get(url, params={**params, **({"pageToken": token} if token else {})}, headers=login.headers).body
        if not isinstance(body, dict) or not ({"skus", "items"} & set(body)):
            raise odd(source, "answers a page without items")
        yield body
        following = body.get("nextPageToken") or ""
        if not following:
            return
        if not isinstance(following, str) or following in seen:
            raise odd(source, "names the same page twice")
        token = following
    raise odd(source, f"answers more than {_MOST_PAGES} pages")


def _items(found: object, source: str) -> list[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise odd(source, "answers a page without items")
    return found


def _fetch(ask: Ask) -> Iterator[Row]:
    return fetch_with(ask, _log_in)


ADAPTER = Adapter(provider="gcp", extra="gcp", source=SOURCE, needs=(), fetch=_fetch)
"""The adapter, as the entry point names it."""
