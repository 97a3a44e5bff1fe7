# ruff: noqa: INP001, S310 - a file of the node, which talks to AWS and the metadata service alone
"""The four AWS calls of a node's first boot, with what every Python 3 has.

Stock images have no AWS command line, and a cluster without a way out cannot install one. Credentials are those of the
instance's role (IMDSv2).
"""

import argparse
import datetime as dt
import hashlib
import hmac
import json
import pathlib
import sys
import time
import urllib.parse
import urllib.request

METADATA = "http://169.254.169.254/latest"
EMPTY = hashlib.sha256(b"").hexdigest()
TIMEOUT_S = 30


def metadata(path: str) -> str:
    """Return an entry of the instance metadata."""
    ask = urllib.request.Request(
        METADATA + "/api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    )
    with urllib.request.urlopen(ask, timeout=TIMEOUT_S) as answer:
        token = answer.read().decode()
    ask = urllib.request.Request(METADATA + path, headers={"X-aws-ec2-metadata-token": token})
    with urllib.request.urlopen(ask, timeout=TIMEOUT_S) as answer:
        found: str = answer.read().decode()
    return found


def credentials() -> tuple[str, str, str]:
    """Return key id, secret and session token of the instance's role."""
    role = metadata("/meta-data/iam/security-credentials/").split()[0]
    found = json.loads(metadata("/meta-data/iam/security-credentials/" + role))
    return found["AccessKeyId"], found["SecretAccessKey"], found["Token"]


def sign(
    *,
    method: str,
    host: str,
    path: str,
    headers: dict[str, str],
    body: bytes,
    service: str,
    region: str,
    keys: tuple[str, str, str],
    now: dt.datetime,
) -> dict[str, str]:
    """Return `headers` with a Signature Version 4 (no query, path already encoded)."""
    key_id, secret, token = keys
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest = hashlib.sha256(body).hexdigest()
    signed = {name.lower(): value for name, value in headers.items()}
    signed.update({"host": host, "x-amz-date": stamp, "x-amz-content-sha256": digest, "x-amz-security-token": token})
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    scope = f"{day}/{region}/{service}/aws4_request"
    request = hashlib.sha256(f"{method}\n{path}\n\n{lines}\n{names}\n{digest}".encode()).hexdigest()
    key = ("AWS4" + secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{request}"
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    signed["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return signed


def call(
    service: str, region: str, host: str, path: str = "/", *, target: str = "", payload: dict[str, object] | None = None
) -> bytes:
    """Send one signed request and return the answer's bytes."""
    body = b"" if payload is None else json.dumps(payload).encode()
    method = "GET" if payload is None else "POST"
    headers = {"x-amz-target": target, "content-type": "application/x-amz-json-1.1"} if target else {}
    now = dt.datetime.now(dt.UTC)
    signed = sign(
        method=method,
        host=host,
        path=path,
        headers=headers,
        body=body,
        service=service,
        region=region,
        keys=credentials(),
        now=now,
    )
    ask = urllib.request.Request(f"https://{host}{path}", data=body or None, headers=signed, method=method)
    with urllib.request.urlopen(ask, timeout=TIMEOUT_S) as answer:
        found: bytes = answer.read()
    return found


def get_object(region: str, bucket: str, key: str, file: str) -> None:
    """Write an object of a bucket to a file."""
    host = f"{bucket}.s3.{region}.amazonaws.com"
    pathlib.Path(file).write_bytes(call("s3", region, host, "/" + urllib.parse.quote(key)))


def get_parameter(region: str, name: str) -> None:
    """Print a parameter's value."""
    host = f"ssm.{region}.amazonaws.com"
    answer = call("ssm", region, host, target="AmazonSSM.GetParameter", payload={"Name": name, "WithDecryption": True})
    sys.stdout.write(json.loads(answer)["Parameter"]["Value"])


def put_parameter(region: str, name: str) -> None:
    """Replace a parameter's value by standard input."""
    payload: dict[str, object] = {"Name": name, "Value": sys.stdin.read(), "Overwrite": True}
    call("ssm", region, f"ssm.{region}.amazonaws.com", target="AmazonSSM.PutParameter", payload=payload)


def put_log(region: str, group: str, stream: str, file: str) -> None:
    """Send the end of a file to a new log stream."""
    host = f"logs.{region}.amazonaws.com"
    where: dict[str, object] = {"logGroupName": group, "logStreamName": stream}
    call("logs", region, host, target="Logs_20140328.CreateLogStream", payload=where)
    lines = [line for line in pathlib.Path(file).read_text(errors="replace").splitlines() if line.strip()][-2000:]
    now = int(time.time() * 1000)
    events = [{"timestamp": now, "message": line[:4000]} for line in lines]
    call("logs", region, host, target="Logs_20140328.PutLogEvents", payload={**where, "logEvents": events})


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--region", required=True)
    parser.add_argument("action", choices=["get-object", "get-parameter", "put-parameter", "put-log"])
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    action = globals()[given.action.replace("-", "_")]
    action(given.region, *given.rest)


if __name__ == "__main__":
    main()
