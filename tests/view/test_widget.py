"""The viewer in a notebook: traits hold the documents, messages carry questions and answers."""

import sys

import pytest
from some_models import model_of, put_page

import quiltwork as qw
from quiltwork.errors import MissingDependencyError
from quiltwork.view.answers import Answers
from quiltwork.view.document import document
from quiltwork.view.widget import reply, widget


@pytest.fixture
def built(tmp_path, monkeypatch):
    put_page(tmp_path, monkeypatch)
    monkeypatch.setattr("quiltwork.view.widget.FOLDER", tmp_path)


class ZMQInteractiveShell:
    """What IPython calls the shell of a notebook's kernel."""


def test_a_notebook_gets_a_widget(built, monkeypatch):
    pytest.importorskip("anywidget")
    ipython = type(sys)("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    shown = qw.view(model_of("bn"), model_of("hrf"))
    assert shown.document == document(model_of("bn"), room=None) and shown.other["kind"] == "hrf"
    assert "export default" in shown._esm and "color" in shown._css


def test_questions_are_answered_by_number(built):
    pytest.importorskip("anywidget")
    shown, sent = widget(qw.textbook("asia")), []
    assert shown.other is None
    shown.send = sent.append
    shown._handle_custom_msg({"id": 7, "ask": "local", "variable": 3}, [])
    shown._handle_custom_msg({"id": 8, "ask": "marginals", "evidence": {"2": 0}}, [])
    assert [message["id"] for message in sent] == [7, 8]
    assert sent[0]["answer"]["rows"] == [[0.1, 0.9], [0.01, 0.99]]
    assert sent[1]["answer"]["marginals"][3] == [0.1, 0.9]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"id": 1, "ask": "local", "variable": 99}, "from 0 to 7"),
        ({"id": 1, "ask": "local"}, "from 0 to 7"),
        ({"id": 1, "ask": "other", "variable": 0}, "no second model"),
        ({"id": 1, "ask": "marginals", "evidence": {"1": 0, "5": 1}}, "probability zero"),
        ({"id": 1, "ask": "marginals"}, "Evidence must be"),
        ({"id": 1, "ask": "something"}, "does not know"),
    ],
)
def test_wrong_questions_get_a_sentence(message, said):
    told = reply(Answers.of(qw.textbook("asia")), message)
    assert told["id"] == 1 and said in told["error"] and "answer" not in told


@pytest.mark.parametrize("message", [None, "x", [], {}])
def test_any_message_is_answered(message):
    assert "error" in reply(Answers.of(qw.textbook("asia")), message)


def test_without_anywidget_one_sentence_says_what_to_do(built, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'quiltwork\[jupyter\]'"):
        widget(model_of("bn"))
