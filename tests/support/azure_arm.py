"""Azure Resource Manager in memory: answers in the shapes that its REST reference records, over an httpx transport."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from emporion.components.azure.api.credentials import Credentials, Token
from emporion.components.azure.api.rest import Rest

__all__ = ["SUBSCRIPTION", "Arm", "Loggedin", "open_rest"]

SUBSCRIPTION = "12345678-1234-1234-1234-123456789012"
_PUBLISHERS = re.compile(
    r"/publishers/(?P<publisher>[^/]+)/artifacttypes/vmimage/offers/(?P<offer>[^/]+)/skus/(?P<sku>[^/]+)/versions"
    r"(?:/(?P<version>[^/]+))?$"
)


class Loggedin(Credentials):
    """Somebody who is logged in."""

    def token(self, resource: str = "") -> Token:
        del resource
        return Token("a-token", SUBSCRIPTION)


class Arm:
    """What is there, and how the next requests fail."""

    def __init__(self, region: str = "eastus") -> None:
        self.region = region
        self.things: dict[str, dict[str, Any]] = {}
        self.images: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
        self.usages: list[dict[str, Any]] = []
        self.skus: list[dict[str, Any]] = []
        self.failing: list[httpx.Response] = []
        self.asked: list[httpx.Request] = []
        self.blobs = httpx.Response(404)
        """What a store answers when its container is listed."""
        self.page = 2
        """Items a page, so that every list has several."""

    def put(self, path: str, body: Mapping[str, Any]) -> str:
        """Put something there and return its id."""
        self.things[path.lower()] = {"id": path, "name": path.rpartition("/")[2], **body}
        return path

    def drop(self, path: str) -> None:
        """Take something away, with what lies below it."""
        for one in [one for one in self.things if one == path.lower() or one.startswith(f"{path.lower()}/")]:
            del self.things[one]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.asked.append(request)
        if self.failing:
            return self.failing.pop(0)
        assert request.headers["Authorization"] == "Bearer a-token"
        if request.url.host.endswith(".blob.core.windows.net"):
            return self.blobs
        assert request.url.params.get("api-version") or "skip" in request.url.params
        path = request.url.path
        if request.method == "DELETE":
            status = 202 if path.lower() in self.things else 404
            self.drop(path)
            return httpx.Response(status, json=error("ResourceNotFound") if status == 404 else None)
        return self._get(request, path)

    def _get(self, request: httpx.Request, path: str) -> httpx.Response:
        if path == f"/subscriptions/{SUBSCRIPTION}":
            return httpx.Response(200, json={"subscriptionId": SUBSCRIPTION, "state": "Enabled"})
        image = _PUBLISHERS.search(path)
        if image:
            return self._image(image)
        found = self.things.get(path.lower())
        if found is not None:
            return httpx.Response(200, json=found)
        listed = self._list(path)
        if listed is None:
            return httpx.Response(404, json=error("ResourceNotFound"))
        first = int(request.url.params.get("skip", "0"))
        page: dict[str, Any] = {"value": listed[first : first + self.page]}
        if first + self.page < len(listed):
            page["nextLink"] = f"https://management.azure.com{path}?skip={first + self.page}"
        return httpx.Response(200, json=page)

    def _list(self, path: str) -> list[dict[str, Any]] | None:
        below = path.removeprefix(f"/subscriptions/{SUBSCRIPTION}")
        if below == "/locations":
            zones = [{"logicalZone": str(n), "physicalZone": f"{self.region}-az{(n % 3) + 1}"} for n in (1, 2, 3)]
            return [
                {"name": "westus"},
                {"name": "mars"},
                {"name": self.region, "availabilityZoneMappings": zones},
            ]
        if below == "/providers/Microsoft.Compute/skus":
            return self.skus
        if below == f"/providers/Microsoft.Compute/locations/{self.region}/usages":
            return self.usages
        if below.startswith("/providers/"):
            return [one for key, one in self.things.items() if f"{below.lower()}/" in key and _is_last(key, below)]
        inside = [one for key, one in self.things.items() if key.rpartition("/")[0] == path.lower()]
        return inside if path.rpartition("/")[2] in ("virtualMachines", "networkInterfaces") else None

    def _image(self, asked: re.Match[str]) -> httpx.Response:
        key = (asked["publisher"], asked["offer"], asked["sku"])
        versions = self.images.get(key)
        if versions is None:
            return httpx.Response(404, json=error("NotFound"))
        if asked["version"]:
            return httpx.Response(200, json={"name": asked["version"], "properties": versions[asked["version"]]})
        return httpx.Response(200, json=[{"name": version, "location": self.region} for version in versions])


def _is_last(key: str, below: str) -> bool:
    """Return whether a thing is of the listed type itself, not something below one."""
    return "/" not in key.partition(f"{below.lower()}/")[2]


def error(code: str, message: str = "…") -> dict[str, Any]:
    """Return an error as Azure words it."""
    return {"error": {"code": code, "message": message}}


def open_rest(arm: Arm) -> Rest:
    """Return the REST session of somebody who is logged in and never waits."""
    return Rest(
        arm.region,
        transport=httpx.MockTransport(arm),
        who=lambda client: Loggedin({}, lambda _command: "", client),
        sleep=lambda _seconds: None,
    )
