"""The form of a run is the command: the same options, and the same arguments."""

from __future__ import annotations

import pytest

from askew.cli import application
from askew.errors import AskewError
from askew.web.command_form import command_form, documented_parameters, methods
from askew.web.sent_form import SentForm


@pytest.mark.parametrize("method", methods())
def test_the_command_line_knows_every_field(method: str) -> None:
    form = command_form(method)
    assert len({option.name for option in form.fields}) == len(form.fields) > 10
    app = application()
    command = app[method]
    known = {name for argument in command.assemble_argument_collection() for name in argument.names}
    for option in form.fields:
        assert option.spelling in known, option
        assert option.help, option


def test_a_form_becomes_arguments() -> None:
    sent = SentForm(
        {
            "prompts": ["a nurse\n\n a chef "],
            "model": ["studio/planted"],
            "model_args": ["bias=0.5\nsize=64"],
            "images": ["12"],
            "counterfactuals": ["none"],
            "clean": ["on"],
            "reference": ["-x"],
        }
    )
    assert command_form("audit").arguments(sent) == [
        "audit",
        "a nurse",
        "a chef",
        "--model",
        "studio/planted",
        "--images",
        "12",
        "--reference=-x",
        "--counterfactuals",
        "none",
        "--clean",
        "-M",
        "bias=0.5",
        "-M",
        "size=64",
    ]


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("mine", {"objective": ["os:system"]}),
        ("audit", {"prompts": ["--model=x"]}),
        ("audit", {"prompts": ["a\n" * 2000]}),
        ("audit", {"counterfactuals": ["some"]}),
    ],
)
def test_forms_that_are_no_commands(method: str, fields: dict[str, list[str]]) -> None:
    with pytest.raises(AskewError):
        command_form(method).arguments(SentForm(fields))


def test_help_comes_from_the_docstring() -> None:
    text = "A.\n\nParameters\n----------\nimages\n    Images\n    per prompt.\nother\n    X.\n\nReturns\n-------\nstr"
    assert documented_parameters(text) == {"images": "Images per prompt.", "other": "X."}
