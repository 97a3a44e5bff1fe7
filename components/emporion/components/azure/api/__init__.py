"""Azure as operations see it: the real `CloudApi`, over Azure Resource Manager's REST interface.

::

    client.py        AzureApi: one region of one subscription
    rest.py          requests, pages, retries, errors as UserError
    credentials.py   access tokens: a service principal's, or those of the Azure CLI
    find.py          type token -> how to find what a killed create made
    machines.py      nodes, notices
    quotas.py        core quotas
"""

from __future__ import annotations

from emporion.components.azure.api.client import AzureApi

__all__ = ["AzureApi", "open_api"]


def open_api(region: str) -> AzureApi:
    """Return the real API of a region, as `azure.CLOUD` names it."""
    return AzureApi(region)
