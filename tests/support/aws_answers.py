"""What AWS answers, in shapes that botocore checks against its own service model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.stub import Stubber
from grounds import pending

from emporion.components.aws.api import AwsApi
from emporion.components.aws.api.session import Clients

__all__ = ["ID", "found"]

ID = "0123456789abcdef0123"


def found(clients: Clients, token: str, inputs: Mapping[str, Any], *answers: tuple[str, str, Any, Any]) -> str | None:
    """Return what is found when AWS gives `answers` (service, operation, expected parameters, response)."""
    stubbers = {}
    for service, operation, asked, answer in answers:
        if service not in stubbers:
            stubbers[service] = Stubber(getattr(clients, service))
            stubbers[service].activate()
        stubbers[service].add_response(operation, answer, asked)
    try:
        result = AwsApi("us-east-1", clients=clients).find(pending(token, ID, inputs))
        for stubber in stubbers.values():
            stubber.assert_no_pending_responses()
        return result
    finally:
        for stubber in stubbers.values():
            stubber.deactivate()
