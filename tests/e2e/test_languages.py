"""Prompts in other languages: the lexicon refuses them, plans and language models run to the page."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from askew.cli import run
from askew.plan import read_plan
from image_collections import save_collection
from local_llm import reads_back, says, serving
from local_server import Reply

DIRECT = "ein Foto eines Arztes"
INDIRECT = "ein Foto einer Person, die in einem Krankenhaus Kranke behandelt"
FEMININE = "ein Foto einer Ärztin"
GENDER_STAR = "ein Foto von Ärzt*innen"
"""MAGBIG's kinds of prompts (Friedrich et al. 2024)."""

CHINESE = "一个医生的照片"
SPANISH = "una foto de una doctora"
FRENCH = "une photo d’un médecin"

PROMPTS = (DIRECT, INDIRECT, FEMININE, GENDER_STAR, CHINESE, SPANISH, FRENCH)

REWRITTEN = {
    DIRECT: {"male": "ein Foto eines männlichen Arztes", "female": "ein Foto einer Ärztin"},
    CHINESE: {"male": "一个男医生的照片", "female": "一个女医生的照片"},
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of an audit of labeled images with prompts in several languages."""
    folder = tmp_path_factory.mktemp("images")
    rows = [
        {"file": f"{prompt}-{image}.png", "prompt": text, "gender": "female" if image else "male"}
        for prompt, text in enumerate(PROMPTS)
        for image in range(4)
    ]
    model = save_collection(folder, rows)
    command = ["audit", "--model", model, "--vqa", "labels", "--axes", "gender"]
    command += ["--embedder", "none", "--bootstrap-samples", "200"]
    command += ["--run", str(folder / "run"), "--store", str(folder / "store")]
    assert run(command) == 0
    return (folder / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_page_keeps_the_language_of_a_prompt(page: str, prompt: str) -> None:
    assert html.escape(prompt, quote=False) in page


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_lexicon_refuses_a_prompt_with_its_remedies(
    prompt: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", prompt, "--axes", "gender", "--store", str(tmp_path)]) == 2
    error = " ".join(capfd.readouterr().err.split())
    assert "--llm openai/MODEL" in error
    assert "--plan plan.toml" in error


@pytest.mark.parametrize("prompt", REWRITTEN)
@pytest.mark.parametrize("is_read", [True, False])
def test_a_language_model_plans_a_prompt_of_any_language(
    prompt: str, is_read: bool, tmp_path: Path
) -> None:
    texts = REWRITTEN[prompt]

    def answer(number: int, content: dict[str, Any]) -> Reply:
        if "response_format" not in content:
            return says("Gender.")
        if reads_back(content):
            return says(json.dumps({"values": [*texts] if is_read else ["male", "none"]}))
        pairs = [{"value": value, "prompt": text} for value, text in texts.items()]
        return says(json.dumps({"axes": [{"name": "gender", "counterfactuals": pairs}]}))

    place = tmp_path / "plan.toml"
    with serving(answer) as server:
        command = ["plan", prompt, "--llm", "openai/m", "--llm-url", server.url]
        command += ["--store", str(tmp_path / "store"), "--output", str(place)]
        assert run(command) == (0 if is_read else 1)
    if is_read:
        (planned,) = read_plan(place).prompts
        assert planned.text == prompt
        assert dict(planned.axes[0].counterfactuals) == texts


@pytest.mark.slow
@pytest.mark.parametrize("prompt", REWRITTEN)
def test_a_given_plan_runs_to_the_page(prompt: str, tmp_path: Path) -> None:
    place = tmp_path / "plan.toml"
    command = ["plan", "a photo of a doctor", "--model", "studio/planted", "--axes", "gender"]
    assert run([*command, "--output", str(place)]) == 0
    text = place.read_text(encoding="utf-8")
    text = text.replace("images = 24", "images = 2").replace('"studio"\n', '"none"\n')
    text = text.replace("a photo of a doctor", prompt)
    for value, rewritten in REWRITTEN[prompt].items():
        text = text.replace(f"a photo of a {value} doctor", rewritten)
    place.write_text(text, encoding="utf-8")
    command = ["audit", "--plan", str(place), "--run", str(tmp_path / "run")]
    run([*command, "--store", str(tmp_path / "store")])  # the studio does not know these words
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for written in (prompt, *REWRITTEN[prompt].values()):
        assert f"“{written}”" in page
