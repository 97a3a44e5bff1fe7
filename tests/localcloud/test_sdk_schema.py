from __future__ import annotations

from pathlib import Path

import pytest

from emporion.localcloud.plugin.schema import Schemas
from emporion.localcloud.plugin.sdk_source import SdkSource
from emporion.market.stand_in import EnumSource

SDK = '''
import pulumi
_utilities.register(
    resource_modules="""
[{"pkg": "toy", "mod": "box/lid", "fqn": "pulumi_toy.box", "classes": {"toy:box/lid:Lid": "Lid"}}]
""")
'''
LID = """
@pulumi.input_type
class LidArgs:
    def __init__(__self__, *,
                 width: pulumi.Input[_builtins.int],
                 hinge_parts: pulumi.Input[Sequence[pulumi.Input['HingePartArgs']]] = None,
                 colour: Optional[pulumi.Input[Union[_builtins.str, 'Colour']]] = None,
                 finish: Optional[pulumi.Input['Finish']] = None,
                 labels: Optional[pulumi.Input[Mapping[str, pulumi.Input[_builtins.str]]]] = None):
        pass
    @_builtins.property
    @pulumi.getter
    def width(self): ...
    @_builtins.property
    @pulumi.getter(name="hingeParts")
    def hinge_parts(self): ...

@pulumi.type_token("toy:box/lid:Lid")
class Lid(pulumi.CustomResource):
    def _internal_init(__self__, resource_name):
        __props__ = LidArgs.__new__(LidArgs)
        __props__.__dict__["api_version"] = "v2"
        __props__.__dict__["arn"] = None
    @_builtins.property
    @pulumi.getter
    def arn(self) -> pulumi.Output[_builtins.str]: ...
    @_builtins.property
    @pulumi.getter(name="hingeParts")
    def hinge_parts(self) -> pulumi.Output[Optional[Sequence['outputs.HingePart']]]: ...
"""
INPUTS = """
@pulumi.input_type
class HingePartArgs:
    def __init__(__self__, *,
                 inner_parts: Optional[pulumi.Input[Sequence[pulumi.Input['HingePartArgs']]]] = None):
        pass
    @_builtins.property
    @pulumi.getter(name="innerParts")
    def inner_parts(self): ...
"""
ENUMS = """
class Colour(_builtins.str, Enum):
    RED = "red"

class Finish(_builtins.str, Enum):
    MATT = "matt"
    GLOSS = "gloss"
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    root = tmp_path / "pulumi_toy"
    (root / "box").mkdir(parents=True)
    for path, text in (
        ("__init__.py", SDK), ("box/lid.py", LID), ("box/_inputs.py", INPUTS), ("box/_enums.py", ENUMS),
    ):  # fmt: skip
        (root / path).write_text(text)
    return root


def test_inputs_outputs_nested_types_enums_and_constants_are_read_from_the_source(toy: Path) -> None:
    part = {"obj": "box:HingePartArgs"}
    assert SdkSource(toy).resource("toy:box/lid:Lid") == {
        "inputs": {
            "width": ["int", True],
            "hingeParts": [{"list": part}, False],
            "colour": [{"union": ["str", {"enum": "box:Colour"}]}, False],
            "finish": [{"enum": "box:Finish"}, False],
            "labels": [{"map": "str"}, False],
        },
        "outputs": {"arn": [True, "str"], "hingeParts": [False, "list"]},
        "objects": {"box:HingePartArgs": {"innerParts": [{"list": part}, False]}},
        "enums": {"box:Colour": ["red"], "box:Finish": ["matt", "gloss"]},
        "consts": ["apiVersion"],
    }


def test_an_unknown_token_has_no_schema(toy: Path) -> None:
    assert SdkSource(toy).resource("toy:box/lid:Lidd") is None


def test_a_schema_is_derived_once_and_then_read_from_the_cache(toy: Path, tmp_path: Path) -> None:
    first = Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid")
    (toy / "box" / "lid.py").write_text("")
    assert Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid") == first


def test_another_sdk_version_has_its_own_cache(toy: Path, tmp_path: Path) -> None:
    Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid")
    (toy / "box" / "lid.py").write_text(LID.replace("width", "height"))
    changed = Schemas(toy, "2.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid")
    assert changed
    assert "height" in changed["inputs"]


def test_a_cache_file_cut_short_is_derived_again(toy: Path, tmp_path: Path) -> None:
    first = Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid")
    (path,) = (tmp_path / "cache" / "schemas").rglob("*.json")
    path.write_text(path.read_text()[:50])
    assert Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid") == first
    assert len(path.read_text()) > 50


def test_a_cache_that_cannot_be_written_costs_time_only(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert Schemas(toy, "1.0.0", tmp_path / "cache", lambda: None).resource("toy:box/lid:Lid")


def test_without_service_models_an_open_enum_binds_nobody(toy: Path, tmp_path: Path) -> None:
    schemas = Schemas(toy, "1.0.0", tmp_path, lambda: None)
    assert schemas.enum(EnumSource("ec2", "PlacementStrategy")) is None
    assert schemas.enum(("a", "b")) == ["a", "b"]


def test_the_service_model_knows_more_than_the_sdks_open_enum(schemas: Schemas) -> None:
    resource = schemas.resource("aws:ec2/placementGroup:PlacementGroup")
    assert resource
    (listed,) = resource["enums"].values()
    current = schemas.enum(EnumSource("ec2", "PlacementStrategy"))
    assert current
    assert "partition" in current
    assert "partition" not in listed


@pytest.mark.parametrize(
    "token", ["aws:wafv2/webAcl:WebAcl", "aws:quicksight/dashboard:Dashboard", "aws:eks/cluster:Cluster"]
)
def test_large_and_deep_types_are_derived_too(schemas: Schemas, token: str) -> None:
    resource = schemas.resource(token)
    assert resource
    assert resource["inputs"]
    assert "any" not in {kind for kind, _ in resource["inputs"].values() if isinstance(kind, str)}
