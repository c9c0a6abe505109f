"""The counts of a dry run equal what the run then makes and asks."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from askew.measure.labels import create as create_labels
from askew.models.folder import create
from askew.run.count import CountingRun
from askew.run.work import once_each, unique
from askew.store.store import Store
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import COPY, Missing, Picture


def test_no_question_is_asked_about_absent_files(tmp_path: Path) -> None:
    for k in range(3):
        draw(Scene(), k).save(tmp_path / f"{k}.png")
    rows = [f"{k}.png,nurse,{'FM'[k % 2]}" for k in range(5)]
    (tmp_path / "manifest.csv").write_text(
        "\n".join(["file,prompt,gender", *rows]), encoding="utf-8"
    )
    collection = create(str(tmp_path))
    labels = create_labels(collection=collection)
    with Store(tmp_path / "store", create=False) as store:
        counted = CountingRun(store)
        outcomes = [outcome for _, outcome in counted.collect(collection)]
        counted.ask(labels, outcomes, labels.axes()[0].questions)
    assert [type(outcome) for outcome in outcomes] == [Picture, Picture, Picture, Missing, Missing]
    assert (counted.work.pictures, counted.work.questions, counted.work.vqa_calls) == (5, 3, 1)
    assert not (tmp_path / "store").exists()


@given(st.lists(st.sampled_from(["a", "b", "c", None])))
def test_each_image_stands_once_at_its_first_position(names: list[str | None]) -> None:
    missing = Missing("blank_image")
    outcomes = [missing if name is None else Picture(name, "", "p") for name in names]
    distinct = once_each(outcomes)
    assert len(distinct) == len(outcomes)
    assert unique(distinct) == unique(outcomes)
    assert distinct.count(missing) == names.count(None)
    for place, outcome in enumerate(outcomes):
        is_first = outcome == missing or outcome not in outcomes[:place]
        assert distinct[place] == (outcome if is_first else COPY)
    assert once_each(distinct) == distinct
