"""The rater app: consent, answers, undo, resuming, withdrawal, blinding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import html5lib
import pytest

from askew.errors import UsageError
from askew.people.folder import StudyFolder
from askew.people.records import AnswerRecord
from study_folders import RaterClient, links_of, served, small_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return small_study(tmp_path_factory.mktemp("rating") / "study")


@pytest.fixture(scope="module")
def client(study: StudyFolder) -> Iterator[RaterClient]:
    with served(study) as opened:
        yield opened


@pytest.fixture
def link(study: StudyFolder, client: RaterClient) -> str:
    """Return the link of the first rater, in a study without answers."""
    (study.path / "answers.jsonl").unlink(missing_ok=True)
    return f"/s/{links_of(study)['r001']}"


def test_nothing_is_stored_before_consent(tmp_path: Path) -> None:
    folder = small_study(tmp_path / "study")
    link = f"/s/{links_of(folder)['r001']}"
    before = (folder.path / "raters.jsonl").read_bytes()
    with served(folder) as client:
        page = client.get(link)
        assert page.status == 200
        for text in ("We study images.", "ann@example.org", "for a month", "I agree and start"):
            assert text in page.text
        item = folder.raters()[0].items[0]
        assert client.get(f"{link}/{item}").place == link
        assert client.post(f"{link}/{item}", {"answer": "female"}).place == link
        assert folder.all_answers() == []
        assert (folder.path / "raters.jsonl").read_bytes() == before
        assert client.post(link).place == f"{link}/{item}"
    assert folder.raters()[0].consented


def test_a_rater_answers_goes_back_and_resumes_on_another_device(
    study: StudyFolder, client: RaterClient, link: str
) -> None:
    client.post(link)
    first, second, third = study.raters()[0].items[:3]
    page = client.get(f"{link}/{first}")
    shown = re.search(r'name="shown" value="([^"]+)"', page.text)
    assert shown is not None
    reply = client.post(f"{link}/{first}", {"answer": "female", "shown": shown[1]})
    assert (reply.status, reply.place) == (303, f"{link}/{second}")
    client.post(f"{link}/{second}", {"answer": ":cannot_tell", "shown": "0.forged"})
    assert f'href="{link}/{first}"' in client.get(f"{link}/{second}").text
    client.post(f"{link}/{first}", {"answer": "male"})
    stored = study.all_answers()
    assert [(each.item, each.answer) for each in stored] == [
        (first, ("female",)),
        (second, (":cannot_tell",)),
        (first, ("male",)),
    ]
    assert stored[0].seconds is not None
    assert stored[1].seconds is None
    assert study.answers()["r001", first].answer == ("male",)
    with served(StudyFolder.opened(study.path)) as other:
        assert other.get(link).place == f"{link}/{third}"
        assert "2 of " in other.get(f"{link}/{third}").text


def test_a_wrong_answer_is_refused_with_the_reason(
    study: StudyFolder, client: RaterClient, link: str
) -> None:
    client.post(link)
    item = study.raters()[0].items[0]
    for form in ({}, {"answer": "other"}, {"answer": ""}):
        reply = client.post(f"{link}/{item}", form)
        assert reply.status == 400
        assert "Your answer was not stored" in reply.text
    assert client.post(f"{link}/{item}", {"answer": "x" * 70_000}).status == 400
    assert study.all_answers() == []


def test_the_last_answer_leads_to_thanks(
    study: StudyFolder, client: RaterClient, link: str
) -> None:
    client.post(link)
    rater = study.raters()[0]
    for item in rater.items[:-1]:
        study.append(AnswerRecord(rater.id, item, 1, ("female",)))
    assert client.get(link).place == f"{link}/{rater.items[-1]}"
    assert client.get(f"{link}/done").place == link
    reply = client.post(f"{link}/{rater.items[-1]}", {"answer": "female"})
    assert reply.place == f"{link}/done"
    assert "Thank you" in client.get(f"{link}/done").text


def test_withdrawal_leaves_no_trace_of_the_rater(tmp_path: Path) -> None:
    folder = small_study(tmp_path / "study")
    tokens = links_of(folder)
    with served(folder) as client:
        link = f"/s/{tokens['r002']}"
        client.post(link)
        item = folder.raters()[1].items[0]
        client.post(f"{link}/{item}", {"answer": "female"})
        folder.append(AnswerRecord("r001", folder.raters()[0].items[0], 1, ("male",)))
        assert client.get(f"{link}/withdraw").status == 200
        assert folder.all_answers()[0].rater == "r002"
        assert "deleted" in client.post(f"{link}/withdraw").text
        assert client.get(link).status == 404
    assert [answer.rater for answer in folder.all_answers()] == ["r001"]
    assert folder.withdrawn() == 1
    for file in folder.path.rglob("*"):
        if file.is_file():
            assert b"r002" not in file.read_bytes(), file


def test_pages_contain_no_label_model_prompt_or_file_name(
    study: StudyFolder, client: RaterClient, link: str
) -> None:
    client.post(link)
    secrets = ("clip", "secret", "nurse", "stratum", "expected", "studio")
    items = [name for name in study.raters()[0].items if study.items[name].role == "item"][:2]
    for item in items:
        page = client.get(f"{link}/{item}")
        assert page.status == 200
        assert not [word for word in secrets if word in page.text.lower()]
    image = study.items[items[0]].images[0]
    data = client.get(f"{link}/image/{image}")
    assert data.body.startswith(b"\x89PNG")
    assert b"tEXt" not in data.body


def test_pages_are_valid_and_work_without_scripts(
    study: StudyFolder, client: RaterClient, link: str
) -> None:
    client.post(link)
    item = study.raters()[0].items[0]
    for address in (link, f"{link}/{item}", f"{link}/withdraw"):
        reply = client.get(address)
        if reply.status == 200:
            html5lib.HTMLParser(strict=True).parse(reply.text)
    page = client.get(f"{link}/{item}").text
    assert page.count('type="submit" name="answer"') == 4
    assert 'accesskey="1"' in page


def test_each_rater_has_an_order_and_few_checks(study: StudyFolder) -> None:
    orders = []
    for rater in study.raters():
        roles = [study.items[name].role for name in rater.items]
        assert roles.count("check") == 1
        assert roles.count("item") == 12
        orders.append([name for name in rater.items if study.items[name].role == "item"])
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]


def test_a_study_that_changed_after_the_first_answer_is_refused(tmp_path: Path) -> None:
    folder = small_study(tmp_path / "study")
    path = folder.path / "study.toml"
    path.write_text(path.read_text().replace("We study images.", "We study pictures."))
    folder = StudyFolder.opened(folder.path)
    folder.append(AnswerRecord("r001", "i00001", 1, ("male",)))
    changed = path.read_text().replace("for a month", "for a year")
    path.write_text(changed)
    with pytest.raises(UsageError, match=r"changed after the first answer.*version = 2"):
        StudyFolder.opened(folder.path)
    path.write_text(changed.replace("version = 1", "version = 2"))
    assert StudyFolder.opened(folder.path).answers() == {}


def test_a_line_that_a_crash_cut_off_is_ignored(tmp_path: Path) -> None:
    folder = small_study(tmp_path / "study")
    folder.append(AnswerRecord("r001", "i00001", 1, ("male",)))
    with (folder.path / "answers.jsonl").open("ab") as file:
        file.write(b'\n{"rater":"r001","item":"i000')
    folder.append(AnswerRecord("r001", "i00002", 1, ("female",)))
    assert [answer.item for answer in folder.all_answers()] == ["i00001", "i00002"]
