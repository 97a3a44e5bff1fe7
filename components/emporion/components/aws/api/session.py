"""The boto3 clients of one region, and what every call to AWS has in common: retries, pages, errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)
from botocore.parsers import ResponseParserError

from emporion.components.aws.errors import CREDENTIAL_CODES, ERRORS
from emporion.market.clouds import ErrorKind
from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_fsx import FSxClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_ssm import SSMClient

__all__ = ["Clients", "asking", "code_of", "pages", "unless_absent"]

T = TypeVar("T")

RETRIES = 6
"""Attempts per call; `adaptive` also slows this client down while AWS throttles."""
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30

_NOT_LOGGED_IN = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
_LOG_IN = "log in (aws sso login, or aws configure), set AWS_PROFILE, or work locally: --local"


class Clients:
    """One region's clients, each made when first used."""

    def __init__(self, region: str, *, attempts: int = RETRIES) -> None:
        """Open nothing yet: credentials are looked for at the first call."""
        self.region = region
        self._config = Config(
            retries={"mode": "adaptive", "total_max_attempts": attempts},
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            user_agent_extra="emporion",
        )

    @cached_property
    def session(self) -> boto3.Session:
        """The session; its own, because boto3's default one is not thread-safe."""
        return boto3.Session(region_name=self.region)

    def of(self, service: str) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
        """Return a new client of a service."""
        make = cast("Callable[..., Any]", self.session.client)
        return make(service, region_name=self.region, config=self._config)

    @cached_property
    def autoscaling(self) -> AutoScalingClient:
        """Auto Scaling groups and their hooks."""
        client: AutoScalingClient = self.of("autoscaling")
        return client

    @cached_property
    def ec2(self) -> EC2Client:
        """Machines and networks."""
        client: EC2Client = self.of("ec2")
        return client

    @cached_property
    def events(self) -> EventBridgeClient:
        """Event rules."""
        client: EventBridgeClient = self.of("events")
        return client

    @cached_property
    def fsx(self) -> FSxClient:
        """Lustre file systems."""
        client: FSxClient = self.of("fsx")
        return client

    @cached_property
    def iam(self) -> IAMClient:
        """Roles and profiles."""
        client: IAMClient = self.of("iam")
        return client

    @cached_property
    def kms(self) -> Any:  # noqa: ANN401 - its stubs are not installed
        """Keys."""
        return self.of("kms")

    @cached_property
    def logs(self) -> Any:  # noqa: ANN401 - its stubs are not installed
        """Log groups."""
        return self.of("logs")

    @cached_property
    def s3(self) -> S3Client:
        """Buckets."""
        client: S3Client = self.of("s3")
        return client

    @cached_property
    def service_quotas(self) -> ServiceQuotasClient:
        """The account's limits."""
        client: ServiceQuotasClient = self.of("service-quotas")
        return client

    @cached_property
    def sqs(self) -> SQSClient:
        """Queues."""
        client: SQSClient = self.of("sqs")
        return client

    @cached_property
    def ssm(self) -> SSMClient:
        """Parameters."""
        client: SSMClient = self.of("ssm")
        return client

    @cached_property
    def sts(self) -> Any:  # noqa: ANN401 - its stubs are not installed
        """Who is logged in."""
        return self.of("sts")

    @cached_property
    def tagging(self) -> Any:  # noqa: ANN401 - its stubs are not installed
        """The Resource Groups Tagging API, for services whose lists have no tags."""
        return self.of("resourcegroupstaggingapi")

    @property
    def partition(self) -> str:
        """The second part of this region's ARNs (`aws`, `aws-cn`, `aws-us-gov`)."""
        return self.session.get_partition_for_region(self.region)


def pages(client: Any, operation: str, key: str, **arguments: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - as above
    """Yield the items under `key` of all pages of an operation."""
    if not client.can_paginate(operation):
        yield from getattr(client, operation)(**arguments)[key]
        return
    for page in client.get_paginator(operation).paginate(**arguments):
        yield from page[key]


def code_of(error: ClientError) -> str:
    """Return AWS's code of a failed call."""
    code: str = error.response.get("Error", {}).get("Code", "")
    return code


def unless_absent(codes: Collection[str], call: Callable[[], T]) -> T | None:
    """Return what `call` returns, or None when AWS answers with one of `codes`: it does not exist."""
    try:
        return call()
    except ClientError as error:
        if code_of(error) in codes:
            return None
        raise


@contextmanager
def asking(what: str, region: str) -> Generator[None]:
    """Turn what goes wrong while AWS is asked for `what` into the user's words.

    Raises: UserError E-CREDENTIALS: when nobody is logged in; E-CLOUD: when AWS refuses, throttles or is out of reach.
    A wrong argument of ours stays what it is: a bug.
    """
    try:
        yield
    except _NOT_LOGGED_IN as error:
        raise UserError(
            "E-CREDENTIALS", f"no AWS credentials: {_lower(str(error))}", f"aws {region}", _LOG_IN, ExitCode.FAILED
        ) from error
    except ClientError as error:
        raise _refused(error, what, region) from error
    except (BotoConnectionError, HTTPClientError) as error:
        raise UserError(
            "E-CLOUD",
            f"AWS cannot be reached for {what}: {_lower(str(error))}",
            f"aws {region}",
            "check the network and that the region's name is right",
            ExitCode.FAILED,
        ) from error
    except ResponseParserError as error:  # what a proxy or a sign-in page answers
        said = str(error).partition("\n")[0]
        raise UserError(
            "E-CLOUD",
            f"something else than AWS answers for {what}: {_lower(said)[:160]}",
            f"aws {region}",
            "check the proxy, and AWS_ENDPOINT_URL",
            ExitCode.FAILED,
        ) from error


def _refused(error: ClientError, what: str, region: str) -> UserError:
    code = code_of(error)
    said = error.response.get("Error", {}).get("Message", "").strip().rstrip(".")
    row = ERRORS.get(code)
    if code in CREDENTIAL_CODES:
        meaning = f"no valid AWS credentials: {row.what}" if row else "no valid AWS credentials"
        return UserError("E-CREDENTIALS", f"{meaning} ({code})", f"aws {region}", _LOG_IN, ExitCode.FAILED)
    text = f"{row.what if row else 'AWS refuses'} ({what}; {code}: {said})"
    fix = row.fix if row else "see the AWS documentation of this code"
    if row and row.kind is ErrorKind.PERMISSION:
        fix = f"{fix} (needed here: {error.operation_name})"
    return UserError("E-CLOUD", text, f"aws {region}", fix, ExitCode.FAILED)


def _lower(text: str) -> str:
    """Return `text` as part of a sentence: its first letter small, no full stop."""
    text = text.strip().rstrip(".")
    return text[:1].lower() + text[1:]
