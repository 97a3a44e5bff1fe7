"""Azure's API: credentials, pages, errors, quotas and the machines of scale sets, against recorded shapes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from azure_arm import SUBSCRIPTION, Arm, error, open_rest

from emporion.components.azure.api import AzureApi, open_api
from emporion.components.azure.api.credentials import Credentials
from emporion.market.clouds import Pending, StoreWatch
from emporion.market.errors import UserError
from emporion.operations.clusters import data_problem

SIZE = "Standard_ND96asr_v4"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"


@pytest.fixture
def arm() -> Arm:
    return Arm()


@pytest.fixture
def api(arm: Arm) -> AzureApi:
    return AzureApi("eastus", rest=open_rest(arm))


def sku(name: str, family: str, cores: int, **more: Any) -> dict[str, Any]:
    capabilities = [{"name": "MemoryGB", "value": "900"}, {"name": "vCPUs", "value": str(cores)}]
    return {"name": name, "resourceType": "virtualMachines", "family": family, "capabilities": capabilities, **more}


def usage(name: str, limit: int) -> dict[str, Any]:
    return {"name": {"value": name, "localizedValue": name}, "limit": limit, "currentValue": 0, "unit": "Count"}


@pytest.mark.parametrize(
    ("market", "limits", "allowed"),
    [
        pytest.param("on_demand", {"standardNDASv4_A100Family": 192, "cores": 1000}, 2, id="the family's"),
        pytest.param("on_demand", {"standardNDASv4_A100Family": 960, "cores": 100}, 1, id="the region's"),
        pytest.param("on_demand", {" StandardNDASv4_a100FAMILY ": 96, "cores": 960}, 1, id="spelt otherwise"),
        pytest.param("spot", {"standardNDASv4_A100Family": 960, " LowPriorityCores": 96}, 1, id="low priority"),
        pytest.param("spot", {"standardNDASv4_A100Family": 96, "lowPriorityCores": 960}, 1, id="family on spot"),
        pytest.param("spot", {"lowPriorityCores": 95}, 0, id="less than one machine"),
        pytest.param("on_demand", {"somethingElse": 5}, None, id="no known quota"),
        pytest.param("reserved", {"cores": 0}, None, id="reserved"),
    ],
)
def test_a_quota_is_the_smaller_of_both(
    arm: Arm, api: AzureApi, market: str, limits: Mapping[str, int], allowed: int | None
) -> None:
    arm.skus = [sku("Standard_D2s_v5", "standardDSv5Family", 2), sku(SIZE, "standardNDASv4_A100Family ", 96)]
    arm.usages = [usage("virtualMachines", 25_000), *(usage(name, limit) for name, limit in limits.items())]
    assert api.quota(SIZE, market) == allowed


def test_a_size_that_the_subscription_may_not_use_has_no_quota_at_all(arm: Arm, api: AzureApi) -> None:
    refused = [{"type": "Location", "values": ["eastus"], "reasonCode": "NotAvailableForSubscription"}]
    arm.skus = [sku(SIZE, "f", 96, restrictions=refused)]
    arm.usages = [usage("f", 960)]
    assert api.quota(SIZE, "spot") == 0
    assert api.quota("Standard_X", "spot") is None


def test_machines_of_a_scale_set_are_nodes(arm: Arm, api: AzureApi) -> None:
    made = arm.put(
        f"{GROUP}/Microsoft.Compute/virtualMachineScaleSets/set",
        {
            "location": "EastUS",
            "sku": {"name": SIZE, "capacity": 3},
            "tags": {"emporion-stack": "shop/dev", "emporion-pool": "gpu-0"},
            "properties": {"virtualMachineProfile": {"priority": "Spot"}},
        },
    )
    codes = ("PowerState/running", "PowerState/deallocated", None)
    for number, code in enumerate(codes):
        machine = arm.put(
            f"{made}/virtualMachines/{number}",
            {
                "sku": {"name": SIZE},
                "properties": {
                    "provisioningState": "Succeeded" if code else "Deleting",
                    "timeCreated": f"2026-12-01T08:00:0{number}.1Z",
                    "instanceView": {"statuses": [{"code": code}] if code else []},
                },
            },
        )
        address = {"properties": {"privateIPAddress": f"10.0.0.{20 + number}"}}
        arm.put(
            f"{made}/networkInterfaces/nic{number}",
            {"properties": {"virtualMachine": {"id": machine.upper()}, "ipConfigurations": [address]}},
        )
    nodes = api.nodes("shop", "dev")
    assert [(node.id.rpartition("/")[2], node.state, node.private_ip) for node in nodes] == [
        ("0", "running", "10.0.0.20"),
        ("1", "stopped", "10.0.0.21"),
        ("2", "stopping", "10.0.0.22"),
    ]
    assert {(node.pool, node.market, node.instance_type, node.zone) for node in nodes} == {
        ("gpu-0", "spot", SIZE, None)
    }
    assert nodes[0].launched_at == "2026-12-01T08:00:00Z"


def test_machines_elsewhere_are_not_this_regions(arm: Arm, api: AzureApi) -> None:
    tags = {"emporion-stack": "shop/dev", "emporion-pool": "gpu-0"}
    arm.put(f"{GROUP}/Microsoft.Compute/virtualMachines/vm", {"location": "westus", "tags": tags, "properties": {}})
    assert api.nodes("shop", "dev") == []


def test_planned_maintenance_is_a_notice(arm: Arm, api: AzureApi) -> None:
    vm = f"{GROUP}/Microsoft.Compute/virtualMachines/vm"
    arm.put(f"{vm}/instanceView", {"maintenanceRedeployStatus": {"maintenanceWindowStartTime": "2026-12-02T00:00:00Z"}})
    assert api.notices(vm) == [{"kind": "maintenance", "at": "2026-12-02T00:00:00Z"}]


def test_an_image_that_is_ordered_under_a_plan_says_so(arm: Arm, api: AzureApi) -> None:
    plan = {"name": "2404", "product": "ubuntu-hpc", "publisher": "microsoft-dsvm"}
    arm.images["microsoft-dsvm", "ubuntu-hpc", "2404"] = {
        "24.04.9": {"architecture": "x64"},
        "24.04.10": {"architecture": "x64", "plan": plan},
    }
    assert api.image("gpu", "x86_64").id == "microsoft-dsvm:ubuntu-hpc:2404:24.04.10#plan"


def test_an_image_of_another_architecture_is_refused(arm: Arm, api: AzureApi) -> None:
    arm.images["microsoft-dsvm", "ubuntu-hpc", "2404"] = {"24.04.1": {"architecture": "Arm64"}}
    with pytest.raises(UserError, match="is for arm64"):
        api.image("gpu", "x86_64")


def test_what_is_being_deleted_is_not_found(arm: Arm, api: AzureApi) -> None:
    inputs = {"resourceGroupName": "rg", "virtualNetworkName": "net"}
    arm.put(
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net",
        {"properties": {"provisioningState": "Deleting"}, "tags": {"emporion-id": "1"}},
    )
    kind = "azure-native:network:VirtualNetwork"
    assert api.find(Pending(f"urn:pulumi:s::p::{kind}::net", kind, "1", inputs)) is None


def test_a_type_without_a_finder_is_named(api: AzureApi) -> None:
    with pytest.raises(UserError) as caught:
        api.find(Pending("urn:pulumi:s::p::azure-native:x:Y::mine", "azure-native:x:Y", "1", {}))
    assert caught.value.code == "E-NO-FINDER"


@pytest.mark.parametrize(
    ("answer", "code", "what"),
    [
        pytest.param(
            httpx.Response(401, json=error("ExpiredAuthenticationToken")), "E-CREDENTIALS", "Expired", id="expired"
        ),
        pytest.param(
            httpx.Response(403, json=error("AuthorizationFailed", "The client does not have authorization")), "E-CLOUD",
            "AuthorizationFailed: The client does not have", id="forbidden",
        ),
        pytest.param(httpx.Response(418, text="a proxy"), "E-CLOUD", "HTTP 418", id="not azure"),
        pytest.param(httpx.Response(200, json=[1]), "E-CLOUD", "no document", id="odd"),
    ],
)  # fmt: skip
def test_a_refusal_is_told(arm: Arm, api: AzureApi, answer: httpx.Response, code: str, what: str) -> None:
    arm.failing = [answer]
    with pytest.raises(UserError, match=what) as caught:
        api.zones()
    assert caught.value.code == code


def test_a_page_that_leads_away_from_azure_is_not_followed(arm: Arm, api: AzureApi) -> None:
    arm.failing = [httpx.Response(200, json={"value": [], "nextLink": "https://elsewhere.example/x"})]
    with pytest.raises(UserError, match="leads away"):
        api.zones()
    assert {request.url.host for request in arm.asked} == {"management.azure.com"}


def test_a_network_that_fails_for_a_moment_is_tried_again() -> None:
    arm = Arm()
    failed: list[int] = []

    def flaky(request: httpx.Request) -> httpx.Response:
        if not failed:
            failed.append(1)
            raise httpx.ConnectError("down", request=request)
        return arm(request)

    rest = open_rest(arm)
    rest._client = httpx.Client(transport=httpx.MockTransport(flaky))
    assert AzureApi("eastus", rest=rest).zones()


PRINCIPAL = {"ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "hush", "ARM_TENANT_ID": "t", "ARM_SUBSCRIPTION_ID": "s"}


def who(environ: Mapping[str, str], answer: httpx.Response | None = None, cli: object = None) -> Credentials:
    def run(command: Sequence[str]) -> str:
        assert list(command[:3]) == ["az", "account", "get-access-token"]
        if isinstance(cli, Exception):
            raise cli
        return str(cli)

    client = httpx.Client(transport=httpx.MockTransport(lambda _request: answer or httpx.Response(500)))
    return Credentials(environ, run, client)


def test_a_service_principals_token_comes_from_entra_id() -> None:
    token = who(PRINCIPAL, httpx.Response(200, json={"access_token": "abc"})).token()
    assert (token.text, token.subscription) == ("abc", "s")


def test_without_a_principal_the_azure_cli_is_asked() -> None:
    token = who({}, cli=json.dumps({"accessToken": "abc", "subscription": "mine"})).token()
    assert (token.text, token.subscription) == ("abc", "mine")


@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param(who(PRINCIPAL, httpx.Response(401, json={"error": "invalid_client"})), id="wrong secret"),
        pytest.param(
            who({**PRINCIPAL, "ARM_SUBSCRIPTION_ID": ""}, httpx.Response(200, json={"access_token": "x"})),
            id="no subscription",
        ),
        pytest.param(who({}, cli=FileNotFoundError()), id="no cli"),
        pytest.param(who({}, cli=subprocess.CalledProcessError(1, "az")), id="not logged in"),
        pytest.param(who({}, cli="not json"), id="odd cli"),
    ],
)
def test_nobody_logged_in_is_told_and_the_secret_is_not(credentials: Credentials) -> None:
    with pytest.raises(UserError) as caught:
        credentials.token()
    assert caught.value.code == "E-CREDENTIALS"
    assert "hush" not in str(caught.value)


def test_opening_the_api_asks_nobody() -> None:
    assert open_api("westeurope").region == "westeurope"


LOGS = "<BlobPrefix><Name>bootstrap-logs/</Name></BlobPrefix>"


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        pytest.param(httpx.Response(404), False, id="no container"),
        pytest.param(httpx.Response(200, text=f"<EnumerationResults><Blobs>{LOGS}</Blobs>"), False, id="only logs"),
        pytest.param(
            httpx.Response(200, text=f"<Blobs>{LOGS}<BlobPrefix><Name>run-1/</Name></BlobPrefix></Blobs>"), True,
            id="a run",
        ),
        pytest.param(httpx.Response(200, text="<Blobs><Blob><Name>x</Name></Blob></Blobs>"), True, id="a blob"),
        pytest.param(httpx.Response(403), None, id="not ours to read"),
    ],
)  # fmt: skip
def test_a_store_with_checkpoints_is_told_before_azure_deletes_it(
    arm: Arm, api: AzureApi, answer: httpx.Response, *, held: bool | None
) -> None:
    arm.blobs = answer
    assert isinstance(api, StoreWatch)
    assert api.holds_data("em0") is held
    problem = data_problem(api, "em0", "dev")
    assert (problem is None) == (held is False)
    if problem is not None:
        assert (problem.code, "--delete-data" in (problem.fix or "")) == ("E-IN-USE", True)
