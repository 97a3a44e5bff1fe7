"""What the real AWS client says of notices, quotas and errors, which moto does not play."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from botocore.stub import Stubber

from emporion.components.aws.api import AwsApi
from emporion.components.aws.api.quotas import quota_code
from emporion.components.aws.api.session import Clients
from emporion.market.errors import UserError


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def clients() -> Clients:
    return Clients("us-east-1", attempts=1)


def test_notices_are_told_by_time_with_their_kind(clients: Clients) -> None:
    spot = {
        "SpotInstanceRequests": [
            {"Status": {"Code": "marked-for-termination", "UpdateTime": datetime(2026, 12, 1, 10, 2, tzinfo=UTC)}},
            {"Status": {"Code": "fulfilled", "UpdateTime": datetime(2026, 12, 1, 9, 0, tzinfo=UTC)}},
        ]
    }
    status = {
        "InstanceStatuses": [
            {
                "Events": [
                    {
                        "Code": "instance-retirement",
                        "NotBefore": datetime(2026, 12, 1, 8, 0, tzinfo=UTC),
                        "Description": "degraded",
                    },
                    {
                        "Code": "system-reboot",
                        "NotBefore": datetime(2026, 11, 1, tzinfo=UTC),
                        "Description": "[Completed] done",
                    },
                ]
            }
        ]
    }
    with Stubber(clients.ec2) as stubber:
        stubber.add_response("describe_spot_instance_requests", spot)
        stubber.add_response("describe_instance_status", status)
        notices = AwsApi("us-east-1", clients=clients).notices("i-1")
    assert notices == [
        {"kind": "instance_retirement", "at": "2026-12-01T08:00:00Z"},
        {"kind": "spot_interruption", "at": "2026-12-01T10:02:00Z"},
    ]


@pytest.mark.parametrize(
    ("instance_type", "market", "code"),
    [
        ("p4d.24xlarge", "on_demand", "L-417A185B"),
        ("p4d.24xlarge", "spot", "L-7212CCBC"),
        ("p5en.48xlarge", "spot", "L-C4BD4855"),
        ("p6-b200.48xlarge", "on_demand", "L-417A185B"),
        ("p6-b200.48xlarge", "spot", None),
        ("g6e.12xlarge", "spot", "L-3819A6DF"),
        ("im4gn.large", "on_demand", "L-1216C47A"),
        ("c7i.large", "spot", "L-34B43A08"),
        ("trn1.32xlarge", "on_demand", "L-2C3B7624"),
        ("p4d.24xlarge", "reserved", None),
        ("mac2.metal", "on_demand", None),
        ("nonsense", "on_demand", None),
    ],
)
def test_each_family_counts_against_its_own_quota(instance_type: str, market: str, code: str | None) -> None:
    assert quota_code(instance_type, market) == code


def test_a_quota_of_vcpus_becomes_whole_machines(clients: Clients) -> None:
    with Stubber(clients.service_quotas) as quotas, Stubber(clients.ec2) as ec2:
        quotas.add_response(
            "get_service_quota", {"Quota": {"Value": 200.0}}, {"ServiceCode": "ec2", "QuotaCode": "L-7212CCBC"}
        )
        ec2.add_response("describe_instance_types", {"InstanceTypes": [{"VCpuInfo": {"DefaultVCpus": 96}}]})
        assert AwsApi("us-east-1", clients=clients).quota("p4d.24xlarge", "spot") == 2


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, code: str, status: int) -> Iterator[list[str]]:
    """Serve one EC2 error to every request; yield the paths asked for."""
    asked: list[str] = []

    class Failing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            error = f"<Error><Code>{code}</Code><Message>You may not.</Message></Error>"
            body = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", f"http://127.0.0.1:{server.server_port}")
        yield asked
        server.shutdown()


@pytest.mark.parametrize(
    ("code", "status", "error", "asked", "words"),
    [
        pytest.param("RequestLimitExceeded", 503, "E-CLOUD", 2, "throttles", id="throttled after retries"),
        pytest.param("UnauthorizedOperation", 403, "E-CLOUD", 1, "may not", id="forbidden"),
        pytest.param("AuthFailure", 401, "E-CREDENTIALS", 1, "credentials", id="unknown key"),
        pytest.param("RequestExpired", 400, "E-CREDENTIALS", 1, "clock", id="wrong clock"),
        pytest.param("SomethingNew", 400, "E-CLOUD", 1, "SomethingNew: You may not", id="unknown code kept verbatim"),
    ],
)
def test_what_aws_answers_is_told_in_the_users_words(
    monkeypatch: pytest.MonkeyPatch, code: str, status: int, error: str, asked: int, words: str
) -> None:
    with answering(monkeypatch, code, status) as requests, pytest.raises(UserError) as caught:
        AwsApi("us-east-1", clients=Clients("us-east-1", attempts=2)).zones()
    assert caught.value.code == error
    assert words in str(caught.value)
    assert caught.value.exit_code == 1
    assert len(requests) == asked


def test_a_refusal_names_the_action_to_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        answering(monkeypatch, "UnauthorizedOperation", 403),
        pytest.raises(UserError, match="DescribeAvailabilityZones"),
    ):
        AwsApi("us-east-1", clients=Clients("us-east-1", attempts=1)).zones()


def test_no_network_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:1")
    with pytest.raises(UserError, match="cannot be reached") as caught:
        AwsApi("us-east-1", clients=Clients("us-east-1", attempts=1)).zones()
    assert caught.value.code == "E-CLOUD"


def test_nobody_logged_in_says_how_to_log_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(UserError) as caught:
        AwsApi("us-east-1").account()
    assert caught.value.code == "E-CREDENTIALS"
    assert "aws sso login" in (caught.value.fix or "")
