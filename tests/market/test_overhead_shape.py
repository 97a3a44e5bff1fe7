"""What a site needs beside its machines never falls with more nodes, nor grows faster: the search rests on it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from emporion.market.cost import CostModel
from emporion.market.intent import Intent
from emporion.market.offers import Catalogue
from emporion.market.sites import regions

DUST = Decimal("0.000001")
"""The search allows for this much: each line is rounded to 1e-9."""


@pytest.mark.parametrize(
    "more",
    [
        "",
        "scheduler: none",
        "access: {nat: false}",
        "model: {parameters: 13b, hours: 12}\ncheckpoint_path: s3://bucket/run",
        "model: {hours: 5}\ndata: [{source: gs://bucket/set, size: 80tb, egress: 20tb}]",
    ],
)
def test_more_nodes_never_need_less_and_each_no_more_than_the_one_before(
    bundled: Catalogue, intent_of: Callable[..., Intent], more: str
) -> None:
    model = CostModel(intent_of(f"name: shape\nresources: {{gpus: a100:64}}\n{more}\n"), bundled)
    counts = [*range(1, 41), 64, 65, 66]
    for provider, region in [*regions(), ("vast", "nowhere")][::3]:
        found = {nodes: model.overhead(provider, region, nodes) for nodes in counts}
        for values in (
            {nodes: each.total for nodes, each in found.items()},
            {nodes: each.upper for nodes, each in found.items()},
        ):
            known = {nodes: value for nodes, value in values.items() if value is not None}
            assert len(known) in (0, len(counts))
            for nodes in [nodes for nodes in known if nodes + 2 in known]:
                first, second = (known[nodes + 1] - known[nodes], known[nodes + 2] - known[nodes + 1])
                assert first >= 0
                assert second <= first + DUST
