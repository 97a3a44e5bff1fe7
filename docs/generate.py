"""Writes the generated pages of docs/reference from the program: `docs/generate.py [--check]`."""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from emporion.cli.main import root
from emporion.market.clouds import installed_clouds
from emporion.market.gpus import labels
from emporion.market.intent import FLAGS, intent_from_flags, load_intent
from emporion.market.intent.keys import ROOT, Key, Section
from emporion.market.money import parse_rates
from emporion.market.observed import MeasuredLink, Observed
from emporion.market.offers import load_bundled
from emporion.market.offers.machine_keys import ROOT as MACHINES
from emporion.market.plan import Plan, explain, explanation_json, make_plan, plan_json
from emporion.market.query import FIELDS, Field
from emporion.policies.packs import ALL, PACKS
from emporion.policies.rule import Rule

REPO = Path(__file__).resolve().parents[1]
REFERENCE = REPO / "docs" / "reference"
HELP_WIDTH = 100
CODE = re.compile(r"E-[A-Z]+(?:-[A-Z]+)*")
GENERATED = "<!-- written by docs/generate.py: change the program, then run `python docs/generate.py` -->"


def cli_page() -> str:
    """Return the help of every command."""
    parts = ["# Command line", GENERATED, "Exit codes: 0 done, 1 failed, 2 bad input, 3 infeasible, 130 interrupted."]
    for path, command in _commands(root, ("emporion",)):
        parts += [f"## {' '.join(path)}", "```text\n" + command.get_help(_context(path, command)).rstrip() + "\n```"]
    return _page(parts)


def _context(path: Sequence[str], command: click.Command) -> click.Context:
    """Return a context whose path reads as on a terminal and whose help has the options of the root's settings."""
    context: click.Context | None = None
    for name in path[:-1]:
        context = click.Context(click.Group(name), info_name=name, parent=context)
    return click.Context(
        command,
        info_name=path[-1],
        parent=context,
        terminal_width=HELP_WIDTH,
        max_content_width=HELP_WIDTH,
        help_option_names=["-h", "--help"],
    )


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, (*path, name))


def intent_page() -> str:
    """Return every key of an intent with its flag."""
    flags = {flag.key: f"`--{flag.name.replace('_', '-')}`" for flag in FLAGS}
    rows = [
        [
            f"`{path}`",
            _cell(key.doc + ("" if key.acted else " Not acted on in this version.")),
            _takes(key),
            f"`{key.default}`" if isinstance(key, Key) and key.default is not None else "",
            flags.get(path, ""),
        ]
        for path, key in _keys(ROOT, "")
    ]
    return _page(
        [
            "# Intent",
            GENERATED,
            ROOT.doc,
            _table(["key", "says", "takes", "default", "flag"], rows),
            (
                "The JSON Schema of the same: `emporion intent schema`. The normalised form of an intent: "
                "`emporion plan INTENT --show-intent --json`."
            ),
        ]
    )


def _keys(section: Section, path: str) -> Iterator[tuple[str, Key | Section]]:
    for key in section.keys:
        name = f"{path}{key.name}{'[]' if isinstance(key, Section) and key.many else ''}"
        yield name, key
        if isinstance(key, Section):
            yield from _keys(key, f"{name}.")


def _takes(key: Key | Section) -> str:
    if isinstance(key, Section):
        return f"keys below, or `{key.shorthand}`" if key.shorthand else "your own keys" if key.open else "keys below"
    shown = ", ".join(f"`{value}`" for value in key.values) or f"`{key.example}`"
    return f"{shown} (a list)" if key.many else shown


def offers_page() -> str:
    """Return every field of a query, every capability label, and every key of a document of machines."""
    fields = [
        [f"`{field.name}`", _cell(field.doc), field.kind.name, _operators(field), f"`{field.kind.example}`"]
        for field in FIELDS.values()
    ]
    names = [[f"`{label}`", ", ".join(f"`{gpu}`" for gpu in ids)] for label, ids in labels().items()]
    keys = [
        [f"`{path}`", _cell(key.doc), _takes(key), f"`{key.default}`" if isinstance(key, Key) and key.default else ""]
        for path, key in _keys(MACHINES, "")
    ]
    return _page(
        [
            "# Offers",
            GENERATED,
            "## Fields of a query",
            "For `--where` of `offers list` and `plan`, and `constraints.where` (docs/explanation/offers.md).",
            _table(["field", "is", "kind", "operators", "example"], fields),
            "## Capability labels",
            "Model and memory, whatever the board; names for `--gpus`, `--label` and the field `label`.",
            _table(["label", "covers"], names),
            "## Keys of a document of machines",
            "For `emporion offers register FILE.yaml` (docs/how-to/own-machines.md).",
            _table(["key", "says", "takes", "default"], keys),
        ]
    )


def policies_page() -> str:
    """Return every rule by its pack, and what may be set for it."""
    parts = [
        "# Policy rules",
        GENERATED,
        (
            "How they are run, configured and exempted: docs/how-to/policies.md. A rule of a profile is off until the "
            "profile is chosen, and mandatory then. *like* names the same check of other tools."
        ),
    ]
    for pack, rules in PACKS.items():
        if pack != ALL:
            heads = ["rule", "level", "severity", "what holds", "to mend it", "may be set", "like"]
            parts += [f"## {pack}", _table(heads, [_rule_row(rule) for rule in rules])]
    return _page(parts)


def _rule_row(rule: Rule) -> list[str]:
    level = f"off; profile {rule.profile}" if rule.profile else rule.level.value
    settings = [
        f"`{one.name}`: {one.kind.says}" + ("" if one.default in (None, ()) else f" ({_cell(str(one.default))})")
        for one in rule.parameters.values()
    ]
    return [
        f"`{rule.name}`", level, rule.severity.value, _cell(rule.description), _cell(rule.fix), "; ".join(settings),
        ", ".join(rule.like),
    ]  # fmt: skip


def _operators(field: Field) -> str:
    return "`VALUE in FIELD`" if field.kind.listed else f"`{' '.join(field.kind.operators)}`"


@dataclass(frozen=True, order=True)
class Raised:
    """One place in the source that makes an error."""

    code: str
    what: str
    fix: str
    exit_code: str
    room: str


def errors_page() -> str:
    """Return every error code with what is said, how to mend it and where it comes from."""
    found: dict[str, list[Raised]] = {}
    for one in sorted({one for path in sorted(REPO.glob("*/emporion/**/*.py")) for one in _raised(path)}):
        found.setdefault(one.code, []).append(one)
    parts = [
        "# Error codes",
        GENERATED,
        (
            "Each error has a stable code, says what and where, and how to mend it; with `--json` the same stands in "
            '`{schema: "emporion.error/1", errors: [{code, what, where, fix}]}`. `{…}` stands for a value.'
        ),
    ]
    for code, places in found.items():
        rows = [[_cell(one.what), _cell(one.fix), one.exit_code, one.room] for one in places if one.what]
        if rows:
            parts += [f"## {code}", _table(["what", "try", "exit", "room"], rows)]
    named = {code: room for code, room in _named() if code not in found or not any(one.what for one in found[code])}
    if named:
        rows = [[code, room] for code, room in sorted(named.items())]
        parts += ["## Codes whose words depend on the case", _table(["code", "room"], rows)]
    return _page(parts)


def _named() -> Iterator[tuple[str, str]]:
    """Yield every code that stands in the source by itself, with its room."""
    for path in sorted(REPO.glob("*/emporion/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                yield node.value, path.relative_to(REPO).parts[0]


def _raised(path: Path) -> Iterator[Raised]:
    """Yield the errors that a file makes: calls with a code among their arguments."""
    room = path.relative_to(REPO).parts[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        codes = [
            place
            for place, one in enumerate(node.args)
            if isinstance(one, ast.Constant) and CODE.fullmatch(str(one.value))
        ]
        if not codes:
            continue
        named = {one.arg: one.value for one in node.keywords}
        rest = node.args[codes[0] + 1 :]
        what = named.get("what") or (rest[0] if rest else None)
        fix = named.get("fix") or (rest[2] if len(rest) > 2 else None)  # noqa: PLR2004 - what, where, fix
        codes_given = [
            one.attr
            for one in [*rest, *named.values()]
            if isinstance(one, ast.Attribute) and "ExitCode" in ast.dump(one)
        ]
        exit_code = {"FAILED": "1", "INFEASIBLE": "3", "INTERRUPTED": "130"}.get(
            codes_given[0] if codes_given else "", "2"
        )
        if room == "engine":
            exit_code = "1"  # the command line gives it
        yield Raised(str(ast.literal_eval(node.args[codes[0]])), _text(what), _text(fix), exit_code, room)


def _text(node: ast.expr | None) -> str:
    """Return the text of an expression, with `{…}` for what is only known when it runs; empty when it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    if isinstance(node, ast.IfExp):
        return " or ".join(dict.fromkeys(text for text in (_text(node.body), _text(node.orelse)) if text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _text(node.func.value)  # a text with something replaced in it
    if isinstance(node, ast.BinOp):
        return f"{_text(node.left)}{_text(node.right) or '{…}'}"
    return ""


def plan_page() -> str:
    """Return every field of `emporion.plan/1` and of `emporion.explanation/1`, as documents made now have them.

    Raises: LookupError: as `_described`.
    """
    made = list(_plans())
    plans = [{**plan_json(plan), "intent": {}, "not_deployable": []} for plan in made]
    told = [explanation_json(plan, explain(plan, name)) for plan in made[:2] for name in _EXPLAINED]
    for document in told:
        for walk in document["walks"]:
            walk["placement"] = walk["placement"] and {}
    return _page(
        [
            "# emporion.plan/1",
            GENERATED,
            "What `emporion plan --json` prints. Money is USD as decimal text; unknown is null, never 0.",
            _described("plan_paths.csv", plans, {"not_deployable[]"}),
            "# emporion.explanation/1",
            "What `emporion plan --explain OFFER --json` prints.",
            _described("explanation_paths.csv", told, {"walks[].placement"}),
        ]
    )


_EXPLAINED = (
    "aws/us-east-1/use1-az2/p4d.24xlarge/spot",
    "aws/us-east-1/use1-az1/p4d.24xlarge/spot",
    "gcp/europe-west4/europe-west4-a/a2-megagpu-16g/on_demand",
)


def _described(table: str, documents: Iterable[dict[str, Any]], bare: set[str]) -> str:
    """Return the fields of documents with their words, those of `bare` without being looked into.

    Raises: LookupError: when a field has no words, or words have no field.
    """
    with (Path(__file__).parent / table).open(encoding="utf-8", newline="") as file:
        words = {row["path"]: row["meaning"] for row in csv.DictReader(file)}
    kinds: dict[str, set[str]] = {}
    for document in documents:
        for path, value in _fields(document, ""):
            kinds.setdefault(path, set()).add(_KINDS.get(type(value), "object"))
    undescribed = {path for path in kinds if path not in words and kinds[path] - {"object"}}
    absent = {path for path in words if path not in kinds} - bare
    if undescribed or absent:
        message = f"docs/{table}: without words: {sorted(undescribed)}; no such field: {sorted(absent)}"
        raise LookupError(message)
    rows = [
        [f"`{path}`", " or ".join(sorted(kinds.get(path, {"object"}) - {"null"})) or "text", _cell(meaning)]
        for path, meaning in words.items()
    ]
    return _table(["field", "type", "meaning"], rows)


_KINDS = {str: "text", bool: "bool", int: "number", float: "number", type(None): "null"}


def _plans() -> Iterator[Plan]:
    """Yield plans that have every field between them."""
    offers, clouds, now = load_bundled(), installed_clouds(), datetime(2026, 12, 1, tzinfo=UTC)
    rates = parse_rates(["EUR=1.10"], now.date())
    east = ("aws", "us-east-1", None)
    seen = Observed(links=(MeasuredLink((east, east), 0.05, None, "efa", "probe", "2026-11-30"),))
    wishes = [
        intent_from_flags(gpus="a100:16", min_vram="40gb", network="low-latency", hours="12"),
        intent_from_flags(gpus="a100:8", max_cost="$1/hr"),
        load_intent(REPO / "docs" / "examples" / "pipeline.yaml"),
    ]
    for wish, prefer in zip(wishes, ("carbon", "balanced", "balanced"), strict=True):
        yield make_plan(wish, offers, clouds=clouds, now=now, prefer=prefer, rates=rates, observed=seen)


def _fields(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}".lstrip(".")
            if not isinstance(inner, list):
                yield name, inner
            yield from _fields(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield f"{path}[]", inner
            yield from _fields(inner, f"{path}[]")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _page(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {
        "cli.md": cli_page(),
        "intent.md": intent_page(),
        "offers.md": offers_page(),
        "policies.md": policies_page(),
        "errors.md": errors_page(),
        "plan-json.md": plan_page(),
    }


def stale() -> list[str]:
    """Return the pages whose file differs from what the program says now."""
    return [
        name
        for name, text in pages().items()
        if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` name the stale ones and return 1."""
    if "--check" in arguments:
        for name in stale():
            sys.stdout.write(f"docs/reference/{name} is stale: run python docs/generate.py\n")
        return int(bool(stale()))
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
