"""Audits of labeled images by a vision model behind a server, whose errors are planted."""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from statsmodels.stats.proportion import proportion_confint

from askew.cli import run
from askew.store.files import sha256
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from image_collections import audit_collection, labeled_rows, noise_image, save_collection
from local_llm import says, serving
from local_server import Reply
from served_models import served

ROOT = Path(__file__).parents[2]

IMAGES = 48
RATES = {"female": {"male": 0.3, "cannot tell": 0.1}, "male": {"female": 0.1, "refused": 0.2}}
"""Planted rates of wrong and missing labels by true value; all other labels are right."""

OPTIONS = ("--embedder", "none", "--label", "gender=who")
ASKED = ("--axes", "gender", "--vqa-arg", "openai:concurrency=8")


def planted_labels() -> tuple[list[str], list[str]]:
    """Return the true values of the images, and the labels that the server gives."""
    rng = np.random.default_rng(5)
    truth = rng.permutation(["female"] * (IMAGES * 2 // 3) + ["male"] * (IMAGES // 3)).tolist()
    labels = []
    for value in truth:
        rates = RATES[value]
        outcomes = [*rates, value]
        shares = [*rates.values(), 1 - sum(rates.values())]
        labels.append(str(rng.choice(outcomes, p=shares)))
    return truth, labels


class PlantedLabeler:
    """A server's model that recognizes each image by its pixels, and errs as planted."""

    def __init__(self, labels: list[str]) -> None:
        self._labels = {
            sha256(noise_image(number).tobytes()): label for number, label in enumerate(labels)
        }
        self.asked: list[int] = []

    def __call__(self, number: int, content: dict[str, Any]) -> Reply:
        text, image = content["messages"][1]["content"]
        data = base64.b64decode(image["image_url"]["url"].partition(",")[2])
        with Image.open(io.BytesIO(data)) as opened:
            label = self._labels[sha256(opened.tobytes())]
        questions = json.loads(text["text"].partition("\n")[2])
        self.asked.append(len(questions))
        if label == "refused":
            return says("", refusal="I do not judge people")
        answers = {}
        for key, question in questions.items():
            is_about_gender = "female" in question.get("options", ())
            answers[key] = label if is_about_gender else question.get("options", ["a thing"])[0]
        return says(json.dumps(answers))


@pytest.fixture
def labeled(tmp_path: Path) -> tuple[str, list[str], list[str]]:
    truth, labels = planted_labels()
    folder = tmp_path / "images"
    folder.mkdir()
    return save_collection(folder, labeled_rows("who", truth)), truth, labels


@pytest.mark.slow
def test_planted_errors_are_recovered_and_shares_corrected(
    labeled: tuple[str, list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, truth, labels = labeled
    labeler = PlantedLabeler(labels)
    command = ("--vqa", "openai/m", *OPTIONS, *ASKED, "--vqa-price", "0.001")
    with serving(labeler) as server:
        command = (*command, "--vqa-url", server.url)
        dry = audit_collection(tmp_path / "run", capsys, model, *command, "--dry-run")
        assert not server.requests
        audited = audit_collection(tmp_path / "run", capsys, model, *command)
        calls = len(server.requests)
        again = audit_collection(tmp_path / "run", capsys, model, *command)
        assert len(server.requests) == calls
    assert audited.code == 0, audited.text
    assert again.results == audited.results
    assert f"at most ${calls * 0.001:.2f} ({calls} calls for labels at $0.001)" in dry.text
    assert f"the {calls} calls for labels cost about" in audited.text
    (confusion,) = audited.results["confusion"]
    pairs = Counter(zip(truth, labels, strict=True))
    values = confusion["values"]
    for value, counts in zip(values, confusion["counts"], strict=True):
        assert counts == [pairs[value, label] for label in values]
    assert confusion["missing"] == {
        "female": {"cannot_tell": pairs["female", "cannot tell"]},
        "male": {"refused": pairs["male", "refused"]},
    }
    (entry,) = [row for row in audited.results["shares"] if row["instrument"] == "openai/m"]
    (people,) = [row for row in audited.results["shares"] if row["instrument"] == "labels"]
    corrected = entry["instrument_corrected"]["female"]
    plain = entry["shares"]["female"]["value"]
    true_share = people["shares"]["female"]["value"]
    assert abs(corrected["value"] - true_share) < 0.5 * abs(plain - true_share)
    assert corrected["low"] <= true_share <= corrected["high"]
    assert "the instrument cannot tell" in audited.page
    right = pairs["female", "female"] + pairs["male", "male"]
    wrong = pairs["female", "male"] + pairs["male", "female"]
    low, high = proportion_confint(right, right + wrong, method="wilson")
    share = right / (right + wrong)
    cells = f"{share:.0%} ({low:.0%} to {high:.0%})".replace("%", " %")
    assert cells in re.sub(r"\s", " ", audited.page)
    assert f"{right + wrong} of {IMAGES}" in audited.page


@pytest.mark.slow
def test_questions_that_share_a_call_are_checked_one_by_one(
    labeled: tuple[str, list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """This model follows the truth if it is asked one question, else it always says female."""
    model, truth, _ = labeled
    alone = PlantedLabeler(truth)
    together = PlantedLabeler(["female"] * IMAGES)

    def reply(number: int, content: dict[str, Any]) -> Reply:
        text = content["messages"][1]["content"][0]["text"]
        return (together if '"q2"' in text else alone)(number, content)

    with serving(reply) as server:
        audited = audit_collection(
            *(tmp_path / "run", capsys, model),
            *("--vqa", "openai/m", "--vqa-url", server.url, *OPTIONS),
            *(
                "--axes",
                "gender,age",
                "--vqa-arg",
                "openai:together=2",
                "--vqa-arg",
                "openai:concurrency=8",
            ),
        )
    assert audited.code == 0, audited.text
    (sentence,) = [text for text in audited.results["warnings"] if "one by one" in text]
    changed, total = re.search(
        r"asked (\d+) of these questions .* and (\d+) answers changed", sentence
    ).groups()[::-1]  # type: ignore[union-attr]
    expected = truth[:24].count("male")
    assert int(total) == 48
    assert int(changed) >= expected > 0
    assert "--vqa-arg together=1" in sentence


@pytest.mark.slow
def test_the_how_to_compares_a_faulty_labeler_with_the_studio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last command of "Which labeler can I trust?" runs as it is written."""
    text = (ROOT / "docs" / "how-to" / "which-labeler.md").read_text(encoding="utf-8")
    command = re.findall(r"^askew (audit .*studio-images.*)$", text, re.MULTILINE)[0]
    (fault,) = re.findall(r"--fault (\S+)", text)
    folder = tmp_path / "studio-images"
    folder.mkdir()
    genders = ["female", "male"] * 12
    rows = labeled_rows("gender", genders)
    save_collection(folder, rows)
    for number, gender in enumerate(genders):
        draw(Scene(gender=gender, occupation="nurse"), number).save(folder / f"{number}.png")
    monkeypatch.chdir(tmp_path)
    with served("studio/planted", fault) as server:
        arguments = command.replace("http://127.0.0.1:8787/v1", server.url).split()
        code = run([*arguments, "--run", "run", "--bootstrap-samples", "100"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    results = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    tables = {entry["instrument"]: entry for entry in results["confusion"]}
    place = tables["studio"]["values"].index("female")
    other = 1 - place
    assert tables["openai/studio"]["counts"][other] == tables["studio"]["counts"][other]
    assert (
        tables["studio"]["counts"][place][other] < tables["openai/studio"]["counts"][place][other]
    )
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "least recognized value" in page
