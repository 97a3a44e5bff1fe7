"""Access tokens for Azure Resource Manager, never kept on disk by us.

A service principal's from the environment (`ARM_*`, as the provider plugin reads them), else those of `az login`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from emporion.market.errors import ExitCode, UserError

__all__ = ["Credentials", "Token", "credentials"]

RESOURCE = "https://management.azure.com"
LOGIN = "https://login.microsoftonline.com"
TIMEOUT_S = 60
_LOG_IN = "az login, or set ARM_CLIENT_ID, ARM_CLIENT_SECRET and ARM_TENANT_ID, or work locally: --local"

Run = Callable[[Sequence[str]], str]
"""Runs a command and returns its output; raises OSError or CalledProcessError."""


@dataclass(frozen=True, slots=True)
class Token:
    """An access token; its text never enters a message."""

    text: str
    subscription: str


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where tokens come from."""

    environ: Mapping[str, str]
    run: Run
    client: httpx.Client

    def token(self, resource: str = RESOURCE) -> Token:
        """Return a token for a service and the subscription it is used for.

        Raises: UserError E-CREDENTIALS: when nobody is logged in.
        """
        given = {name: self.environ.get(f"ARM_{name}", "") for name in ("CLIENT_ID", "CLIENT_SECRET", "TENANT_ID")}
        if all(given.values()):
            return Token(self._principals(resource, **given), self._subscription())
        return self._from_cli(resource)

    def _principals(self, resource: str, **given: str) -> str:
        answer = self.client.post(
            f"{LOGIN}/{given['TENANT_ID']}/oauth2/v2.0/token",
            data={
                "grant_type": "client_credentials",
                "client_id": given["CLIENT_ID"],
                "client_secret": given["CLIENT_SECRET"],
                "scope": f"{resource}/.default",
            },
        )
        if answer.status_code != httpx.codes.OK:
            raise _nobody(f"Entra ID does not take the service principal ({answer.status_code})")
        token: str = answer.json()["access_token"]
        return token

    def _subscription(self) -> str:
        found = self.environ.get("ARM_SUBSCRIPTION_ID") or self.environ.get("AZURE_SUBSCRIPTION_ID")
        if not found:
            raise _nobody("ARM_SUBSCRIPTION_ID is not set")
        return found

    def _from_cli(self, resource: str) -> Token:
        command = ["az", "account", "get-access-token", "--resource", resource, "--output", "json"]
        asked = self.environ.get("ARM_SUBSCRIPTION_ID")
        try:
            answer = json.loads(self.run([*command, *(["--subscription", asked] if asked else [])]))
            return Token(answer["accessToken"], answer["subscription"])
        except FileNotFoundError:
            raise _nobody("the Azure CLI is not installed, and ARM_CLIENT_ID is not set") from None
        except (OSError, subprocess.SubprocessError, ValueError, KeyError):
            raise _nobody("the Azure CLI gives no token") from None


def _nobody(what: str) -> UserError:
    return UserError("E-CREDENTIALS", f"nobody is logged in to Azure: {what}", "azure", _LOG_IN, ExitCode.FAILED)


def _run(command: Sequence[str]) -> str:
    return subprocess.run(list(command), capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout


def credentials(client: httpx.Client) -> Credentials:
    """Return the credentials of this process' environment."""
    return Credentials(os.environ, _run, client)
