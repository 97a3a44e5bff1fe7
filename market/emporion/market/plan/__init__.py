"""The plan of an intent: the Pareto set of placements, the recommended one, and why not the others.

::

    make_plan     intent + catalogue -> Plan
    plan_json     Plan -> the JSON of schema emporion.plan/1
    picture_json  Plan -> its regions on the map and what lies between them
    explain       one offer through every constraint, with its figures
    pin           the recommended placement with everything that a look-up would change later
    diff_plans    what has changed since a placement was pinned
    market_diff   the same, with what a re-plan would do and whether the pin is stale
    pricing       how old the prices of a pin are
    stale_note    whether a pin rests on prices that are too old

Planning reads no clock, no environment and no network: `now` and the clouds come as arguments. One stage is placed by
`emporion.market.placement`, several by `emporion.market.stages`; what stands here knows both, and neither knows it.
"""

from __future__ import annotations

from emporion.market.plan.diff import Change, Diff, diff_plans, market_diff
from emporion.market.plan.document import plan_json
from emporion.market.plan.explain import Check, Explanation, explain
from emporion.market.plan.explain_document import explanation_json
from emporion.market.plan.picture import picture_json
from emporion.market.plan.pinning import ImageKey, images_needed, images_used, pin, pin_problem
from emporion.market.plan.places import place_problems
from emporion.market.plan.planning import Plan, make_plan
from emporion.market.plan.stale import pricing, stale_note

__all__ = [
    "Change",
    "Check",
    "Diff",
    "Explanation",
    "ImageKey",
    "Plan",
    "diff_plans",
    "explain",
    "explanation_json",
    "images_needed",
    "images_used",
    "make_plan",
    "market_diff",
    "picture_json",
    "pin",
    "pin_problem",
    "place_problems",
    "plan_json",
    "pricing",
    "stale_note",
]
