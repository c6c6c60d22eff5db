"""One browser for the tests of a file, a reader for each test, and two models that many look at."""

import pytest

import quiltwork as qw
from browser import documents
from browser.reader import WEBGL, chromium, missing, reading, served, served_model


@pytest.fixture(scope="module")
def browser():
    if missing():
        pytest.skip(missing())
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", *WEBGL])
        yield opened
        opened.close()


@pytest.fixture
def reader(browser):
    """A fresh reader; whatever it did must have gone without errors."""
    with reading(browser) as made:
        yield made


@pytest.fixture(scope="module")
def asia(browser):
    with served_model(qw.textbook("asia")) as url:
        yield url


@pytest.fixture(scope="module")
def every_kind(browser):
    shown = documents.every_kind()
    with served(shown, documents.other_arcs(shown)) as url:
        yield url
