"""AWS's error codes as engine diagnostics carry them."""

from __future__ import annotations

import pytest

from emporion.components.aws.errors import CREDENTIAL_CODES, ERRORS, classify
from emporion.market.clouds import ErrorKind

GO = (
    "operation error EC2: RunInstances, https response error StatusCode: 500, RequestID: 6f0c, api error {code}: {text}"
)


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        pytest.param(
            GO.format(
                code="InsufficientInstanceCapacity", text="We currently do not have sufficient p4d.24xlarge capacity"
            ),
            "InsufficientInstanceCapacity",
            ErrorKind.CAPACITY,
            id="no stock, as the Go SDK says it",
        ),
        pytest.param(
            "InsufficientInstanceCapacity: We currently do not have sufficient capacity\n\tstatus code: 500",
            "InsufficientInstanceCapacity",
            ErrorKind.CAPACITY,
            id="no stock, as the old Go SDK says it",
        ),
        pytest.param(
            "waiting for the group: scaling activity (a1): Failed: We currently do not have sufficient "
            "p4d.24xlarge capacity in the Availability Zone you requested (us-east-1a). Launching EC2 instance failed.",
            "InsufficientInstanceCapacity",
            ErrorKind.CAPACITY,
            id="no stock, in a scaling activity without a code",
        ),
        pytest.param(
            "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request",
            "UnfulfillableCapacity",
            ErrorKind.CAPACITY,
            id="no pool",
        ),
        pytest.param(
            GO.format(
                code="VcpuLimitExceeded", text="You have requested more vCPU capacity than your current vCPU limit"
            ),
            "VcpuLimitExceeded",
            ErrorKind.QUOTA,
            id="quota",
        ),
        pytest.param(
            "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket "
            "that the specified instance type belongs to. Launching EC2 instance failed.",
            "VcpuLimitExceeded",
            ErrorKind.QUOTA,
            id="quota, in a scaling activity without a code",
        ),
        pytest.param(
            "An error occurred (MaxSpotInstanceCountExceeded) when calling the RunInstances operation: Max spot "
            "instance count exceeded",
            "MaxSpotInstanceCountExceeded",
            ErrorKind.QUOTA,
            id="spot quota, as botocore says it",
        ),
        pytest.param(
            "Your Spot request price of 0.5 is lower than the minimum required Spot request fulfillment price of 9.83.",
            "SpotMaxPriceTooLow",
            ErrorKind.SPOT_PRICE,
            id="spot price",
        ),
        pytest.param(
            GO.format(code="RequestLimitExceeded", text="x"),
            "RequestLimitExceeded",
            ErrorKind.THROTTLED,
            id="throttled",
        ),
        pytest.param(
            "deleting EC2 Subnet (subnet-1): api error DependencyViolation: The subnet 'subnet-1' has dependencies",
            "DependencyViolation",
            ErrorKind.IN_USE,
            id="in use",
        ),
        pytest.param(
            "api error AuthFailure.ServiceLinkedRoleCreationNotPermitted: The credentials do not have permission",
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            ErrorKind.PERMISSION,
            id="the longer of two codes",
        ),
        pytest.param(
            GO.format(code="Unsupported", text="The requested configuration is currently not supported."),
            "Unsupported",
            ErrorKind.CAPACITY,
            id="a code that is also a word",
        ),
    ],
)
def test_a_diagnostic_is_classified(text: str, code: str, kind: ErrorKind) -> None:
    found = classify(text)
    assert found is not None
    assert (found.code, found.kind) == (code, kind)
    assert found.fix


def test_an_unknown_code_keeps_its_text_verbatim() -> None:
    text = GO.format(code="BrandNewProblem", text="The moon is in the wrong house")
    found = classify(text)
    assert found is not None
    assert found.code == "BrandNewProblem"
    assert found.kind is ErrorKind.OTHER
    assert found.what == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("the program ended with exit code 1", id="no code at all"),
        pytest.param("Unsupported Python version, blocked by policy", id="ordinary words that are also codes"),
        pytest.param("MyVcpuLimitExceededCounter", id="a code inside another word"),
        pytest.param("", id="empty"),
    ],
)
def test_a_text_without_a_code_is_no_error_of_aws(text: str) -> None:
    assert classify(text) is None


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_a_row_is_found_by_its_own_code(code: str) -> None:
    found = classify(GO.format(code=code, text="…"))
    assert found is ERRORS[code]


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_a_row_says_what_and_how_to_mend_it_in_the_house_style(code: str) -> None:
    row = ERRORS[code]
    for sentence in (row.what, row.fix):
        assert sentence
        assert not sentence.endswith(".")
    assert row.source.endswith("2026-11")
    assert row.what.split()[0] in {"AWS", "S3"} or row.what[0].islower()


def test_every_code_for_missing_credentials_has_a_row() -> None:
    assert set(ERRORS) >= CREDENTIAL_CODES
