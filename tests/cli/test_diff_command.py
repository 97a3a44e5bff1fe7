"""`emporion plan --diff STACK`, and pinning again what is pinned."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from terminal import Emporion

SHOP = ("--project", "shop")


@pytest.fixture
def pinned(emporion: Emporion) -> Path:
    """Return the configuration of a stack that was pinned just now."""
    assert emporion("init", "shop").code == 0
    assert emporion("plan", "shop/intents/demo.yaml", "--pin", "demo", *SHOP).code == 0
    return Path("shop/Pulumi.demo.yaml")


def dearer_then(pinned: Path) -> None:
    """Make the pin remember another price of its machines."""
    text = pinned.read_text()
    assert text.count("6.5323") > 1
    pinned.write_text(text.replace("6.5323", "9.5323"))


def test_a_stack_is_compared_with_what_its_own_intent_comes_to_today(emporion: Emporion, pinned: Path) -> None:
    before = pinned.read_bytes()
    ran = emporion("plan", "--diff", "demo", *SHOP, "--json")
    document = ran.document
    assert (ran.code, document["schema"], document["stack"], document["world"]) == (
        0,
        "emporion.diff/1",
        "demo",
        "local",
    )
    assert (document["changes"], document["effect"], document["feasible"]) == ([], "nothing", True)
    assert document["today"]["usd_per_hour"] == document["pinned"]["usd_per_hour"] == document["replan"]["usd_per_hour"]
    assert document["pinned"]["nodes"] == document["replan"]["nodes"]
    assert document["images_not_looked_up"] is None
    assert "pinning again would change nothing" in emporion("plan", "--diff", "demo", *SHOP).out
    assert pinned.read_bytes() == before


def test_differences_are_no_failure(emporion: Emporion, pinned: Path) -> None:
    dearer_then(pinned)
    ran = emporion("plan", "--diff", "demo", *SHOP)
    assert ran.code == 0
    offer = "aws/us-east-1/use1-az2/p4d.24xlarge/spot"
    assert f"price {offer}: $9.5323/hr -> $6.5323/hr (-3.00 $/hr)" in ran.out
    assert "the same nodes: only the prices that are written down" in ran.out
    document = emporion("plan", "--diff", "demo", *SHOP, "--json").document
    price = document["changes"][0]
    assert (price["kind"], price["what"], Decimal(price["usd_per_hour"])) == ("price", offer, Decimal(-3))


def test_a_stale_pin_is_said_on_the_side(emporion: Emporion, pinned: Path) -> None:
    ran = emporion("plan", "--diff", "demo", *SHOP)
    assert "pricing older than 7 days: pinned " in ran.err
    assert "pricing older" not in ran.out
    document = emporion("plan", "--diff", "demo", *SHOP, "--json").document
    assert document["pinned"]["pricing"]["stale"].startswith("pricing older than 7 days")
    assert document["pinned"]["pricing"]["age_days"] > 7
    assert pinned.is_file()


def test_another_intent_is_compared_key_by_key(emporion: Emporion, pinned: Path) -> None:
    assert pinned.is_file()
    wish = ("--market", "on_demand", "--spot-fallback", "false", "--max-cost", "$99/hr")
    ran = emporion("plan", "shop/intents/demo.yaml", *wish, "--diff", "demo", *SHOP)
    assert ran.code == 0
    assert "intent lifecycle.market: spot -> on_demand" in ran.out
    assert "placement nodes: 2 x aws/us-east-1/use1-az2/p4d.24xlarge/spot -> 2 x aws/us-east-1/" in ran.out


def test_new_infeasibility_exits_3_with_the_differences(emporion: Emporion, pinned: Path) -> None:
    assert pinned.is_file()
    ran = emporion("plan", "shop/intents/demo.yaml", "--max-cost", "$9/hr", "--diff", "demo", *SHOP, "--json")
    assert (ran.code, ran.document["feasible"], ran.document["replan"]) == (3, False, None)
    kinds = [change["kind"] for change in ran.document["changes"]]
    assert kinds == ["intent", "feasibility", "budget"]
    text = emporion("plan", "shop/intents/demo.yaml", "--max-cost", "$9/hr", "--diff", "demo", *SHOP)
    assert text.code == 3
    assert "[E-BUDGET]" in text.err


def test_what_is_pinned_is_pinned_again_without_its_file(emporion: Emporion, pinned: Path) -> None:
    dearer_then(pinned)
    ran = emporion("plan", "--pin", "demo", *SHOP, "--json")
    assert (ran.code, ran.document["wrote"]) == (0, True)
    assert emporion("plan", "--diff", "demo", *SHOP, "--json").document["changes"] == []
    assert emporion("plan", "--pin", "demo", *SHOP, "--json").document["wrote"] is False


def test_the_preference_of_the_pin_is_kept_unless_another_is_given(emporion: Emporion) -> None:
    emporion("init", "shop")
    wish = ("--gpus", "any:8", "--providers", "aws", "--regions", "us-east-1", "--name", "fast")
    picked = {}
    for prefer in ("speed", "cost"):
        ran = emporion("plan", *wish, "--prefer", prefer, "--pin", "fast", *SHOP, "--json")
        assert ran.code == 0, ran.err
        picked[prefer] = ran.document["placement"]["pools"][0]["offer_id"]
    assert picked["speed"] != picked["cost"]
    assert emporion("plan", "--diff", "fast", *SHOP, "--json").document["changes"] == []
    other = emporion("plan", "--diff", "fast", "--prefer", "speed", *SHOP, "--json").document
    assert other["replan"]["nodes"][0]["offer"] == picked["speed"]


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, "E-STACK"), ("config:\n  emporion:world: local\n", "E-UNPINNED")],
    ids=["none", "unpinned"],
)
@pytest.mark.parametrize("flag", ["--diff", "--pin"])
def test_without_a_pin_there_is_nothing_to_compare(emporion: Emporion, flag: str, text: str | None, code: str) -> None:
    emporion("init", "shop")
    if text is not None:
        Path("shop/Pulumi.demo.yaml").write_text(text)
    ran = emporion("plan", flag, "demo", *SHOP)
    assert (ran.code, ran.out) == (2, "")
    assert f"[{code}]" in ran.err


def test_images_that_nobody_could_be_asked_for_are_said(
    emporion: Emporion, pinned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ROLE_ARN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(pinned.with_name("none")))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    pinned.write_text(pinned.read_text().replace("emporion:world: local", "emporion:world: real"))
    ran = emporion("plan", "--diff", "demo", *SHOP)
    assert ran.code == 0
    assert "pinning again would change nothing, but perhaps images" in ran.out
    assert "images were not looked up: " in ran.err
    assert emporion("plan", "--diff", "demo", *SHOP, "--json").document["images_not_looked_up"]
