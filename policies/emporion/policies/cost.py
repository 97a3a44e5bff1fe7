"""Cost: ceilings over what the resources cost, allowed machines, budgets and owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from emporion.market.bill import Bill
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.facts import Bucket, Budget, Fact, FileSystem, Node, Purchase, UnknownFactError, known
from emporion.market.money import money_text
from emporion.policies.rule import Level, Severity, rule
from emporion.policies.stack import Stack

__all__ = [
    "budget_object",
    "cost_tags",
    "data_near_compute",
    "gpu_type_allowed",
    "hourly_cost_ceiling",
    "idle_shutdown",
    "monthly_cost_ceiling",
    "pool_cost_ceiling",
    "team_cost_ceiling",
]

POOL_TAG = "emporion-pool"
TEAM_TAG = "team"


def _usd(amount: Decimal) -> str:
    return f"${money_text(amount.quantize(Decimal('0.01')))}"


def _above(what: str, usd: Decimal, limit: Decimal, unit: str, bill: Bill) -> Iterator[str]:
    """Yield that an amount is above its limit; what has no amount is said along, and makes a pass impossible to say."""
    missing = [line for line in bill.lines if line.cost.part == "compute" and line.cost.usd_per_hour is None]
    if usd > limit:
        more = f", without {len(missing)} machines of unknown price" if missing else ""
        yield f"{what} costs {_usd(usd)} {unit}{more}, allowed: {_usd(limit)}"
    elif missing:
        raise UnknownFactError(Fact(name=missing[0].name), "the price of the machine")


@rule(
    "hourly-cost-ceiling",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take fewer or cheaper machines, or raise `max_usd_per_hour`",
)
def hourly_cost_ceiling(stack: Stack, *, max_usd_per_hour: Decimal | None = None) -> Iterator[str]:
    """The stack stays below a cost per hour."""
    if max_usd_per_hour is not None:
        yield from _above("the stack", stack.bill.cost.judged, max_usd_per_hour, "an hour", stack.bill)


@rule(
    "monthly-cost-ceiling",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take fewer or cheaper machines, or raise `max_usd_per_month`",
)
def monthly_cost_ceiling(stack: Stack, *, max_usd_per_month: Decimal | None = None) -> Iterator[str]:
    """The stack stays below a cost per month of 730 hours."""
    if max_usd_per_month is not None:
        usd = stack.bill.cost.judged * HOURS_PER_MONTH
        yield from _above("the stack", usd, max_usd_per_month, "a month", stack.bill)


@rule(
    "pool-cost-ceiling",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take fewer or cheaper machines in the pool, or raise its amount in `max_usd_per_hour`",
)
def pool_cost_ceiling(
    stack: Stack, *, max_usd_per_hour: Mapping[str, Decimal] | None = None, tag: str = POOL_TAG
) -> Iterator[str]:
    """Each pool, told by a tag, stays below its cost per hour."""
    if max_usd_per_hour:
        spent = stack.bill.of(tag)
        for pool, limit in max_usd_per_hour.items():
            yield from _above(f"pool {pool}", spent.get(pool, Decimal(0)), limit, "an hour", stack.bill)


@rule(
    "team-cost-ceiling",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take fewer or cheaper machines for the team, or raise its amount in `max_usd_per_month`",
)
def team_cost_ceiling(
    stack: Stack, *, max_usd_per_month: Mapping[str, Decimal] | None = None, tag: str = TEAM_TAG
) -> Iterator[str]:
    """Each team, told by a tag, stays below its cost per month in this stack."""
    if max_usd_per_month:
        spent = stack.bill.of(tag)
        for team, limit in max_usd_per_month.items():
            usd = spent.get(team, Decimal(0)) * HOURS_PER_MONTH
            yield from _above(f"team {team}", usd, limit, "a month", stack.bill)


@rule(
    "gpu-type-allowed",
    severity=Severity.MEDIUM,
    level=Level.MANDATORY,
    fix="take a machine type of the list, or add this one to `allowed`",
)
def gpu_type_allowed(node: Node, *, allowed: Sequence[str] = ()) -> Iterator[str]:
    """GPU machines are of an allowed type, where types are listed."""
    if allowed and node.gpus and node.instance_type not in allowed:
        yield f"{node.name} is a {node.instance_type}, allowed: {', '.join(allowed)}"


@rule("budget-object", severity=Severity.LOW, fix="add a budget of the cloud that notifies somebody")
def budget_object(stack: Stack) -> Iterator[str]:
    """A stack with GPU machines has a budget in the cloud that notifies somebody."""
    if any(known(node, "gpus", 1) for node in stack.all(Node)):
        budgets = stack.all(Budget)
        if not budgets:
            yield "the stack has GPU machines and no budget"
        elif not any(budget.notifies for budget in budgets):
            yield f"the budget {budgets[0].name} notifies nobody"


@rule("cost-tags", severity=Severity.LOW, fix="add the tags, or set them for all resources at the provider")
def cost_tags(purchase: Purchase, *, tags: Sequence[str] = ("owner", "budget")) -> Iterator[str]:
    """What is paid for says by tags who owns it and whose budget it is."""
    missing = [tag for tag in tags if tag not in purchase.tags]
    if missing:
        yield f"{purchase.name} has no tag {', '.join(missing)}"


@rule("idle-shutdown", severity=Severity.LOW, fix="set a longest run, or tag it `emporion:ttl`")
def idle_shutdown(node: Node) -> Iterator[str]:
    """GPU machines end by themselves: after a longest run, at a date, or by a time to live."""
    if node.gpus and not node.ends:
        yield f"{node.name} has GPUs and runs until somebody ends it"


@rule(
    "data-near-compute",
    severity=Severity.MEDIUM,
    fix="put both into one region, or acknowledge the cost of the traffic with `acknowledged: true`",
)
def data_near_compute(stack: Stack, *, acknowledged: bool = False) -> Iterator[str]:
    """Stores and file systems lie in the region of the machines, or the cost of the traffic is acknowledged."""
    regions = {(node.provider, node.region) for node in stack.all(Node) if known(node, "gpus", 1)}
    if acknowledged or not regions:
        return
    stores: list[Fact] = [*stack.all(Bucket), *stack.all(FileSystem)]
    for store in stores:
        if (store.provider, store.region) not in regions:
            where = ", ".join(sorted(str(region) for _, region in regions))
            yield f"{store.name} lies in {store.region}, the machines in {where}: every byte between them is paid for"
