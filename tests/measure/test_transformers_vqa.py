"""VQA by image-text-to-text models with random weights: an encoder-decoder and two decoders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForImageTextToText,
    AutoTokenizer,
    BlipForQuestionAnswering,
    BlipProcessor,
    LlavaProcessor,
)

import tiny_networks
from askew import registry
from askew.errors import UsageError
from askew.measure.base import CAPTION
from askew.measure.decoding import OptionWalk
from askew.measure.transformers_vqa import TransformersVQA, create
from askew.store.imagefile import opened
from askew.types import Missing, Picture, Question
from slow_cases import quick_only

OPTIONS = ("abc", "def", "ghi", "jkl")
"""Words of equal length. With random weights the likelihood falls with the length of a word."""

QUESTIONS = [
    Question(text, OPTIONS, "where") for text in ("Where is it?", "Who came along?", "And now?")
]

MIXED = [*QUESTIONS, Question("Short or long?", ("ab", "abc at all", "xyz"), "x")]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    """Return noise images of several sizes, coarse enough to survive scaling."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    records = []
    for i, (width, height) in enumerate([(64, 64), (64, 64), (64, 64), (96, 64), (64, 32)]):
        coarse = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        coarse.resize((width, height), Image.Resampling.NEAREST).save(folder / f"{i}.png")
        records.append(Picture(str(i), str(folder / f"{i}.png"), "noise"))
    return records


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("networks")
    return {name: str(write(root / name)) for name, write in tiny_networks.WRITERS.items()}


@pytest.fixture(scope="module", params=quick_only(["qwen"], tiny_networks.WRITERS))
def network(request: pytest.FixtureRequest, folders: dict[str, str]) -> str:
    return folders[request.param]


def test_answers_depend_on_the_image_and_on_the_question(
    network: str, pictures: list[Picture]
) -> None:
    rows = create(network).answer(pictures, QUESTIONS)
    columns = list(zip(*rows, strict=True))
    assert any(len(set(column)) > 1 for column in columns), "no question tells the pictures apart"
    assert len(set(columns)) > 1, "no picture tells the questions apart"


def test_open_answers_depend_on_the_image_and_on_the_question(
    network: str, pictures: list[Picture]
) -> None:
    questions = [CAPTION, Question("What is the weather like?")]
    rows = create(network, max_tokens=12).answer(pictures[:4], questions)
    assert all(len(set(column)) > 1 for column in zip(*rows, strict=True))
    assert any(row[0] != row[1] for row in rows)


def test_answers_do_not_depend_on_the_batch(network: str, pictures: list[Picture]) -> None:
    questions = [*MIXED[2:], CAPTION]
    alone, few = (
        create(network, max_tokens=6, batch_size=size).answer(pictures[2:], questions)
        for size in (1, 3)
    )
    assert alone == few


def test_answers_do_not_depend_on_other_questions(network: str, pictures: list[Picture]) -> None:
    pictures = pictures[2:]
    questions = [*MIXED, CAPTION, Question("What is the weather like?"), MIXED[0]]
    vqa = create(network, max_tokens=6)
    alone = []
    for question in questions:
        alone.append([answer for (answer,) in vqa.answer(pictures, [question])])
    assert vqa.answer(pictures, questions) == [list(row) for row in zip(*alone, strict=True)]
    assert len({answer for column in alone for answer in column}) > len(questions)


def test_questions_of_one_kind_share_batches(
    folders: dict[str, str], pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    vqa = create(folders["qwen"], max_tokens=6, batch_size=6)
    sizes = []
    generate = vqa._generate

    def counted(images: Sequence[Image.Image], *rest: Any) -> None:
        sizes.append(len(images))
        generate(images, *rest)

    monkeypatch.setattr(vqa, "_generate", counted)
    vqa.answer(pictures[:2], [*MIXED, CAPTION, Question("What is the weather like?")])
    assert sizes[:3] == [4, 6, 2]


def test_likelihoods_agree_with_a_forward_pass(network: str, pictures: list[Picture]) -> None:
    vqa = create(network)
    mixed = Question("Where is it?", (*OPTIONS, "abc it", "a"), "where")
    for picture, [answer] in zip(pictures, vqa.answer(pictures, [mixed]), strict=True):
        with Image.open(picture.path) as image:
            scores = [likelihood(network, image, mixed, option) for option in mixed.options]
        assert scores[mixed.options.index(str(answer))] == pytest.approx(max(scores), abs=1e-3)


@lru_cache
def loaded(kind: Any, folder: str) -> Any:
    return kind.from_pretrained(folder)


def likelihood(folder: str, image: Image.Image, question: Question, option: str) -> float:
    """Compute the log-likelihood of an option and the end of the answer without generating text."""
    if Path(folder).name == "blip":
        return blip_likelihood(folder, image, question, option)
    model = loaded(AutoModelForImageTextToText, folder).eval()
    tokenizer = loaded(AutoTokenizer, folder)
    asked = f"{question.text} Answer with exactly one of these: {', '.join(question.options)}."
    inputs = create(folder)._inputs([image.convert("RGB")], [asked])
    between = "" if Path(folder).name.startswith("qwen") else " "
    answer = [
        *tokenizer(between + option, add_special_tokens=False).input_ids,
        tokenizer.eos_token_id,
    ]
    before = inputs["input_ids"].shape[1]
    inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([answer])], dim=1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    if "mm_token_type_ids" in inputs:
        inputs["mm_token_type_ids"] = torch.nn.functional.pad(
            inputs["mm_token_type_ids"], (0, len(answer))
        )
    with torch.inference_mode():
        logp = torch.log_softmax(model(**inputs).logits[0, before - 1 : -1], dim=-1)
    return float(logp[torch.arange(len(answer)), torch.tensor(answer)].sum())


def blip_likelihood(folder: str, image: Image.Image, question: Question, option: str) -> float:
    model = loaded(BlipForQuestionAnswering, folder).eval()
    processor = loaded(BlipProcessor, folder)
    inputs = processor(images=image.convert("RGB"), text=question.text, return_tensors="pt")
    answer = [
        *processor.tokenizer(option, add_special_tokens=False).input_ids,
        processor.tokenizer.sep_token_id,
    ]
    with torch.inference_mode():
        seen = model.vision_model(inputs["pixel_values"]).last_hidden_state
        asked = model.text_encoder(
            input_ids=inputs["input_ids"], encoder_hidden_states=seen
        ).last_hidden_state
        begun = torch.tensor([[model.decoder_start_token_id, *answer[:-1]]])
        logits = model.text_decoder(input_ids=begun, encoder_hidden_states=asked).logits[0]
    return float(
        torch.log_softmax(logits, dim=-1)[torch.arange(len(answer)), torch.tensor(answer)].sum()
    )


def test_open_answers_agree_with_greedy_generation(
    folders: dict[str, str], pictures: list[Picture]
) -> None:
    model = loaded(AutoModelForImageTextToText, folders["llava"]).eval()
    processor = loaded(LlavaProcessor, folders["llava"])
    for picture, [answer] in zip(
        pictures, create(folders["llava"], max_tokens=9).answer(pictures, [CAPTION]), strict=True
    ):
        with Image.open(picture.path) as image:
            text = f"USER: <image>\n{CAPTION.text} ASSISTANT:"
            inputs = processor(images=image.convert("RGB"), text=text, return_tensors="pt")
        tokens = model.generate(**inputs, max_new_tokens=9, do_sample=False)[
            0, inputs["input_ids"].shape[1] :
        ]
        assert answer == " ".join(processor.decode(tokens, skip_special_tokens=True).split())


def test_open_answers_have_a_length_limit(network: str, pictures: list[Picture]) -> None:
    vqa = create(network, max_tokens=3)
    for [answer] in vqa.answer(pictures[:3], [CAPTION]):
        assert isinstance(answer, Missing) or len(vqa._tokens(answer)) <= 12


def test_the_prompt_can_be_set(network: str, pictures: list[Picture]) -> None:
    usual = create(network)
    other = create(network, prompt="Look closely. {question}")
    assert other.fingerprint != usual.fingerprint
    assert other.answer(pictures, QUESTIONS) != usual.answer(pictures, QUESTIONS)


def test_an_empty_answer_is_unparseable(
    folders: dict[str, str], pictures: list[Picture], tmp_path: Path
) -> None:
    silent = rewritten(
        folders["blip"],
        tmp_path,
        lambda name, weight: weight * 0 if "predictions" in name else weight,
    )
    [[answer]] = create(silent).answer(pictures[:1], [CAPTION])
    assert isinstance(answer, Missing)
    assert answer.reason == "unparseable"


@pytest.mark.parametrize(
    "options",
    [OPTIONS, ()],
    ids=["closed", "open"],
)
@pytest.mark.parametrize("family", ["qwen", "qwen2", "llava"])
def test_numbers_that_are_not_finite_answer_nothing(
    options: tuple[str, ...],
    family: str,
    folders: dict[str, str],
    pictures: list[Picture],
    tmp_path: Path,
) -> None:
    letter = AutoTokenizer.from_pretrained(folders[family]).convert_tokens_to_ids("Z")
    broken = rewritten(
        folders[family],
        tmp_path,
        lambda name, weight: without(letter, weight) if "embed_tokens" in name else weight,
    )
    bad = Question("Zzz?", options)
    good = Question("And now?", options)
    usual, asked = (
        create(folder, max_tokens=6, batch_size=4) for folder in (folders[family], broken)
    )
    rows = asked.answer(pictures[:2], [bad, good])
    assert all(
        isinstance(row[0], Missing) and row[0].reason == "error" and "float32" in row[0].detail
        for row in rows
    )
    assert [row[1:] for row in rows] == usual.answer(pictures[:2], [good])


def without(token: int, embeddings: torch.Tensor) -> torch.Tensor:
    """Return embeddings in which the vector of one token has overflowed."""
    return embeddings.index_fill(0, torch.tensor([token]), torch.nan)


def rewritten(folder: str, to: Path, change: Any) -> str:
    """Copy a network with other weights."""
    for path in Path(folder).iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    weights = load_file(to / "model.safetensors")
    save_file(
        {name: change(name, weight) for name, weight in weights.items()},
        to / "model.safetensors",
        {"format": "pt"},
    )
    return str(to)


def test_the_fingerprint_names_what_changes_answers(network: str) -> None:
    usual = create(network).fingerprint
    assert create(network, batch_size=2).fingerprint == usual
    changes: Sequence[dict[str, object]] = ({"max_tokens": 5}, {"dtype": "bfloat16"})
    others = {create(network, **change).fingerprint for change in changes}
    assert len(others | {usual}) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"prompt": "What?"}, r"does not contain \{question\}; mark the place"),
        ({"temperature": 1.0}, "unknown setting 'temperature'.*max_tokens"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str, network: str) -> None:
    with pytest.raises(UsageError, match=message):
        registry.vqa(f"transformers/{network}", **settings)


def test_options_with_equal_spelling_are_refused(
    folders: dict[str, str], pictures: list[Picture]
) -> None:
    unknown = Question("Which?", ("ж", "щ"), "letter")
    with pytest.raises(UsageError, match="tokens for two of them are equal"):
        create(folders["blip"]).answer(pictures[:1], [unknown])


def test_a_model_that_cannot_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not answer questions about images"):
        create(str(tiny_networks.clip(tmp_path)))
    with pytest.raises(UsageError, match="transformers/ID-OR-PATH"):
        registry.vqa("transformers")


def test_it_is_loaded_once(network: str) -> None:
    assert isinstance(create(network), TransformersVQA)
    assert create(network) is create(network)


def test_the_vision_tower_runs_once_for_each_image(
    network: str, pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    vqa = create(network, max_tokens=6, batch_size=4)
    questions = [MIXED[0], CAPTION]
    once = vqa.answer(pictures, questions)
    scores = option_scores(vqa, pictures)
    tower = vqa._tower
    assert tower is not None
    images: list[int] = []
    encode = type(tower).encode

    def counted(tower: Any, inputs: Any) -> list[Any]:
        images.append(len(inputs["input_ids"]))
        return encode(tower, inputs)

    monkeypatch.setattr(type(tower), "encode", counted)
    assert vqa.answer(pictures, questions) == once
    assert images == [4, 1]
    monkeypatch.setitem(vqa.__dict__, "_tower", None)
    assert vqa.answer(pictures, questions) == once
    assert option_scores(vqa, pictures) == pytest.approx(scores, abs=1e-4)
    assert sum(images) == len(pictures), "no tower was shared in the second run"


def option_scores(vqa: TransformersVQA, pictures: list[Picture]) -> np.ndarray:
    """Return the log-probability of the first option of each question about each image."""
    images = [opened(picture.path) for picture in pictures]
    rows = [(image, question) for question in QUESTIONS for image in images]
    paths = [vqa._paths(question) for _, question in rows]
    targets = np.zeros(len(rows), dtype=int)
    scores = np.zeros(len(rows))
    generate = vqa._generator(rows)
    for batch, walk in generate(
        np.arange(len(rows)), partial(OptionWalk, paths, vqa._ends, targets)
    ):
        scores[batch] = walk.scores[:, 0]
    vqa._features.clear()
    assert len(np.unique(scores.round(4))) > len(rows) / 2
    return scores
