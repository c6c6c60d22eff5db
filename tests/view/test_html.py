"""One file that holds a whole view: nothing in it runs but our program, and nothing is loaded from elsewhere."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from some_models import NASTY, model_of, network, put_page

import quiltwork as qw
from quiltwork.errors import InputError, MissingDependencyError
from quiltwork.view.bundle import NAMES, is_built, read_bundle
from quiltwork.view.document import document
from quiltwork.view.html import page, to_html


class Elements(HTMLParser):
    """Every element with its attributes and, of scripts and styles, its text."""

    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        self.found.append([f"/{tag}", {}, ""])

    def handle_data(self, text):
        if self.found:
            self.found[-1][2] += text

    def named(self, tag):
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


@pytest.fixture
def built(tmp_path, monkeypatch):
    put_page(tmp_path, monkeypatch)


def elements_of(content):
    return Elements(content.decode())


def documents_in(elements):
    return {a["id"]: json.loads(text) for a, text in elements.named("script") if a.get("type") == "application/json"}


def test_the_file_holds_the_document(built, tmp_path):
    to_html(model_of("bn"), tmp_path / "net.html")
    elements = elements_of((tmp_path / "net.html").read_bytes())
    assert documents_in(elements) == {"quiltwork-document": document(model_of("bn"))}
    assert elements.named("title")[0][1] == "Bayesian network, 8 variables · Quiltwork"


def test_two_models_are_compared(built, tmp_path):
    to_html(model_of("bn"), tmp_path / "net.html", other=model_of("hrf"))
    held = documents_in(elements_of((tmp_path / "net.html").read_bytes()))
    assert [held[name]["kind"] for name in ("quiltwork-document", "quiltwork-other")] == ["bn", "hrf"]


def test_nothing_is_loaded_and_only_what_is_hashed_runs(built):
    elements = elements_of(page(document(model_of("bn"))))
    for tag, attributes, _ in elements.found:
        assert "src" not in attributes and (tag != "link" and "href" not in attributes)
        assert not any(name.startswith("on") for name in attributes)
    (policy,) = (a["content"] for a, _ in elements.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    (program,) = (text for a, text in elements.named("script") if a.get("type") == "module")
    ((_, style),) = elements.named("style")
    for rule, text in (("script-src", program), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_the_policy_comes_before_anything_it_governs(built):
    tags = [tag for tag, *_ in elements_of(page(document(model_of("bn")))).found]
    assert tags.index("meta") < tags.index("style") < tags.index("script")


def test_names_cannot_leave_their_block(built):
    names = [*NASTY, "<!--", "]]>"]
    shown = document(network(len(names), [()] * len(names), names=names, states=tuple(NASTY)))
    content = page(shown).decode()
    elements = Elements(content)
    assert [tag for tag, *_ in elements.found if tag in ("img", "iframe", "object")] == []
    assert len(elements.named("script")) == 2
    assert documents_in(elements)["quiltwork-document"] == shown
    (block,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL)
    assert not set("<>&\u2028\u2029") & set(block)


def test_the_same_model_gives_the_same_file(built):
    assert page(document(model_of("bn"))) == page(document(model_of("bn")))


def test_a_file_that_cannot_be_written(built, tmp_path):
    with pytest.raises(InputError, match="there is no directory"):
        to_html(model_of("bn"), tmp_path / "nowhere" / "net.html")


def test_without_the_page_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("quiltwork.view.bundle.FOLDER", tmp_path)
    with pytest.raises(MissingDependencyError, match="'make viewer'.*qw.figure"):
        qw.to_html(model_of("bn"), tmp_path / "net.html")
    assert not (tmp_path / "net.html").exists()


def test_an_index_that_does_not_fit_is_noticed(built, tmp_path):
    (tmp_path / "index.html").write_text("<html><head></head><body></body></html>")
    with pytest.raises(ValueError, match="make viewer"):
        page(document(model_of("bn")))


@pytest.mark.skipif(not is_built(), reason="the viewer's page is not built (make viewer)")
def test_the_built_page_fits_and_stays_small():
    content = page(document(model_of("bn")))
    assert len(content) < 600_000
    elements = elements_of(content)
    assert len(elements.named("script")) == 2 and len(elements.named("style")) == 1
    assert all(len(read_bundle(name)) > 100 for name in NAMES)
    for library in ("sigma", "graphology", "d3-hierarchy"):
        assert library in read_bundle("licences.txt").decode()
