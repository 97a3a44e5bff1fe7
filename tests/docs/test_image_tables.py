from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from emporion.images.recipe import KEYS, Recipe
from emporion.images.tables import rows
from emporion.market.dates import moment
from emporion.market.gpus import all_gpus

REPO = Path(__file__).resolve().parents[2]
DATA = REPO / "images" / "emporion" / "images" / "data"


def test_the_page_says_what_the_tables_say_now() -> None:
    done = subprocess.run([sys.executable, REPO / "docs" / "image_tables.py", "--check"], check=False)
    assert done.returncode == 0, "run: python docs/image_tables.py"


def test_every_key_of_a_recipe_is_described() -> None:
    assert list(KEYS) == [one.name for one in fields(Recipe)]


def test_every_row_of_every_table_has_a_source_and_a_date() -> None:
    names = sorted(path.name for path in DATA.glob("*.csv"))
    assert len(names) > 10
    for name in names:
        for row in rows(name):
            assert row["source"], f"{name}: {row}"
            moment(row["as_of"])
            assert None not in row, f"{name} has a cell too many: {row}"
            assert None not in row.values(), f"{name} has a cell too few: {row}"


def test_every_cuda_gpu_has_a_class_and_an_architecture() -> None:
    cuda = [gpu for gpu in all_gpus() if gpu.compute_capability]
    assert {gpu.id for gpu in cuda} == {row["gpu"] for row in rows("gpu_classes.csv")}
    assert {gpu.architecture for gpu in cuda} == {row["architecture"] for row in rows("architectures.csv")}
