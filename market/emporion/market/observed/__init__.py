"""What was seen instead of modelled: measured links, interruptions of spot pools, readings of machines.

Three CSV files, written by hand or by whatever measures, read strictly and never written here
(docs/explanation/resource-graph.md, stability.md):

::

    EMPORION_HOME/links.csv                  measured links (or `plan --links FILE`)
    EMPORION_HOME/observed/spot_events.csv   hours that spot machines were up, and how often they were taken away
    EMPORION_HOME/observed/nodes.csv         storage IOPS, temperature and placement scores of machine types at a place
"""

from __future__ import annotations

from emporion.market.observed.links import LINK_COLUMNS, MeasuredLink, read_links
from emporion.market.observed.load import NOTHING, Observed, load_observed
from emporion.market.observed.nodes import NODE_COLUMNS, NodeReading, read_nodes
from emporion.market.observed.spot import SPOT_COLUMNS, SpotRecord, read_spot_events

__all__ = [
    "LINK_COLUMNS",
    "NODE_COLUMNS",
    "NOTHING",
    "SPOT_COLUMNS",
    "MeasuredLink",
    "NodeReading",
    "Observed",
    "SpotRecord",
    "load_observed",
    "read_links",
    "read_nodes",
    "read_spot_events",
]
