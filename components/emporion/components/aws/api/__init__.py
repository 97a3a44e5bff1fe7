"""AWS as operations see it: the real `CloudApi`, over boto3. Nothing else in Emporion imports boto3.

::

    client.py        AwsApi: one region
    session.py       boto3 clients, pagination, errors as UserError
    find_*.py        type token -> how to find what a killed create made, one file per group of services
    machines.py      nodes, notices
    quotas.py        vCPU quotas
"""

from __future__ import annotations

from emporion.components.aws.api.client import AwsApi

__all__ = ["AwsApi", "open_api"]


def open_api(region: str) -> AwsApi:
    """Return the real API of a region, as `aws.CLOUD` names it."""
    return AwsApi(region)
