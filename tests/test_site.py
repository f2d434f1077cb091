"""The documentation as a reader finds it: every link leads somewhere, no page of the reference is
endless, names are found. `WENGERT_SITE` says where `mkdocs build --site-dir` has put it.
"""

from __future__ import annotations

import functools
import html
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import opened

SITE = Path(os.environ.get("WENGERT_SITE", "site"))
pytestmark = [
    pytest.mark.skipif(
        "WENGERT_SITE" not in os.environ, reason="WENGERT_SITE names no built documentation"
    ),
    pytest.mark.sweep,
]
DESKTOP, PHONE = (1280, 1000), (390, 844)
TALLEST = 6000
"""Pixels of a page of the reference on a desktop."""


@dataclass
class Read:
    """What a page links to, and the places in it."""

    links: set[str]
    places: set[str]


def read(path: Path) -> Read:
    found: dict[str, set[str]] = {kind: set() for kind in ("href", "src", "id", "name")}
    for tag in re.findall(r"<[a-z][^<>]*>", path.read_text(encoding="utf-8")):
        for kind, quoted, bare in re.findall(r'\s(href|src|id|name)=(?:"([^"]*)"|([^\s">]+))', tag):
            found[kind].add(html.unescape(quoted or bare))
    return Read((found["href"] | found["src"]) - {""}, found["id"] | found["name"])


def test_every_link_leads_to_a_page_and_a_place_in_it() -> None:
    pages = {path.resolve(): read(path) for path in SITE.rglob("*.html")}
    lost = []
    for path, page in pages.items():
        if path.name == "404.html":  # is shown at any address: its links start at the root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = found / "index.html" if found.is_dir() else found
            place = unquote(parts.fragment)
            if not found.exists() or (found in pages and place not in {"", *pages[found].places}):
                lost.append(f"{path.relative_to(SITE.resolve())}: {link}")
    assert lost == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened(*DESKTOP) as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site served, since browsers search in nothing that is only a file."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def sized(browser: Any, width: int, height: int) -> None:
    sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)


def test_no_page_of_the_reference_is_taller_than_six_screens(browser: Any) -> None:
    sized(browser, *DESKTOP)
    quick = lambda off: browser.execute_cdp_cmd(
        "Emulation.setScriptExecutionDisabled", {"value": off}
    )
    quick(True)  # what the pages themselves run changes no height
    tall = {}
    for path in sorted((SITE / "reference").rglob("index.html")):
        browser.get(path.resolve().as_uri())
        height = browser.execute_script("return document.documentElement.scrollHeight")
        if height > TALLEST:
            tall[str(path.parent.relative_to(SITE))] = height
    quick(False)
    assert tall == {}


NARROW = ["index", "gallery/index", "seeing/index", "reference/functions/index", "rules/index"]


@pytest.mark.parametrize("page", NARROW)
def test_pages_are_no_wider_than_a_phone(browser: Any, page: str) -> None:
    sized(browser, *PHONE)
    browser.get((SITE / f"{page}.html").resolve().as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE[0]


def test_the_first_page_plays_and_its_frame_is_dark_when_the_reader_makes_the_page_dark(
    browser: Any,
) -> None:
    # The frame waited for a click, and took the scheme of the system.
    from selenium.webdriver.support.ui import WebDriverWait

    sized(browser, *DESKTOP)
    browser.get((SITE / "index.html").resolve().as_uri())

    def inside(script: str) -> Any:
        frame = browser.find_element("css selector", "iframe.shown")
        browser.execute_script("arguments[0].scrollIntoView()", frame)
        browser.switch_to.frame(frame)
        try:
            return browser.execute_script(f"return {script}")
        finally:
            browser.switch_to.default_content()

    shade = "matchMedia('(prefers-color-scheme: dark)').matches"
    count = "document.getElementById('count')?.textContent"
    WebDriverWait(browser, 60).until(lambda _: inside(count) not in (None, "step 0 of 19"))
    assert inside(shade) is False
    browser.execute_script(
        "[...document.querySelectorAll('[data-md-component=palette] input')].at(-1).click()"
    )
    WebDriverWait(browser, 10).until(lambda _: inside(shade))


def test_what_programs_print_keeps_its_columns_on_a_phone(browser: Any) -> None:
    sized(browser, *PHONE)
    browser.get((SITE / "gallery/descent/index.html").resolve().as_uri())
    code = "document.querySelector('.printed code')"
    assert browser.execute_script(f"return getComputedStyle({code}).whiteSpace") == "pre"


def test_a_function_is_found_by_its_name(browser: Any, address: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    sized(browser, *DESKTOP)
    browser.get(f"{address}/?q=logsumexp")
    links = lambda _: browser.execute_script(
        "return [...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    )
    found = WebDriverWait(browser, 120).until(links)
    assert any(re.search(r"reference/functions/.*logsumexp", link) for link in found), found
