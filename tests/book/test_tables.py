"""The tables that `scripts/tables.py` and the zoo write into pages are those of the results."""

from ensedu.book import measured
from scripts.tables import on_page, speed, starts, whole
from tests.zoo import results


def test_the_table_of_conversions_is_what_the_zoo_found():
    words = on_page("zoo")
    assert words == results.table(measured.load("zoo"))
    # By hand, from the file: three methods have the same results everywhere.
    assert "| deep ensemble | BatchEnsemble, rank-1 BNN, mean-field BNN | MC dropout |" in words
    assert '| LeViT (timm): `shared=["*.attention_biases"]` | ✓ | ✓ˢ | ¹ | ✓ |' in words


def test_the_table_of_speed_is_what_was_measured():
    words = on_page("speed")
    assert words == speed(measured.load("speed-cpu"))
    # By hand, from the file: four members of width 256 with 32 examples.
    assert "| BatchEnsemble, width 256, 32 examples | 1.20 | 1.12 | 1.54 | – | – |" in words
    assert "| mean-field BNN, width 256, 32 examples | 6.20 | – | 13.66 | 5.70 | 8.06 |" in words


def test_the_table_of_whole_models_is_what_was_measured():
    found = measured.load("whole-models")
    assert on_page("whole") == whole(found)
    peaks = {name: one["peak_bytes"] for name, one in found["contestants"].items()}
    # What the page says below it.
    assert peaks["batch_ensemble"] > peaks["deep_ensemble"] > 3 * peaks["one network"]
    assert peaks["batch_ensemble, a part each"] < peaks["4 networks in turn"]


def test_the_table_of_starts_is_what_was_measured():
    assert on_page("starts") == starts(measured.load("starts"))
