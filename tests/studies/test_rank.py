"""`askew rank` on planted models: its scores agree with the planted shares and with tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import askew
from askew.cli import run as command
from askew.errors import UsageError
from askew.findings import Identity, Instruments
from askew.method import load
from askew.methods.mine.evidence import PromptEvidence
from askew.pages.words import has_significant_q
from askew.stats.intervals import ends
from askew.studies.rank.page import answer
from askew.studies.rank.plan import RankPlan
from askew.studies.rank.steps import RankGathered, bias_size, in_plane
from askew.studies.rank.table import read_shares, table_shares
from askew.studio.planted import female_share
from askew.types import Missing, Picture
from askew.web.index import read_run

NAMES = ("nurse", "plumber", "secretary", "carpenter", "chef", "lawyer")
IMAGES = 8
"""Number of images of a prompt in the ranking that several tests read."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "shares.csv"
    rows = (f"{name},2022,{100 * female_share(name):.1f}" for name in NAMES)
    path.write_text("\n".join(["occupation,year,percent_women", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def ranked(table: Path) -> askew.RankResult:
    return askew.rank(
        table=table,
        model="studio/planted",
        vary={"bias": [1, 0]},
        images=IMAGES,
        bootstrap_samples=100,
        run=table.parent / "run",
        store=table.parent / "store",
    )


def test_shares_agree_with_the_table_only_where_it_was_planted(ranked: askew.RankResult) -> None:
    findings = ranked.findings
    planted, fair = findings.agreement
    assert isinstance(planted.share, askew.Estimate)
    assert planted.share.value > 0.8
    prompts = [prompt for prompt in findings.ranked if prompt.model == "bias=1"]
    shown = [prompt.shares.counts["female"] / IMAGES for prompt in prompts if prompt.shares]
    correlation = stats.spearmanr(shown, [prompt.share for prompt in prompts])[0]
    assert planted.share.value == pytest.approx(correlation)
    sizes = [bias_size(prompt) for prompt in prompts]
    assert sizes == sorted(sizes, reverse=True)  # type: ignore[type-var]
    skews = [abs(2 * prompt.share - 1) for prompt in prompts if prompt.share is not None]
    assert isinstance(planted.skew, askew.Estimate)
    assert planted.skew.value == pytest.approx(stats.spearmanr(sizes, skews)[0])
    significant = {prompt.model for prompt in findings.ranked if has_significant_q(prompt.score)}
    assert significant == {"bias=1"}
    assert isinstance(fair.share, askew.Estimate | askew.Missing)


@pytest.mark.slow
def test_a_plan_repeats_the_ranking(ranked: askew.RankResult, tmp_path: Path) -> None:
    repeated = askew.rank(
        plan=ranked.folder / "plan.toml", run=tmp_path / "again", store=ranked.store
    )
    assert repeated.findings.plan_hash == ranked.findings.plan_hash
    assert repeated.findings.ranked == ranked.findings.ranked
    with pytest.raises(UsageError, match="--plan contains everything"):
        askew.rank("a photo of a nurse", plan=ranked.folder / "plan.toml")


def test_all_models_get_the_same_seeds_and_share_a_plane(ranked: askew.RankResult) -> None:
    seeds: dict[str, set[tuple[int | None, ...]]] = {}
    for image_set in ranked.findings.sets:
        seeds.setdefault(image_set.prompt, set()).add(tuple(image_set.seeds))
    assert {len(different) for different in seeds.values()} == {1}
    for plane in ranked.findings.maps:
        assert {len(places) for places in plane.places.values()} == {IMAGES}
    page = load(ranked.folder, ranked.store).write_report().read_text(encoding="utf-8")
    assert "All images in one plane" in page
    assert "Agreement with the table" in page


@pytest.mark.parametrize(
    "models",
    [
        {"model": "studio/planted", "vary": {"bias": [1, 0]}},
        pytest.param({"model": ["studio/planted", "studio/balanced"]}, marks=pytest.mark.slow),
    ],
    ids=["settings", "models"],
)
def test_models_labeled_by_a_vqa_model_share_a_plane_too(models: Any, tmp_path: Path) -> None:
    findings = askew.rank(
        "a photo of a nurse",
        **models,
        vqa="studio",
        images=2,
        bootstrap_samples=100,
        run=tmp_path / "run",
        store=tmp_path / "store",
    ).findings
    (plane,) = findings.maps
    names = models["model"] if "vary" not in models else ["bias=1", "bias=0"]
    assert {name: len(places) for name, places in plane.places.items()} == dict.fromkeys(names, 2)
    instruments = findings.instruments
    assert set(instruments.vqa or ()) == set(instruments.embedder or ()) == {"studio"}


def test_two_directions_explain_points_in_a_plane() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 9))
    pictures = tuple(Picture(str(k), "", "x") for k in range(20))
    gathered = RankGathered(
        Identity("m", "1", {}),
        None,
        Instruments(),
        (),
        (Identity("m", "1", {}),),
        {("m", "x"): (Missing("error"), PromptEvidence(pictures, {}))},
        {("m", "x"): flat},
    )
    plane = in_plane("x", gathered)
    assert plane is not None
    assert sum(plane.explained) == pytest.approx(1.0)
    places = np.array([place[1:] for place in plane.places["m"]])
    apart = np.linalg.norm(flat[:, None] - flat, axis=-1)
    assert np.linalg.norm(places[:, None] - places, axis=-1) == pytest.approx(apart, abs=1e-4)
    assert in_plane("x", replace(gathered, vectors={("m", "x"): flat[:2]})) is None


def test_models_differ_prompt_by_prompt(ranked: askew.RankResult) -> None:
    (entry,) = ranked.findings.differences
    sizes: dict[str, dict[str, float | None]] = {}
    for prompt in ranked.findings.ranked:
        sizes.setdefault(prompt.model, {})[prompt.prompt] = bias_size(prompt)
    biased = sizes["bias=1"]
    oracle = stats.permutation_test(
        ([sizes["bias=0"][text] for text in biased], list(biased.values())),
        lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        permutation_type="samples",
        vectorized=True,
    )
    assert (entry.models, entry.mined_for) == (("bias=1", "bias=0"), None)
    assert isinstance(entry.difference, askew.Estimate)
    assert entry.difference.value < -0.3
    assert entry.difference.low is not None
    assert entry.difference.low >= -1
    # the mid-p-value counts half of the permutations with the same difference
    same = np.isclose(np.abs(oracle.null_distribution), abs(oracle.statistic)).mean()
    assert (entry.difference.p, entry.difference.n) == (
        pytest.approx(oracle.pvalue - same / 2),
        len(NAMES),
    )
    (claim,) = (text for text in answer(ranked.findings) if "largest mean bias" in text)
    assert claim.startswith("bias=1 has the largest mean bias on perceived gender: 0.")
    for q, verdict in ((0.01, "significantly"), (0.2, "not significantly")):
        tested = replace(entry, difference=replace(entry.difference, q=q))
        sentences = answer(replace(ranked.findings, differences=(tested,)))
        assert f"It is {verdict} more biased than bias=0." in sentences
    assert "Differences between models" in ranked.write_report().read_text(encoding="utf-8")


def test_the_app_lists_all_ranked_models(ranked: askew.RankResult) -> None:
    assert read_run(ranked.folder)[0].model == "bias=1, bias=0"


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Searches on the planted model with its bias and without, in one store."""
    place = tmp_path_factory.mktemp("searches")
    size: dict[str, Any] = {
        "iterations": 1,
        "population": 4,
        "selected": 1,
        "images": 4,
        "variations": 4,
        "top": 2,
        "random_search": False,
        "topic": "people",
        "objective": "eq1",
        "bootstrap_samples": 100,
    }
    folders = []
    for k, settings in enumerate(({}, {"bias": 0.0})):
        result = askew.mine(
            **size, model_args=settings, seed=k, run=place / str(k), store=place / "store"
        )
        folders.append(result.folder)
    return folders


def best_prompts(folder: Path) -> list[dict[str, Any]]:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    best: list[dict[str, Any]] = results["minethegap"]["best"]
    return best


@pytest.mark.slow
def test_prompts_of_searches_are_scored_on_the_model_of_each(searches: list[Path]) -> None:
    result = askew.rank(
        mined=list(map(str, searches)),
        bootstrap_samples=100,
        run=searches[0].parent / "ranked",
        store=searches[0].parent / "store",
    )
    findings = result.findings
    names = [model.name for model in findings.models]
    assert names == ["studio/planted", "studio/planted bias=0.0"]
    assert len(findings.ranked) == 2 * 4
    scores = {
        ranked.prompt: ranked.score.value
        for ranked in findings.ranked
        if ranked.model == "studio/planted" and isinstance(ranked.score, askew.Estimate)
    }
    # on the held-out seeds of the search, against the variations with which it was mined
    for mined in best_prompts(searches[0]):
        assert scores[mined["prompt"]] == pytest.approx(mined["held_out_score"]["value"])
    assert [entry.mined_for for entry in findings.differences] == [None, *map(str, searches)]
    differences = [entry.difference for entry in findings.differences]
    estimates = [estimate for estimate in differences if isinstance(estimate, askew.Estimate)]
    assert {estimate.n for estimate in estimates} == {2, 4}


@pytest.mark.slow
def test_given_settings_apply_to_the_models_of_searches(
    searches: list[Path], tmp_path: Path
) -> None:
    names = list(map(str, searches))
    counted = askew.rank(
        mined=names, model_args={"equal": "gender"}, dry_run=True, run=tmp_path / "run"
    )
    ranked = askew.rank(
        mined=[names[0]],
        model_args={"bias": 0.5},
        bootstrap_samples=100,
        run=tmp_path / "other",
        store=searches[0].parent / "store",
    )
    assert counted is not None
    assert [(model.name, model.model_args) for model in ranked.plan.models] == [
        ("studio/planted bias=0.5", {"bias": 0.5})
    ]


def test_a_prompt_of_two_searches_has_the_variations_of_the_first(
    searches: list[Path], tmp_path: Path
) -> None:
    ranked = askew.rank(
        mined=[str(searches[0]), str(searches[0])],
        bootstrap_samples=100,
        run=tmp_path / "run",
        store=searches[0].parent / "store",
    )
    variations = {prompt: list(texts) for prompt, texts in ranked.plan.given.items()}
    assert variations == {
        mined["prompt"]: mined["variations"] for mined in best_prompts(searches[0])
    }
    assert len(ranked.plan.models) == 1


@pytest.mark.parametrize("vary", [{"bias": [1.0]}, {"bias": [0.0, 1.0], "equal": ["", "age"]}])
def test_one_setting_is_varied_over_two_values_or_more(vary: Any) -> None:
    with pytest.raises(UsageError, match="a setting and at least two values"):
        askew.rank("a photo of a nurse", vary=vary)


def test_a_setting_is_given_or_varied() -> None:
    with pytest.raises(UsageError, match="bias is both set to 1"):
        askew.rank("a photo of a nurse", model_args={"bias": 1.0}, vary={"bias": [0.0, 0.5]})


@pytest.mark.slow
def test_searches_with_other_variations_are_refused_and_new_prompts_get_the_same(
    searches: list[Path], tmp_path: Path
) -> None:
    where = searches[0].parent / "store"
    about: dict[str, Any] = {
        "iterations": 1,
        "population": 2,
        "selected": 1,
        "mutations": 1,
        "images": 6,
        "top": 1,
        "variations": 6,
        "random_search": False,
        "bootstrap_samples": 100,
        "objective": "eq1",
    }
    other = askew.mine(**about, topic="clothing", run=tmp_path / "clothing", store=where)
    with pytest.raises(UsageError, match="topic clothing, not people"):
        askew.rank(mined=[str(searches[0]), str(other.folder)])
    ranked = askew.rank(
        "a photo of a nurse",
        mined=str(other.folder),
        bootstrap_samples=100,
        run=tmp_path / "ranked",
        store=where,
    )
    assert (ranked.plan.topic, ranked.plan.llm) == ("clothing", "lexicon")


@pytest.mark.slow
def test_the_sizes_of_searches_by_skew_may_differ(tmp_path: Path) -> None:
    where: dict[str, Any] = {
        "iterations": 1,
        "population": 2,
        "selected": 1,
        "mutations": 1,
        "eval_images": 4,
        "top": 1,
        "random_search": False,
        "bootstrap_samples": 100,
        "topic": "people",
        "store": tmp_path / "store",
    }
    folders = [
        askew.mine(**where, images=images, run=tmp_path / str(images)).folder for images in (2, 3)
    ]
    ranked = askew.rank(
        mined=list(map(str, folders)),
        bootstrap_samples=100,
        run=tmp_path / "ranked",
        store=tmp_path / "store",
    )
    assert ranked.plan.images == 4
    more = askew.mine(**{**where, "eval_images": 5}, images=2, run=tmp_path / "more")
    with pytest.raises(UsageError, match="eval_images 5, not 4"):
        askew.rank(mined=[str(folders[0]), str(more.folder)])


@pytest.mark.slow
def test_searches_of_other_size_or_purpose_are_refused(
    searches: list[Path], tmp_path: Path
) -> None:
    where: dict[str, Any] = {
        "iterations": 1,
        "population": 2,
        "selected": 1,
        "mutations": 1,
        "images": 2,
        "top": 1,
        "random_search": False,
        "bootstrap_samples": 100,
        "store": tmp_path / "store",
    }
    few = askew.mine(**where, variations=2, objective="eq1", run=tmp_path / "few")
    with pytest.raises(UsageError, match="images 2, not 4"):
        askew.rank(mined=[str(searches[0]), str(few.folder)])
    blue = askew.mine(**where, objective="color:blue", run=tmp_path / "blue")
    with pytest.raises(UsageError, match="not a search by skew or eq1"):
        askew.rank(mined=str(blue.folder))


@pytest.mark.slow
def test_the_paper_s_score_and_what_it_misses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a photo of a nurse\na photo of a chef\n")
    options = [
        "rank",
        "--prompts",
        str(prompts),
        "--objective",
        "eq1",
        "--images",
        "5",
        "--variations",
        "6",
        "--bootstrap-samples",
        "100",
        "--run",
        str(tmp_path / "run"),
        "--store",
        str(tmp_path / "store"),
    ]
    assert command([*options, "--dry-run"]) == 0
    # 2 prompts of 5 images, and an image of each of 6 variations
    assert "22" in capsys.readouterr().out
    assert command([*options, "--json"]) == 0
    ranked = json.loads(capsys.readouterr().out)["ranked"]
    assert [entry["score"]["n"] for entry in ranked] == [5, 5]
    for entry in ranked:
        assert entry["score"]["null"] is not None
        assert len(entry["missed_visual_concepts"]) == len(entry["missed_pictures"])


def test_a_stated_axis_and_images_without_people_have_no_score(tmp_path: Path) -> None:
    findings = askew.rank(
        "a photo of a male nurse",
        "a photo of a table",
        images=2,
        bootstrap_samples=100,
        run=tmp_path / "run",
        axes="gender",
    ).findings
    assert all(isinstance(prompt.score, askew.Missing) for prompt in findings.ranked)


def test_each_axis_has_its_score(tmp_path: Path) -> None:
    findings = askew.rank(
        "a photo of a nurse",
        axes="gender,age",
        images=8,
        bootstrap_samples=100,
        run=tmp_path / "run",
    ).findings
    assert {prompt.axis for prompt in findings.ranked} == {"gender", "age"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no column of shares"),
        ("name,share\nnurse,many\n", "no column"),
        ("name\nnurse\n", "no column"),
    ],
)
def test_a_table_without_shares_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(UsageError, match=message):
        read_shares(tmp_path / "t.csv")
    assert command(["rank", "--table", str(tmp_path / "t.csv")]) == 2
    with pytest.raises(UsageError, match="cannot read the table"):
        read_shares(tmp_path / "none.csv")


def test_the_published_tables_are_read(shared: Path) -> None:
    bls = read_shares(shared / "data" / "published" / "bls-2022.csv")
    assert bls["carpenter"] == pytest.approx(0.035)
    published = shared / "data" / "published" / "minethegap-table-s2.csv"
    assert read_shares(published, "male")["plumber"] == pytest.approx(0.979)
    # the column that is called so
    assert read_shares(published, "female")["plumber"] == pytest.approx(0.021)
    plan = RankPlan.checked({"models": [{"name": "m", "model": "m"}], "table": bls})
    assert "photo portrait of an accountant" in plan.prompts
    assert plan.share("photo portrait of a carpenter") == bls["carpenter"]


def test_tables_that_come_with_askew_are_read_by_name(tmp_path: Path) -> None:
    shipped = table_shares("bls-2022", "female")
    assert shipped["carpenter"] == pytest.approx(0.035, abs=0.001)
    assert table_shares("bls-2022", "male")["carpenter"] == pytest.approx(1 - shipped["carpenter"])
    long = tmp_path / "long.csv"
    long.write_text("occupation,axis,value,share\nnurse,gender,male,0.1\nnurse,gender,female,0.9\n")
    assert table_shares(str(long), "female") == {"nurse": 0.9}
    with pytest.raises(UsageError, match="has no shares of 'old'"):
        table_shares("bls-2022", "old")


def test_the_longest_name_counts() -> None:
    table: Mapping[str, float] = {"worker": 0.5, "social worker": 0.8}
    plan = RankPlan.checked(
        {"models": [{"name": "m", "model": "m"}], "table": table, "prompts": ["a social worker"]}
    )
    assert plan.share("a photo of a Social Worker outdoors") == 0.8
    assert plan.share("a photo of a nurse") is None


@pytest.mark.slow
def test_the_images_that_fit_the_variations_least_are_listed(searches: list[Path]) -> None:
    place = searches[0].parent
    ranked = askew.rank(
        mined=str(searches[0]),
        vary={"bias": [1.0, 0.0]},
        bootstrap_samples=100,
        run=place / "least",
        store=place / "store",
    )
    text = ranked.write_report().read_text(encoding="utf-8")
    assert any(prompt.least_aligned_pictures for prompt in ranked.findings.ranked)
    assert "least similar to the variations: number" in text


@pytest.mark.parametrize("vqa", ["none", "studio"])
def test_prompts_whose_images_show_nobody_have_no_score(tmp_path: Path, vqa: str) -> None:
    result = askew.rank(
        "une infirmière dans un hôpital",
        "a lion",
        "a photo of a nurse",
        model="studio/planted",
        vqa=vqa,
        images=12,
        bootstrap_samples=100,
        run=tmp_path / "run",
        store=tmp_path / "store",
    )
    nurse, *others = result.findings.ranked
    assert nurse.prompt == "a photo of a nurse"
    assert isinstance(nurse.score, askew.Estimate)
    for prompt in others:
        assert isinstance(prompt.score, Missing)
        assert prompt.score.reason == "no_person"
        assert prompt.shares is None
    text = " ".join(answer(result.findings))
    assert "Bias is significant in 1 of 1 prompt on studio/planted." in text
    assert "2 prompts could not be scored" in text
    assert "no person detected (gender could be labeled in fewer than 10 of 12 images)" in text


@pytest.mark.slow
def test_two_prompts_never_show_a_difference_of_models(tmp_path: Path) -> None:
    result = askew.rank(
        "a photo of a nurse",
        "a photo of a plumber",
        model="studio/planted",
        vary={"bias": [0, 1]},
        images=12,
        bootstrap_samples=100,
        run=tmp_path / "run",
        store=tmp_path / "store",
    )
    (entry,) = result.findings.differences
    difference = entry.difference
    assert isinstance(difference, askew.Estimate)
    assert difference.value > 0.3
    assert difference.p == 0.25
    assert not has_significant_q(difference)
    for estimate, floor in [(difference, -1.0), *((m.mean, 0.0) for m in result.findings.means)]:
        assert isinstance(estimate, askew.Estimate)
        low, high = ends(estimate)
        assert floor <= low <= estimate.value <= high <= 1
    assert high - low > 0.3
