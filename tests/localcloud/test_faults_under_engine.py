"""Faults of the world as the real engine meets them, through the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest
from raw_program import RawProgram, make_program

from emporion.localcloud.faults import add_fault, clear_faults

pytestmark = pytest.mark.engine
NETWORK = """
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"emporion-id": "0123456789abcdef0123"}, opts=opts)
role = aws.iam.Role("role", name="shop", assume_role_policy=json.dumps(
    {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]}
), opts=pulumi.ResourceOptions(provider=provider, depends_on=[vpc]))
"""


@pytest.fixture
def program(tmp_path: Path) -> RawProgram:
    made = make_program(tmp_path)
    made.write(NETWORK)
    return made


def test_a_lost_region_is_the_clouds_own_error_and_nothing_is_made(program: RawProgram) -> None:
    with program.world() as world:
        add_fault(world, "region-outage", provider="aws", region="us-west-2")
    said = program.refused("up", "--yes", "--skip-preview")
    assert "api error ServiceUnavailable: The request has failed due to a temporary failure of the server" in said
    with program.world() as world:
        assert world.counts() == {}
        clear_faults(world)
    program.up()


def test_the_outage_of_us_east_1_fails_a_role_of_a_stack_in_another_region(program: RawProgram) -> None:
    with program.world() as world:
        add_fault(world, "region-outage", provider="aws", region="us-east-1")
    said = program.refused("up", "--yes", "--skip-preview")
    assert "creating IAM Role" in said
    assert "ServiceUnavailable" in said
    with program.world() as world:
        assert world.counts() == {"aws:ec2/vpc:Vpc": 1}


def test_a_create_whose_answer_is_lost_fails_and_what_it_made_is_not_in_the_state(program: RawProgram) -> None:
    with program.world() as world:
        add_fault(world, "lost-answer", operation="create", token="aws:ec2/vpc:Vpc")
    said = program.refused("up", "--yes", "--skip-preview")
    assert "net/http: timeout awaiting response headers" in said
    assert "vpc" not in program.state()
    with program.world() as world:
        assert world.counts() == {"aws:ec2/vpc:Vpc": 1}


def test_a_plugin_that_waits_until_it_sees_what_it_made_ends_well(program: RawProgram) -> None:
    with program.world() as world:
        add_fault(world, "stale", detail={"delay_s": 2})
    program.up()
    program.done("refresh", "--yes", "--skip-preview")
    assert {"vpc", "role"} <= program.state().keys()
