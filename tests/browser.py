"""A browser without a window, where the tests of web pages click."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")


@contextlib.contextmanager
def opened(width: int, height: int) -> Iterator[Any]:
    """Chromium in a window of some size, or a test that is skipped."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={width},{height}")
    found = webdriver.Chrome(options, webdriver.ChromeService(DRIVER, env=os.environ))
    try:
        yield found
    finally:
        found.quit()
