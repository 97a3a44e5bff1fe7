"""The components as other languages see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.provider.experimental.schema import generate_schema

from emporion.components import GpuCluster
from emporion.components.aws.cluster import AwsCluster

REPO = Path(__file__).resolve().parents[2]


def schema(*components: type) -> dict[str, Any]:
    found = Analyzer("emporion").analyze(list(components))
    made: dict[str, Any] = generate_schema(
        "emporion",
        "0.1.0",
        None,
        found["component_definitions"],
        found["type_definitions"],
        list(found["dependencies"]),
    ).to_json()
    return made


def test_the_cluster_has_a_schema_with_a_description_for_every_property() -> None:
    resource = schema(GpuCluster)["resources"]["emporion:index:GpuCluster"]
    assert resource["isComponent"] is True
    assert resource["requiredInputs"] == ["placement"]
    assert set(resource["inputProperties"]) == {"placement", "generation", "deleteData"}
    assert {"nodeCount", "clusterAddress", "nodeAddresses", "bucket", "usdPerHour"} <= set(resource["properties"])
    for properties in (resource["inputProperties"], resource["properties"]):
        assert all(item.get("description") for item in properties.values())


def test_a_clouds_component_gives_every_output_of_the_cluster() -> None:
    own = {"provider", "region", "usd_per_hour"}
    assert set(GpuCluster.__annotations__) - own == set(AwsCluster.__annotations__)


def test_the_plugin_folder_names_no_environment_that_pulumi_would_overwrite() -> None:
    plugin = yaml.safe_load((REPO / "components" / "PulumiPlugin.yaml").read_text())
    assert plugin == {"runtime": "python"}
    project = yaml.safe_load((REPO / "Pulumi.yaml").read_text())
    assert (project["name"], project["runtime"], project["main"], project["stackConfigDir"]) == (
        "emporion", "python", "stacks/", "stacks",
    )  # fmt: skip
