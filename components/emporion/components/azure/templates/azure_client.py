# ruff: noqa: INP001, S310 - a file of the node, which talks to Azure and the metadata service alone
"""The few calls of a node's first boot, with what every Python 3 has.

A node has two identities: that of the cluster, which may read or write what it needs, and one that logins use. The
token is asked for the first by its resource id.
"""

import argparse
import datetime as dt
import json
import pathlib
import sys
import urllib.parse
import urllib.request

METADATA = "http://169.254.169.254/metadata"
METADATA_VERSION = "2018-02-01"
VAULT_VERSION = "7.4"
STORAGE_VERSION = "2023-11-03"
TIMEOUT_S = 30
MOST_LOG_BYTES = 4_000_000


def token(identity: str, resource: str) -> str:
    """Return an access token of the node's identity for a service."""
    query = urllib.parse.urlencode({"api-version": METADATA_VERSION, "resource": resource, "msi_res_id": identity})
    ask = urllib.request.Request(f"{METADATA}/identity/oauth2/token?{query}", headers={"Metadata": "true"})
    with urllib.request.urlopen(ask, timeout=TIMEOUT_S) as answer:
        found: str = json.load(answer)["access_token"]
    return found


def call(method: str, url: str, bearer: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
    """Return the answer to one request."""
    given = {"Authorization": f"Bearer {bearer}", **(headers or {})}
    ask = urllib.request.Request(url, data=body, method=method, headers=given)
    with urllib.request.urlopen(ask, timeout=TIMEOUT_S) as answer:
        found: bytes = answer.read()
    return found


def secret_url(vault: str, name: str) -> str:
    """Return the address of a secret."""
    return f"https://{vault}.vault.azure.net/secrets/{name}?api-version={VAULT_VERSION}"


def get_secret(identity: str, vault: str, name: str) -> None:
    """Print a secret."""
    answer = call("GET", secret_url(vault, name), token(identity, "https://vault.azure.net"))
    sys.stdout.write(json.loads(answer)["value"])


def put_secret(identity: str, vault: str, name: str) -> None:
    """Set a secret to standard input."""
    body = json.dumps({"value": sys.stdin.read()}).encode()
    bearer = token(identity, "https://vault.azure.net")
    call("PUT", secret_url(vault, name), bearer, body, {"Content-Type": "application/json"})


def put_blob(identity: str, url: str, file: str) -> None:
    """Put the end of a file into a new blob."""
    body = pathlib.Path(file).read_bytes()[-MOST_LOG_BYTES:]
    now = dt.datetime.now(dt.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-blob-type": "BlockBlob", "x-ms-version": STORAGE_VERSION, "x-ms-date": now}
    call("PUT", url, token(identity, "https://storage.azure.com"), body, headers)


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--identity", required=True)
    parser.add_argument("action", choices=["get-secret", "put-secret", "put-blob"])
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    action = globals()[given.action.replace("-", "_")]
    action(given.identity, *given.rest)


if __name__ == "__main__":
    main()
