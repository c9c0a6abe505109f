"""Passwords and keys in the addresses of servers are in no file and no output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askew import registry
from askew.addresses import check_address, secrets_of, shown, without_logins
from askew.cli import run
from askew.errors import UsageError
from askew.plan import read_plan
from local_llm import fails, serving
from local_server import Reply
from served_models import served

SECRET = "canary"
AUDIT = ["audit", "a photo of a nurse", "--axes", "gender", "--images", "2"]
MODEL = ["--model", "openai/studio/planted"]
LABELER = ["--model", "studio/planted", "--vqa", "openai/m", "--embedder", "none"]
GENERATOR = ["audit", "a photo of a nurse", "--llm", "openai/m", "--images", "2"]

OPTIONS = {
    "--model-url": [*AUDIT, *MODEL, "--model-url", "ADDRESS"],
    "-M url": [*AUDIT, *MODEL, "-M", "url=ADDRESS"],
    "-M url of hf": [*AUDIT, "--model", "hf/fal-ai/m", "-M", "url=ADDRESS"],
    "--vqa-url": [*AUDIT, *LABELER, "--vqa-url", "ADDRESS"],
    "--vqa-arg url": [*AUDIT, *LABELER, "--vqa-arg", "url=ADDRESS"],
    "--vqa-arg openai:url": [*AUDIT, *LABELER, "--vqa-arg", "openai:url=ADDRESS"],
    "--llm-url": [*GENERATOR, "--llm-url", "ADDRESS"],
    "--llm-arg url": [*GENERATOR, "--llm-arg", "url=ADDRESS"],
    "plan": ["plan", *GENERATOR[1:3], "openai/m", "--llm-url", "ADDRESS"],
    "mine": ["mine", "--topic", "people", "--llm", "openai/m", "--llm-url", "ADDRESS"],
    "serve-model": ["serve-model", "openai/m", "--port", "0", "-M", "url=ADDRESS"],
}
"""Commands with an address, by the option that contains it."""

ADDRESSES = (
    "https://user:canary@127.0.0.1:9/v1",
    "https://canary@127.0.0.1:9/v1",
    "https://user:ca/canary@127.0.0.1:9/v1",
    "https://127.0.0.1:9/v1?api-key=canary",
    "https://127.0.0.1:9/v1?canary",
    "https://127.0.0.1:9/v1#canary",
    "user:canary@127.0.0.1/v1",
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("API_KEY", "MODEL_URL", "VQA_URL", "LLM_URL"):
        monkeypatch.delenv(f"ASKEW_{variable}", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def files_with_secrets(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that contain the secret, or have it in their name."""
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        if SECRET in path.name or SECRET.encode() in content:
            yield path


@pytest.mark.parametrize("address", [ADDRESSES[0], ADDRESSES[3]])
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_with_a_secret_is_refused_without_a_trace(
    option: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("ADDRESS", address) for word in OPTIONS[option]]
    assert run(words) == 2
    output = capsys.readouterr()
    assert "ASKEW_API_KEY" in output.err
    assert SECRET not in output.out + output.err
    assert not list(files_with_secrets(tmp_path))


@pytest.mark.parametrize("field", ["model_args", "vqa_args"])
def test_a_plan_with_a_secret_is_refused_without_showing_it(field: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    assert run(["plan", *AUDIT[1:4], "--output", str(path)]) == 0
    content = path.read_text(encoding="utf-8")
    assert f"[{field}]" in content
    changed = content.replace(f"[{field}]", f'[{field}]\nurl = "{ADDRESSES[0]}"')
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(UsageError, match=f"{field}.*ASKEW_MODEL_URL") as caught:
        read_plan(path)
    assert SECRET not in str(caught.value)


def test_no_error_on_the_terminal_shows_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*AUDIT, "--concurrency", ADDRESSES[0]]) == 2
    assert SECRET not in capsys.readouterr().err


def test_python_refuses_secrets_in_settings() -> None:
    with pytest.raises(UsageError, match="a name or a password"):
        registry.model("openai/m", url=ADDRESSES[0])


@pytest.mark.parametrize(
    "address",
    ["http://localhost:11434/v1", "https://host/openai?api-version=2025-04-01", "https://h/a%40b"],
)
def test_addresses_without_secrets_are_accepted(address: str) -> None:
    check_address("url", address)


def test_other_settings_may_contain_all_characters() -> None:
    check_address("field_note", "a@b?c#d")


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_secret_is_not_displayed(address: str) -> None:
    assert SECRET not in shown(address)
    with pytest.raises(UsageError) as caught:
        check_address("url", address)
    assert SECRET not in str(caught.value)


def test_texts_lose_passwords() -> None:
    text = without_logins("x@y cannot reach https://user:ca/canary@host/v1, or 'http://a@b'")
    assert text == "x@y cannot reach https://***@host/v1, or 'http://***@b'"


def test_secrets_include_their_encoded_forms() -> None:
    assert {"a:p%40x", "p@x", "YTpwQHg=", "k"} <= set(secrets_of("https://a:p%40x@h/v1?key=k"))


def test_the_environment_may_contain_secrets_that_nothing_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(number: int, content: dict[str, Any]) -> Reply:
        return fails(400, f"{server.headers[-1]['authorization']} user:canary canary-key")

    with serving(answer) as server:
        address = server.url.replace("//", "//user:canary@") + "?api-key=canary-key"
        for variable, option in (
            ("MODEL", "--model-url"),
            ("VQA", "--vqa-url"),
            ("LLM", "--llm-url"),
        ):
            monkeypatch.setenv(f"ASKEW_{variable}_URL", address)
            words = OPTIONS[option]
            assert run(words[: words.index(option)]) == 1
            output = capsys.readouterr()
            assert "//***@127.0.0.1" in output.err
            assert "***" in output.err.partition("answered 400")[2]
            assert SECRET not in output.out + output.err
            assert "dXNlcjpjYW5hcnk=" not in output.err
    assert len(server.requests) >= 3
    assert not list(files_with_secrets(tmp_path))


@pytest.mark.slow
def test_a_finished_run_contains_no_secret_of_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as server:
        address = server.url.replace("//", "//user:canary@") + "?api-key=canary"
        monkeypatch.setenv("ASKEW_MODEL_URL", address)
        monkeypatch.setenv("ASKEW_VQA_URL", address)
        assert run([*AUDIT, *LABELER, *MODEL, "--run", "run"]) == 0
        assert any("messages" in json.loads(body) for body in server.bodies)
    output = capsys.readouterr()
    assert SECRET not in output.out + output.err
    assert (tmp_path / "run" / "results.json").exists()
    assert not list(files_with_secrets(tmp_path))
