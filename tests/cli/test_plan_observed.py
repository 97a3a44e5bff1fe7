"""What was measured and seen, as files of the user's home and as a flag."""

from __future__ import annotations

from pathlib import Path

from terminal import Emporion

WISH = ("--gpus", "a100-40gb:16", "--network", "low-latency")
LINKS = "from_provider,from_region,from_zone,to_provider,to_region,to_zone,latency_ms,fabric,source,as_of"
EVENTS = "provider,region,zone,instance_type,up_hours,interruptions,source,as_of"


def efa(latency_ms: str) -> str:
    return f"{LINKS}\naws,us-east-1,,aws,us-east-1,,{latency_ms},efa,probe,2026-11-30\n"


def test_a_file_of_links_is_told_in_the_plan(emporion: Emporion, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(efa("0.03"))
    document = emporion("plan", *WISH, "--links", str(path), "--json").document
    assert document["catalogue"]["observed"] == {"links": 1, "spot_events": 0, "nodes": 0}
    found = [link for each in document["solutions"] for link in each["links"] if not link["modelled"]]
    assert {(link["latency_ms"], link["source"], link["as_of"]) for link in found} == {(0.03, "probe", "2026-11-30")}
    assert "observed" not in emporion("plan", *WISH, "--json").document["catalogue"]


def test_files_of_the_home_count_without_a_flag(emporion: Emporion, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "observed").mkdir(parents=True)
    (home / "links.csv").write_text(efa("0.03"))
    (home / "observed" / "spot_events.csv").write_text(f"{EVENTS}\naws,us-east-1,,p4d.24xlarge,10,2,guard,2026-11-30\n")
    assert emporion("plan", *WISH, "--json").document["catalogue"]["observed"]["spot_events"] == 1


def test_a_bad_file_exits_2_with_its_lines(emporion: Emporion, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(efa("nan").replace("to_zone", "to_zoen"))
    ran = emporion("plan", *WISH, "--links", str(path))
    assert ran.code == 2
    assert "did you mean to_zone" in ran.err
    path.write_text(efa("nan"))
    ran = emporion("plan", *WISH, "--links", str(path))
    assert ran.code == 2
    assert "measurement has the latency_ms 'nan', which is no number  [E-OBSERVED]" in ran.err
    assert "mine.csv:2" in ran.err
    assert emporion("plan", *WISH, "--links", str(tmp_path / "min.csv")).code == 2
