"""An offers file as a document: whatever is wrong with it ends in one clear error."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emporion.market.errors import ExitCode, UserError
from emporion.market.offers import load_csv
from emporion.market.tables import DATA

HEADER = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,"
    "source,as_of"
)
ROW = "acme,r1,,t,A100,1,40,8,64,1.00,,a test,2026-11-30"


def problem(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "offers.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError) as caught:
        load_csv(path)
    for each in caught.value.problems():
        assert each.code == "E-OFFERS"
        assert each.exit_code is ExitCode.BAD_INPUT
        assert str(path) in (each.where or "")
    return str(caught.value)


def test_a_file_that_does_not_exist_is_said_not_to_exist_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "offers.csv").write_text("x")
    with pytest.raises(UserError) as caught:
        load_csv(tmp_path / "offer.csv")
    assert caught.value.what == "offers file does not exist"
    assert caught.value.fix == "did you mean offers.csv"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        load_csv(tmp_path)


def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_csv(tmp_path / "a\0b")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (HEADER, "has no rows"),
        (HEADER + "\n\n", "has no rows"),
        (b"\x1f\x8b\x08\x00abc", "is gzip, not CSV"),
        (b"PK\x03\x04abc", "is a zip archive, not CSV"),
        (HEADER.encode("utf-16"), "is UTF-16, not CSV"),
        (HEADER.encode() + b"\nacme,\xff\xfe", "is not text in UTF-8"),
        (HEADER + "\nacme,\0", "is binary, not CSV"),
        (HEADER + "\n" + ROW + '\nacme,"r1', "is truncated: a quoted field is not closed"),
        (HEADER + "\n" + ROW + "\nacme,r1,,t,A1", "is truncated: 5 of 13 fields"),
        (HEADER + "\n" + ROW + "\nacme,r1,,u,A100,1,40,8,64,1.00,,a test,2026-1", "is truncated: as_of '2026-1'"),
        (HEADER + "\n" + ROW + '\nacme,"r1"x,,t', "is not CSV"),
        (HEADER + "\n" + "x" * 200_000, "is not CSV: field larger than field limit"),
        (f"{HEADER}\n{ROW}\n".replace(",", ";"), "is separated by semicolons, not by commas"),
        (f"{HEADER}\n{ROW}\n".replace(",", "\t"), "is separated by tabs, not by commas"),
        ("<html><body>404</body></html>\n", "does not begin with the names of its columns"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value[-24:],
)
def test_what_is_no_whole_csv_file_is_said_to_be_none(tmp_path: Path, content: bytes | str, says: str) -> None:
    assert says in problem(tmp_path, content)


@pytest.mark.parametrize("name", HEADER.split(","))
def test_a_missing_column_is_named(tmp_path: Path, name: str) -> None:
    index = HEADER.split(",").index(name)
    lines = [line.split(",") for line in (HEADER, ROW)]
    without = "\n".join(",".join(line[:index] + line[index + 1 :]) for line in lines)
    assert f"has no column {name}" in problem(tmp_path, without + "\n")


def test_every_missing_and_unknown_column_is_named_at_once(tmp_path: Path) -> None:
    text = problem(tmp_path, HEADER.replace("gpu_count", "gpu_cuont").replace(",zone", "") + "\n" + ROW + "\n")
    assert "has no column zone" in text
    assert "has the unknown column 'gpu_cuont'" in text
    assert "did you mean gpu_count" in text


def test_a_price_column_of_unsaid_basis_is_unknown(tmp_path: Path) -> None:
    assert "unknown column 'price'" in problem(tmp_path, HEADER + ",price\n" + ROW + ",1\n")


def test_a_column_named_twice_is_an_error(tmp_path: Path) -> None:
    assert "has the column 'zone' twice" in problem(tmp_path, HEADER + ",zone\n" + ROW + ",\n")


def test_a_row_with_too_many_or_too_few_fields_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    path.write_text(f"{HEADER}\n{ROW},extra\nacme,r1\n{ROW}\n")
    catalogue = load_csv(path)
    assert [(note.row, note.reason) for note in catalogue.refused] == [
        (2, "14 fields, the header has 13"),
        (3, "2 fields, the header has 13"),
    ]
    assert len(catalogue.offers) == 1


@pytest.mark.parametrize("end", ["", "\n"], ids=["no line end", "a line end"])
@pytest.mark.parametrize("place", [0, 1], ids=["first", "last"])
def test_a_whole_row_that_is_wrong_costs_only_itself(tmp_path: Path, place: int, end: str) -> None:
    rows = [ROW.replace(",t,", ",u,")]
    rows.insert(place, ROW.replace("1.00", "-1"))
    path = tmp_path / "offers.csv"
    path.write_text("\n".join([HEADER, *rows]) + end)
    catalogue = load_csv(path)
    assert [(note.row, note.reason) for note in catalogue.refused] == [(place + 2, "on_demand_usd_hr '-1' is negative")]
    assert [offer.instance_type for offer in catalogue.offers] == ["u"]


@pytest.mark.parametrize("as_of", ["2026-02-30", "2026-13", "0000", "2026-11-30T25:00", "yesterday", "2026-11-30 10"])
def test_a_date_that_no_calendar_has_is_refused(tmp_path: Path, as_of: str) -> None:
    path = tmp_path / "offers.csv"
    path.write_text(f"{HEADER}\n{ROW.replace('2026-11-30', as_of)}\n{ROW}\n")
    assert [note.reason for note in load_csv(path).refused] == [f"as_of {as_of!r} is not a date such as 2026-11-30"]


def test_a_byte_order_mark_windows_line_ends_and_a_missing_last_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    path.write_bytes(b"\xef\xbb\xbf" + f"{HEADER}\r\n{ROW}\r\n\r\n{ROW.replace(',t,', ',u,')}".encode())
    assert [offer.instance_type for offer in load_csv(path).offers] == ["t", "u"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: f"{HEADER}\n{text}".encode())))
@example(HEADER.encode() + b'\n"')
def test_no_file_ends_in_anything_but_a_user_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "offers.csv"
    path.write_bytes(content)
    with pytest.raises(UserError):
        load_csv(path)


CELL = st.one_of(
    st.sampled_from(
        ["", "0", "-1", "NaN", "1e9", "8", "A100", "A100:8", "tpu v5p-7", "40 GiB", "1g.10gb", "spot", "EUR"]
    ),
    st.text(max_size=12),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(st.lists(CELL, min_size=18, max_size=18))
def test_any_cells_are_taken_or_noted_with_their_row(tmp_path: Path, cells: list[str]) -> None:
    columns = [*HEADER.split(","), "currency", "arch", "mig", "advertised", "price_per_gpu"]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    good = [*ROW.split(","), "", "", "", "", ""]
    writer.writerows([columns, good, cells])
    path = tmp_path / "offers.csv"
    path.write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
    try:
        catalogue = load_csv(path)
    except UserError as error:
        assert error.code == "E-OFFERS"  # noqa: PT017 - either end is right
        return
    assert catalogue.offers[0].instance_type == "t"
    assert len(catalogue.offers) > 1 or catalogue.notes
    assert all(offer.usd_per_hour.is_finite() and offer.usd_per_hour >= 0 for offer in catalogue.offers)


def test_the_snapshot_cut_anywhere_is_an_error_or_a_smaller_catalogue(tmp_path: Path) -> None:
    data = (DATA / "cpu_offers.csv").read_bytes()[:3000]
    path = tmp_path / "offers.csv"
    for end in range(len(data) - 120, len(data)):
        path.write_bytes(data[:end])
        try:
            catalogue = load_csv(path)
        except UserError as error:
            assert "truncated" in error.what  # noqa: PT017 - either end is right
            continue
        assert not catalogue.refused


def test_all_missing_columns_are_one_error(tmp_path: Path) -> None:
    text = problem(tmp_path, "provider,region,source\naws,us-east-1,me\n")
    assert "has no column zone, instance_type, gpu, " in text
