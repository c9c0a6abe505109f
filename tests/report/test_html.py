from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pytest
from PIL import Image

from askew.report import write_report
from askew.report.reading import ranked_axes

Results = dict[str, Any]
SVG = "{http://www.w3.org/2000/svg}"


def parse(page: Path) -> Any:
    """The page's tree; raises if the page is not valid HTML 5."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text(encoding="utf-8"))


def text_of(page: Path) -> str:
    return " ".join("".join(parse(page).find("body").itertext()).split())


def test_every_page_is_valid_html(report_pages: dict[str, Path]) -> None:
    for page in report_pages.values():
        parse(page)


def test_pages_need_nothing_from_outside(report_pages: dict[str, Path]) -> None:
    for name, page in report_pages.items():
        tree = parse(page)
        assert tree.find(".//script") is None, name
        assert tree.find(".//link") is None, name
        assert all(image.get("src").startswith("data:image/webp;") for image in tree.iter("img")), name
        assert all(a.get("href").startswith("#") for a in tree.iter("a")), name
        assert not re.search(r"url\(|@import", "".join(tree.find(".//style").itertext())), name


def test_every_link_has_its_target_and_every_id_is_unique(report_pages: dict[str, Path]) -> None:
    for page in report_pages.values():
        tree = parse(page)
        ids = [element.get("id") for element in tree.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert {a.get("href")[1:] for a in tree.iter("a")} <= set(ids)


def test_every_plot_and_picture_can_be_read_without_seeing_it(report_pages: dict[str, Path]) -> None:
    for page in report_pages.values():
        tree = parse(page)
        for plot in tree.iter(f"{SVG}svg"):
            assert plot.get("aria-hidden") == "true" or (
                plot.get("role") == "img" and plot.find(f"{SVG}title") is not None
            )
        assert all(image.get("alt") for image in tree.iter("img"))


def test_hostile_text_stays_text(report_pages: dict[str, Path], hostile_text: str) -> None:
    page = report_pages["hostile"]
    source = page.read_text(encoding="utf-8")
    assert "<script" not in source
    assert "\x1b" not in source
    assert "\x00" not in source
    assert source.count("</style>") == 1
    assert hostile_text[:100] in text_of(page)


def test_the_same_results_give_the_same_bytes(
    results_of: Callable[[str], Results], open_picture: Any, report_pages: dict[str, Path], tmp_path: Path
) -> None:
    again = write_report(results_of("many prompts"), open_picture, tmp_path / "again.html")
    assert again.read_bytes() == report_pages["many prompts"].read_bytes()


def test_default_audit_stays_small_even_with_pictures_that_do_not_compress(
    results_of: Callable[[str], Results], tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (112, 112, 3), dtype=np.uint8)
    noise = Image.fromarray(pixels)
    results = results_of("one prompt")
    assert sum(len(s["pictures"]) for s in results["sets"]) == 27 * 48
    page = write_report(results, lambda _: noise, tmp_path / "report.html")
    assert page.stat().st_size < 6_000_000


def test_axes_come_in_the_order_of_their_corrected_mad(
    results_of: Callable[[str], Results], report_pages: dict[str, Path]
) -> None:
    entry = results_of("one prompt")["tibet"][0]
    corrected = [axis["mad"]["corrected"] for _, axis in ranked_axes(entry)]
    assert corrected == sorted(corrected, reverse=True)
    headings = ["".join(h.itertext()) for h in parse(report_pages["one prompt"]).iter("h3")]
    expected = [name.replace("_", " ").capitalize() for name, _ in ranked_axes(entry)]
    assert [heading.removesuffix(" #") for heading in headings] == expected


def test_sections_come_in_order(report_pages: dict[str, Path]) -> None:
    def sections(name: str) -> list[str]:
        return [h.get("id") for h in parse(report_pages[name]).iter("h2")]

    closing = ["missing", "reading", "method", "plan", "environment"]
    assert sections("one prompt") == ["axes", "pictures", "each-axis", *closing]
    assert sections("many prompts") == ["axes", "domain", "prompts", *closing]
    assert sections("folder") == ["shares", "differences", "each-prompt", "confusion", *closing]
    assert sections("nothing") == closing


def test_grids_say_how_many_of_how_many_and_the_seed(report_pages: dict[str, Path]) -> None:
    text = text_of(report_pages["one prompt"])
    assert "all 48 pictures, run seed 0" in text
    assert "pictures 1 to 12 of 48, run seed 0" in text


def test_a_lost_picture_leaves_an_empty_cell(results_of: Callable[[str], Results], tmp_path: Path) -> None:
    page = write_report(results_of("one axis"), lambda _: None, tmp_path / "report.html")
    tree = parse(page)
    assert tree.find(".//img") is None
    empty = [e for e in tree.iter("span") if e.get("class") == "empty"]
    assert len(empty) == 48 + 3 * 12
    assert empty[0].get("aria-label") == "Picture 1 is missing"


def test_missing_scores_are_named_never_numbers(report_pages: dict[str, Path]) -> None:
    text = text_of(report_pages["all missing"])
    assert "Not measured – no person seen (no picture could be read)." in text
    assert "144" not in text.split("Missing data")[0]
    assert "48 of 48 (100 %)" in text
    assert "an error occurred 48" in text


def test_a_folder_page_shows_what_instruments_disagree_on(report_pages: dict[str, Path]) -> None:
    text = text_of(report_pages["folder"])
    assert "controlled minus baseline, in percentage points" in text
    assert "rows as labels says, columns as faces reads" in text
    assert "20 % to 90 %" in text


def test_warnings_come_before_the_scores(report_pages: dict[str, Path]) -> None:
    source = report_pages["hostile"].read_text(encoding="utf-8")
    assert 0 < source.index('class="warnings"') < source.index('id="axes"')


def test_the_plan_can_be_read_back(report_pages: dict[str, Path]) -> None:
    pre = parse(report_pages["one axis"]).find(".//pre")
    assert 'text = "a photo of a nurse"' in "".join(pre.itertext())


@pytest.mark.parametrize("word", ["unbiased", "fair", "compliant", "compliance"])
def test_no_page_acquits_a_model(report_pages: dict[str, Path], word: str) -> None:
    for page in report_pages.values():
        assert not re.search(rf"\b{word}\b", text_of(page), re.IGNORECASE)


def test_a_failed_write_leaves_the_old_report(
    results_of: Callable[[str], Results], open_picture: Any, tmp_path: Path
) -> None:
    page = write_report(results_of("nothing"), open_picture, tmp_path / "report.html")
    before = page.read_bytes()

    def broken(_: str) -> Image.Image:
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        write_report(results_of("one axis"), broken, page)
    assert page.read_bytes() == before
