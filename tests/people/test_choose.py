"""Studies in which people compare two image sets."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from askew.people.assignment import is_mirrored
from askew.people.folder import StudyFolder
from askew.people.image_sets import ImageSet
from askew.people.new_choose import EQUAL, FIRST, SECOND, pair_items
from askew.people.records import AnswerRecord
from askew.people.results import study_results
from askew.types import Estimate
from study_folders import links_of, served, write_folder

SCORES = (0.0, 0.1, 0.2, 0.3, 0.45)


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    sets = [
        ImageSet(
            name=f"prompt {number}",
            prompt=f"prompt {number}",
            source=0,
            images=(f"{number:064x}", f"{number + 50:064x}"),
            score=score,
        )
        for number, score in enumerate(SCORES)
    ]
    items, frame = pair_items(list(combinations(sets, 2)))
    return write_folder(tmp_path / "study", items, frame, 12, 12, kind="choose", axes=())


def test_results_recover_what_raters_prefer(study: StudyFolder) -> None:
    rng = np.random.default_rng(4)
    facts = {entry.id: entry.facts for entry in study.frame}
    records = []
    for rater in study.raters():
        for name in rater.items:
            item = study.items[name]
            answer = item.expected
            if answer is None:
                of_item = facts[str(item.repeats or name)]
                prefers_first = 1 / (1 + np.exp(8 * (of_item[FIRST] - of_item[SECOND])))
                answer = FIRST if rng.random() < prefers_first else SECOND
                answer = EQUAL if rng.random() < 0.1 else answer
            records.append(AnswerRecord(rater.id, name, 1, (answer,), seconds=3.0))
    study.write_answers(records)
    choices = study_results(study).write().findings.included.choices
    assert choices is not None
    assert isinstance(choices.agreement_with_score, Estimate)
    assert choices.agreement_with_score.value == pytest.approx(0.78, abs=0.08)
    assert choices.agreement_with_score.interval == "Wilson, effective size"
    assert isinstance(choices.correlation, Estimate)
    assert choices.correlation.value > 0.7
    marks = [score.value for score in choices.strengths.values() if isinstance(score, Estimate)]
    assert marks == sorted(marks, reverse=True)
    answer = study_results(study).page.answer
    assert "smaller score" in answer
    assert "not significantly" not in answer


def test_random_choices_are_not_called_agreement(study: StudyFolder) -> None:
    rng = np.random.default_rng(5)
    records = []
    for rater in study.raters():
        for name in rater.items:
            expected = study.items[name].expected
            answer = expected or (FIRST if rng.random() < 0.5 else SECOND)
            records.append(AnswerRecord(rater.id, name, 1, (answer,), seconds=3.0))
    study.write_answers(records)
    assert study_results(study).page.answer.endswith(
        "This share is not significantly different from 50 %."
    )


def test_sides_are_exchanged_with_their_answers(study: StudyFolder) -> None:
    tokens = links_of(study)
    with served(study) as client:
        for rater in study.raters()[:4]:
            link = f"/s/{tokens[rater.id]}"
            client.post(link)
            name = next(each for each in rater.items if each.startswith("i"))
            page = client.get(f"{link}/{name}").text
            item = study.items[name]
            is_exchanged = is_mirrored(item, rater.number, 0)
            heads = re.findall(r"<h2>([AB]): (prompt \d)</h2>", page)
            assert [letter for letter, _ in heads] == ["A", "B"]
            order = item.labels[::-1] if is_exchanged else item.labels
            assert tuple(prompt for _, prompt in heads) == order
            buttons = re.findall(r'value="(\w+)"[^>]*><kbd>\d</kbd><span>(A|B)</span>', page)
            shown_first = SECOND if is_exchanged else FIRST
            assert buttons[0] == (shown_first, "A")
    pairs = [item for item in study.items.values() if item.groups]
    sides = [is_mirrored(item, rater, 0) for item in pairs for rater in range(12)]
    assert 0.3 < np.mean(sides) < 0.7
