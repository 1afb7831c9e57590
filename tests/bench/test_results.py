"""Results against their targets, and the file that keeps them."""

from pathlib import Path

import pytest

from tests.bench.results import Result, keep, markdown, read, save_picture


@pytest.mark.parametrize(
    ("result", "reach"),
    [
        (Result("captures", 0.9, "", 0.6), 1.5),
        (Result("replay", 2_500, "/s", 20_000), 0.125),
        (Result("a read", 10, "ms", 20, at_most=True), 2.0),
        (Result("a read", 40, "ms", 20, at_most=True), 0.5),
        (Result("a hook", 80, "ms"), None),
    ],
)
def test_one_is_the_target_whether_more_or_less_is_better(result: Result, reach: float | None) -> None:
    assert result.reach == reach


def test_a_figure_takes_the_place_of_the_one_of_its_name(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    keep(kept, [Result("captures", 0.5, "", 0.6), Result("replay", 2_500, "/s", 20_000)])

    keep(kept, [Result("captures", 0.9, "", 0.6, baseline="bare route: 1,000/s")])

    assert [(each.what, each.measured) for each in read(kept)] == [("captures", 0.9), ("replay", 2_500)]


def test_a_page_says_which_targets_are_met() -> None:
    page = markdown(
        [Result("captures", 0.9, "", 0.6), Result("replay", 2_500, "/s", 20_000), Result("a hook", 80, "ms")]
    )

    assert [line.split("|")[4].strip() for line in page.splitlines()[2:]] == ["met", "**missed**", ""]


def test_the_picture_names_every_figure(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"

    save_picture([Result("captures", 0.9, "", 0.6)], picture)

    assert "captures" in picture.read_text()
