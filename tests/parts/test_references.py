"""Reference shares that are shipped, read from a file, given, or observed in another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from askew.errors import UsageError
from askew.parts.references import (
    AxisReference,
    Reference,
    given_shares,
    observed_shares,
    read_reference,
    with_references,
)
from askew.parts.survey.shares import SetShares
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import AXES
from askew.prompts.given import occupation_prompts
from askew.types import Missing

GENDER = AXES["gender"]
AGE = AXES["age"]


def written(folder: Path, text: str) -> str:
    path = folder / "shares.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_shipped_table_is_the_published_one(shared: Path) -> None:
    table = read_reference("bls-2022")
    lines = (
        (shared / "data" / "published" / "bls-2022.csv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    )
    for line in lines:
        occupation = line.split(",")[0]
        percent = float(line.rsplit(",", 1)[1])
        of_axis = table.of_axis(f"a photo of a {occupation}", GENDER)
        assert of_axis is not None
        assert of_axis.shares["female"] == pytest.approx(percent / 100)
        assert sum(of_axis.shares.values()) == pytest.approx(1)


def test_most_occupations_of_the_paper_are_in_it() -> None:
    table = read_reference("bls-2022")
    known = [prompt for prompt in occupation_prompts() if table.of_axis(prompt, GENDER)]
    assert len(known) >= 15
    assert "a photo of a sales person" in known


def test_the_longest_subject_that_the_prompt_names_decides(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "occupation,axis,value,share\nengineer,gender,male,.8\nengineer,gender,female,.2\n"
        "industrial engineer,gender,male,.6\nindustrial engineer,gender,female,.4\n",
    )
    table = read_reference(path)
    assert table.of_axis("a photo of an industrial engineer", GENDER) == AxisReference(
        shares={"male": 0.6, "female": 0.4}, images=None
    )
    assert table.of_axis("a photo of an engineer", GENDER) == AxisReference(
        shares={"male": 0.8, "female": 0.2}, images=None
    )
    assert table.of_axis("a photo of engineering", GENDER) is None
    assert table.of_axis("a photo of an engineer", AGE) is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("axis,share\n", "The columns axis, value and share are needed"),
        ("prompt,axis,value,share\nnurse,gender,male,half\n", "line 2.*'half'"),
        ("prompt,axis,value,share\nnurse,gender,male,0.2\n", "sum to 0.2"),
    ],
)
def test_the_error_of_a_faulty_table_names_the_fault(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        read_reference(written(tmp_path, text))


def test_the_error_of_an_unknown_table_lists_the_shipped_ones() -> None:
    with pytest.raises(UsageError, match="bls-2022"):
        read_reference("census")


def test_given_shares_apply_to_every_prompt() -> None:
    given = given_shares("gender=male:0.3,female:0.7")
    assert given.of_axis("anything", GENDER) == AxisReference(
        shares={"male": 0.3, "female": 0.7}, images=None
    )
    with pytest.raises(UsageError, match="does not have the form"):
        given_shares("gender=male")
    with pytest.raises(UsageError, match="The axis has the values: male, female"):
        given_shares("gender=man:0.5,woman:0.5").of_axis("anything", GENDER)


def test_a_later_reference_comes_first_and_none_is_uniform() -> None:
    plan = PromptPlan(text="x", axes=(AxisPlan.of(GENDER), AxisPlan.of(AGE)))
    (plan_with_references,) = with_references(
        [plan], ["gender=male:0.3,female:0.7", "uniform", "gender=male:0.1,female:0.9"]
    )
    assert [axis.reference for axis in plan_with_references.axes] == [
        {"male": 0.1, "female": 0.9},
        None,
    ]
    with pytest.raises(UsageError, match="has no shares for these prompts' axes: gender, age"):
        with_references([plan], ["height=tall:1"])


def test_the_initial_images_of_a_run_can_be_the_reference() -> None:
    none = Missing("not_asked")
    reference = {"male": 0.5, "female": 0.5}
    seen = SetShares(
        "nurse",
        "initial",
        "gender",
        "studio",
        reference,
        {"male": 1, "female": 3},
        {},
        {},
        none,
        None,
        None,
    )
    of_run = observed_shares(
        "runs/real", [seen, replace(seen, set="gender: male", counts={"male": 9, "female": 0})]
    )
    assert isinstance(of_run, Reference)
    # as uncertain as four images are
    assert of_run.of_axis("a photo of a nurse", GENDER) == AxisReference(
        shares={"male": 0.25, "female": 0.75}, images=4
    )
    with pytest.raises(UsageError, match="runs/real"):
        observed_shares("runs/real", [])
