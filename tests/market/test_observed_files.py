"""The files of measurements: what they say, and every way in which they are refused."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.errors import ExitCode, UserError
from emporion.market.observed import (
    LINK_COLUMNS,
    NOTHING,
    SPOT_COLUMNS,
    MeasuredLink,
    NodeReading,
    SpotRecord,
    load_observed,
    read_links,
    read_nodes,
    read_spot_events,
)
from emporion.market.sites import zone_problem

LINKS = ",".join([*LINK_COLUMNS, "bandwidth_gbps", "fabric"])
SPOT = ",".join(SPOT_COLUMNS)
GOOD = "aws,us-east-1,use1-az1,gcp,us-east4,,0.9,iperf3 between two nodes,2026-11-30,20,"


def written(tmp_path: Path, head: str, *lines: str) -> Path:
    path = tmp_path / "seen.csv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def refused(path: Path) -> list[tuple[str, str, str]]:
    with pytest.raises(UserError) as caught:
        read_links(path)
    problems = caught.value.problems()
    assert {(each.code, each.exit_code) for each in problems} == {("E-OBSERVED", ExitCode.BAD_INPUT)}
    return [((each.where or "").rpartition(":")[2], each.what, each.fix or "") for each in problems]


def test_a_link_is_read_with_who_measured_it_and_when(tmp_path: Path) -> None:
    (found,) = read_links(written(tmp_path, LINKS, GOOD))
    ends = (("aws", "us-east-1", "use1-az1"), ("gcp", "us-east4", None))
    assert found == MeasuredLink(ends, 0.9, 20.0, None, "iperf3 between two nodes", "2026-11-30")


def test_columns_come_in_any_order_with_blank_lines_between_and_the_optional_ones_left_out(tmp_path: Path) -> None:
    head = ",".join(reversed(LINK_COLUMNS))
    path = written(tmp_path, head.upper(), "", "2026-11,ping,0.9,,us-east4,GCP,,us-east-1,aws", ",,,,,,,,")
    assert [(each.ends[1], each.bandwidth_gbps) for each in read_links(path)] == [(("gcp", "us-east4", None), None)]


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        (GOOD.replace("0.9", "nan"), "has the latency_ms 'nan', which is no number", "write only the number of ms"),
        (GOOD.replace("0.9", "0.9ms"), "has the latency_ms '0.9ms', which is no number", "write only the number of ms"),
        (GOOD.replace("0.9", "inf"), "has the latency_ms inf, which is out of range", "between 0.0001 and 10000 ms"),
        (GOOD.replace("0.9", "-1"), "has the latency_ms -1, which is out of range", "between 0.0001 and 10000 ms"),
        (GOOD.replace("0.9", "0"), "has the latency_ms 0, which is out of range", "between 0.0001 and 10000 ms"),
        (GOOD.replace("0.9", "1_0"), "has the latency_ms '1_0', which is no number", "write only the number of ms"),
        (GOOD.replace("0.9", ""), "has no latency_ms", ""),
        (GOOD.replace(",20,", ",0,"), "has the bandwidth_gbps 0, which is out of range", "0.001 and 100000 Gb/s"),
        (GOOD.replace("iperf3 between two nodes", " "), "has no source", ""),
        (GOOD.replace("2026-11-30", "yesterday"), "has the as_of 'yesterday', which is no date", "2026-12-01"),
        (GOOD.replace("2026-11-30", "2026-02-30"), "has the as_of '2026-02-30', which is no date", "2026-12-01"),
        (GOOD.replace("us-east4", ""), "has no to_region", ""),
        (
            GOOD.replace("use1-az1", "us-east-1a"),
            f"has the from_zone 'us-east-1a': {zone_problem('aws', 'us-east-1a')}",
            "write the zone's id",
        ),
        (GOOD + "eth", "has the fabric 'eth'", "ethernet"),
        (GOOD + "efa", "names a fabric, but its ends are two places", "leave fabric empty between sites"),
        (GOOD + ",", "has 12 cells where the first line names 11", ""),
        (
            "aws,us-east-1,use1-az1,aws,us-east-1,use1-az1,0.9,x,2026,,",
            "has the same place at both ends",
            "name the fabric",
        ),
        ("aws,us-east-1,,aws,us-east-1,,0.9,x,2026,5,efa", "has a bandwidth_gbps within a site", "leave it empty"),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused_with_its_number(tmp_path: Path, line: str, what: str, fix: str) -> None:
    seen = refused(written(tmp_path, LINKS, "", line))
    assert any(where == "3" and told == f"measurement {what}" and fix in way for where, told, way in seen), seen


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    bad = GOOD.replace("0.9", "x").replace("2026-11-30", "y")
    assert [where for where, *_ in refused(written(tmp_path, LINKS, bad, GOOD, bad))] == ["2", "2", "4", "4"]


def test_the_same_link_twice_is_refused_whichever_way_round(tmp_path: Path) -> None:
    back = "gcp,us-east4,,aws,us-east-1,use1-az1,1.1,ping,2026-11-29,,"
    assert refused(written(tmp_path, LINKS, GOOD, back)) == [
        ("3", "measurement measures the same link as line 2", "keep one of them")
    ]


def test_a_mistyped_column_names_the_nearest(tmp_path: Path) -> None:
    seen = refused(written(tmp_path, LINKS.replace("latency_ms", "latency").replace("fabric", "fabrik")))
    assert [(what.removeprefix("file of measurements "), fix) for _, what, fix in seen][1:] == [
        ("has the unknown column 'latency'", "did you mean latency_ms"),
        ("has the unknown column 'fabrik'", "did you mean fabric"),
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b" \n", "is empty"),
        (b"a,b\n1,2\n", "does not begin with the names of its columns"),
        (f"{LINKS},source\n".encode(), "has the column source twice"),
        (b"\xff\xfea\0", "is not text in UTF-8"),
        (b"from_provider\0\n", "is binary, not CSV"),
        (f'{LINKS}\n"{GOOD}'.encode(), "is not CSV: unexpected end of data"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes(data)
    assert what in {told.removeprefix("file of measurements ") for _, told, _ in refused(path)}


def test_a_file_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, LINKS)
    assert refused(tmp_path / "sene.csv")[0][1:] == ("file of measurements does not exist", "did you mean seen.csv")
    assert refused(tmp_path)[0][1:] == ("file of measurements is a folder", "give a CSV file")
    missing = ("file of measurements does not exist", "give the path of a CSV file")
    assert refused(tmp_path / "no" / "x.csv")[0][1:] == missing


def test_interruptions_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, SPOT, "AWS,us-east-1,use1-az1,p4d.24xlarge,120.5,3,guard,2026-11-30T10:00Z")
    assert read_spot_events(path) == (
        SpotRecord("aws", "us-east-1", "use1-az1", "p4d.24xlarge", 120.5, 3, "guard", "2026-11-30T10:00Z"),
    )


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ("0,1", "has the up_hours 0, which is out of range"),
        ("nan,1", "has the up_hours 'nan', which is no number"),
        ("5,-1", "has the interruptions -1, which is out of range"),
        ("5,1.5", "has the interruptions '1.5', which is no whole number"),
        ("5,inf", "has the interruptions 'inf', which is no whole number"),
        ("5,", "has no interruptions"),
        (",0", "has no up_hours"),
    ],
)
def test_interruptions_that_cannot_be_meant_are_refused(tmp_path: Path, cells: str, what: str) -> None:
    path = written(tmp_path, SPOT, f"aws,us-east-1,,p4d.24xlarge,{cells},guard,2026-11-30")
    with pytest.raises(UserError) as caught:
        read_spot_events(path)
    assert [each.what for each in caught.value.problems()] == [f"measurement {what}"]


def test_a_record_twice_is_refused_and_two_spans_of_one_pool_are_not(tmp_path: Path) -> None:
    line = "aws,us-east-1,,p4d.24xlarge,24,0,guard,2026-11-30"
    assert len(read_spot_events(written(tmp_path, SPOT, line, line.replace("-30", "-29")))) == 2
    with pytest.raises(UserError, match="says the same as line 2"):
        read_spot_events(written(tmp_path, SPOT, line, line))


def test_readings_of_machines_are_read(tmp_path: Path) -> None:
    head = "provider,region,zone,instance_type,storage_iops,temperature_c,spot_placement_score,source,as_of"
    path = written(tmp_path, head, "aws,us-east-1,,p4d.24xlarge,180000,,7,fio,2026-11-30")
    assert read_nodes(path) == (
        NodeReading("aws", "us-east-1", None, "p4d.24xlarge", 180000.0, None, 7, "fio", "2026-11-30"),
    )
    with pytest.raises(UserError, match="has the spot_placement_score 11, which is out of range"):
        read_nodes(written(tmp_path, head, "aws,us-east-1,,p4d.24xlarge,,,11,x,2026"))


def test_a_home_without_files_has_nothing_and_a_file_of_links_replaces_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert load_observed(home) is load_observed(None) is NOTHING
    (home / "observed").mkdir(parents=True)
    (home / "links.csv").write_text(f"{LINKS}\n{GOOD}\n")
    (home / "observed" / "spot_events.csv").write_text(f"{SPOT}\naws,us-east-1,,p4d.24xlarge,24,0,guard,2026\n")
    other = written(tmp_path, LINKS, GOOD.replace("0.9", "1.5"))
    assert [each.latency_ms for each in load_observed(home).links] == [0.9]
    assert [each.latency_ms for each in load_observed(home, other).links] == [1.5]
    assert len(load_observed(home, other).spot) == 1
    with pytest.raises(UserError, match="does not exist"):
        load_observed(home, tmp_path / "missing.csv")


@given(st.lists(st.text(string.printable + "é\0", max_size=30), max_size=6))
def test_no_text_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "links.csv"
    path.write_text("\n".join([LINKS, *lines]), encoding="utf-8")
    caught: UserError | None = None
    try:
        assert read_links(path) == ()
    except UserError as error:
        caught = error
    assert caught is None or {each.code for each in caught.problems()} == {"E-OBSERVED"}
