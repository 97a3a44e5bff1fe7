"""Azure's error codes as engine diagnostics carry them."""

from __future__ import annotations

import pytest

from emporion.components.azure.errors import CREDENTIAL_CODES, ERRORS, classify
from emporion.market.clouds import ErrorKind

ARM = 'Status={status} Code="{code}" Message="{text}"'
QUOTA = (
    "Operation could not be completed as it results in exceeding approved {which} Cores quota. Additional details - "
    "Current Limit: 0, Current Usage: 0, Additional Required: 192, (Minimum) New Limit Required: 192."
)


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        pytest.param(
            ARM.format(status=409, code="SkuNotAvailable", text="The requested size is currently not available"),
            "SkuNotAvailable", ErrorKind.CAPACITY, id="no stock",
        ),
        pytest.param(
            'Code="DeploymentFailed" Message="see details" Details=[{"code":"Conflict"}] Code="AllocationFailed" '
            'Message="Allocation failed."',
            "AllocationFailed", ErrorKind.CAPACITY, id="the inner code says why",
        ),
        pytest.param(
            "autorest/azure: Service returned an error. Allocation failed. We do not have sufficient capacity for the "
            "requested VM size in this region.",
            "AllocationFailed", ErrorKind.CAPACITY, id="no stock, without a code",
        ),
        pytest.param(
            ARM.format(status=400, code="OverconstrainedAllocationRequest", text="Constraints applied are:"),
            "OverconstrainedAllocationRequest", ErrorKind.CAPACITY, id="too many constraints",
        ),
        pytest.param(
            ARM.format(status=409, code="OperationNotAllowed", text=QUOTA.format(which="standardNDASv4_A100Family")),
            "OperationNotAllowed", ErrorKind.QUOTA, id="quota of the family",
        ),
        pytest.param(QUOTA.format(which="LowPriorityCores"), "OperationNotAllowed", ErrorKind.QUOTA, id="spot quota"),
        pytest.param("QuotaExceeded: 0 of 8", "QuotaExceeded", ErrorKind.QUOTA, id="quota, as AKS wraps it"),
        pytest.param(
            ARM.format(status=409, code="SpotPriceGreaterThanProvidedMaxPrice", text="…"),
            "SpotPriceGreaterThanProvidedMaxPrice", ErrorKind.SPOT_PRICE, id="spot price",
        ),
        pytest.param(
            ARM.format(status=429, code="TooManyRequests", text="…"), "TooManyRequests", ErrorKind.THROTTLED,
            id="throttled",
        ),
        pytest.param(
            ARM.format(status=403, code="AuthorizationFailed", text="The client 'x' does not have authorization"),
            "AuthorizationFailed", ErrorKind.PERMISSION, id="permission",
        ),
        pytest.param(
            ARM.format(status=400, code="InUseSubnetCannotBeDeleted", text="…"), "InUseSubnetCannotBeDeleted",
            ErrorKind.IN_USE, id="in use",
        ),
    ],
)  # fmt: skip
def test_a_diagnostic_is_told_by_its_code_or_its_words(text: str, code: str, kind: ErrorKind) -> None:
    found = classify(text)
    assert found is not None
    assert (found.code, found.kind) == (code, kind)


def test_a_code_that_no_row_has_is_kept_word_by_word() -> None:
    text = ARM.format(status=500, code="SomethingNew", text="nobody knows")
    found = classify(text)
    assert found is not None
    assert (found.code, found.kind, found.what) == ("SomethingNew", ErrorKind.OTHER, text)


def test_a_text_without_a_code_is_nothing_of_azures() -> None:
    assert classify("error: connection refused") is None


def test_every_row_says_what_to_do_and_where_it_comes_from() -> None:
    assert set(CREDENTIAL_CODES) <= set(ERRORS)
    for row in ERRORS.values():
        assert row.what
        assert row.what[0].islower() or row.what.startswith("Azure")
        assert row.fix
        assert row.source.rpartition(", ")[2].startswith("20")
