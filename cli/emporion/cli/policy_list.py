"""`emporion policy list`, `explain` and `path`: what the rules are, and where the packs lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli import render
from emporion.cli.options import json_option, project_option
from emporion.market.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from emporion.policies import Rule, Setting

__all__ = ["explain", "list_", "pack_option", "path"]

pack_option = click.option("--pack", default="all", show_default=True, metavar="PACK", help="Only the rules of a pack.")


@click.command("list", short_help="Show every rule with its pack, level and severity.")
@pack_option
@project_option
@json_option
def list_(pack: str, project: Path | None, as_json: bool) -> None:
    """Show the rules with the level that the project's policies.json gives them, or their own."""
    from emporion.policies.packs import PACKS, pack_of

    assert_pack(pack)
    settings = _settings(project)
    rules = PACKS[pack]
    if as_json:
        rows = [
            {
                "name": rule.name,
                "pack": pack_of(rule),
                "level": settings[rule.name].level.value,
                "severity": rule.severity.value,
                "fix": rule.fix,
                "description": rule.description,
                "profile": rule.profile,
            }
            for rule in rules
        ]
        render.json_out("emporion.rules/1", {"rules": rows})
        return
    lines = [
        (rule.name, pack_of(rule), settings[rule.name].level.value, rule.severity.value, rule.description)
        for rule in rules
    ]
    click.echo(render.table(["RULE", "PACK", "LEVEL", "SEVERITY", "WHAT HOLDS"], lines, wrap=["WHAT HOLDS"]))


@click.command(short_help="Say what a rule wants, and how to configure or exempt it.")
@click.argument("name", metavar="RULE")
@project_option
@json_option
def explain(name: str, project: Path | None, as_json: bool) -> None:
    """Say what RULE wants, why it may be broken, and how it is configured."""
    from emporion.policies.packs import RULES, pack_of

    rule = RULES.get(name)
    if rule is None:
        near = did_you_mean(name, list(RULES))
        raise UserError(
            "E-RULE",
            f"there is no rule {name!r}",
            "RULE",
            f"did you mean {near!r}?" if near else "emporion policy list",
        )
    setting = _settings(project)[name]
    if as_json:
        parameters = {
            one.name: {
                "is": one.kind.says,
                "default": _plain(one.default),
                "now": _plain(_now(setting, one.name, one.default)),
            }
            for one in rule.parameters.values()
        }
        render.json_out(
            "emporion.rule/1",
            {
                "name": name,
                "pack": pack_of(rule),
                "level": setting.level.value,
                "severity": rule.severity.value,
                "description": rule.description,
                "fix": rule.fix,
                "profile": rule.profile,
                "like": list(rule.like),
                "parameters": parameters,
            },
        )
        return
    click.echo(_explained(rule, setting, pack_of(rule)))


def _explained(rule: Rule, setting: Setting, pack: str) -> str:
    profile = f", profile {rule.profile}" if rule.profile else ""
    lines = [
        f"{rule.name}: {rule.description}",
        f"pack {pack}{profile}, {setting.level.value}, severity {rule.severity.value}",
        f"to mend it: {rule.fix}",
    ]
    if rule.like:
        lines.append(f"like {', '.join(rule.like)}")
    for one in rule.parameters.values():
        now = _now(setting, one.name, one.default)
        lines.append(f"  {one.name}: {one.kind.says}; now {_plain(now) if now is not None else 'not set'}")
    exempt = '{"resource": "NAME*", "owner": "…", "reason": "…", "until": "2027-01-31"}'
    lines += [
        "in policies.json, beside Pulumi.yaml:",
        f'  {{"{rule.name}": "advisory"}}   or "mandatory", "disabled"',
        f'  {{"{rule.name}": {{"exempt": [{exempt}]}}}}',
    ]
    return "\n".join(lines)


def _now(setting: Setting, name: str, default: object) -> Any:  # noqa: ANN401 - of the parameter's type
    return setting.parameters.get(name, default)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a parameter's value as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return {key: str(item) for key, item in value.items()} if hasattr(value, "items") else value


@click.command(short_help="Print the folder of a pack, for `pulumi preview --policy-pack`.")
@pack_option
@json_option
def path(pack: str, as_json: bool) -> None:
    """Print the folder of a pack: pulumi preview --policy-pack "$(emporion policy path)"."""
    from emporion.policies.packs import pack_folder

    assert_pack(pack)
    if as_json:
        render.json_out("emporion.pack/1", {"pack": pack, "path": str(pack_folder(pack))})
    else:
        click.echo(pack_folder(pack))


def assert_pack(pack: str) -> None:
    """Raise UserError E-PACK when there is no pack of a name."""
    from emporion.policies.packs import PACKS

    if pack not in PACKS:
        near = did_you_mean(pack, list(PACKS))
        raise UserError(
            "E-PACK",
            f"there is no pack {pack!r}; packs: {', '.join(PACKS)}",
            "--pack",
            f"did you mean {near!r}?" if near else "emporion policy list",
        )


def _settings(project: Path | None) -> dict[str, Setting]:
    """Return how the rules are configured: by the project in use, when there is one."""
    from emporion.cli.session import project_if_any
    from emporion.operations.policies import read_config
    from emporion.policies.packs import RULES
    from emporion.policies.settings import read_settings

    return read_settings(read_config(project_if_any(project)), RULES.values())
