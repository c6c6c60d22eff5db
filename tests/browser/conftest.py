"""One browser for the tests of a file."""

import pytest

from browser.reader import WEBGL, chromium


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", *WEBGL])
        yield opened
        opened.close()
