"""The stepping page in a real browser: what a reader clicks, and what then stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.browser import opened
from wengert.symbolic.expressions import Expression


def lecture() -> wg.Explanation:
    return wg.explain(Expression("log(x1) + x1*x2 - sin(x2)"), 2.0, 5.0)


def large() -> wg.Explanation:
    def f(a: Any, b: Any, c: Any) -> Any:
        u = np.sin(a * b) + np.exp(c / a)
        v = np.tanh(u * b - c) * np.log(b + 2)
        w = u * v + np.sqrt(a * a + c * c)
        return w / (1 + np.exp(-u)) + v

    return wg.explain(f, 2.0, 1.5, 0.7)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened(1200, 1000) as found:
        yield found


Shown = Callable[[wg.Explanation], "Page"]


class Page:
    """What a reader can do on the page, and see."""

    def __init__(self, browser: Any, e: wg.Explanation) -> None:
        self.browser = browser
        self.rows, self.total = len(e.primal), len(e.primal) + len(e.adjoint)

    def element(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return self.element(selector).text

    def box(self, k: int) -> list[str]:
        """Value, tangent and adjoint in a box."""
        return [self.text(f"#b{k} .{kind}") for kind in ("v", "d", "b")]

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """All of a kind, in one question."""
        script = "return [...document.querySelectorAll(arguments[0])].map(x => x.textContent)"
        return self.browser.execute_script(script, selector)

    def click(self, button: str, times: int = 1) -> None:
        self.element(f"#{button}").click()
        # The driver waits 0.3 s for each click on a page that moves: the others are the page's own.
        again = (
            "for (let k = 1; k < arguments[1]; k++) document.getElementById(arguments[0]).click()"
        )
        self.browser.execute_script(again, button, times)

    def press(self, key: str) -> None:
        self.element("body").send_keys(key)

    def formulas(self, selector: str) -> str:
        """Formulas as text, which stands beside what is typeset."""
        texts = "[...document.querySelectorAll(arguments[0])].map(x => x.getAttribute('alttext'))"
        return "  ".join(self.browser.execute_script(f"return {texts}", f"{selector} math"))

    def says(self) -> str:
        return self.formulas("#says")

    def step(self) -> str:
        return self.text("#count")

    def play(self) -> str:
        return self.text("#play")

    def errors(self) -> list[Any]:
        return [line for line in self.browser.get_log("browser") if line["level"] == "SEVERE"]


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Shown]:
    def show(e: wg.Explanation) -> Page:
        path = tmp_path / "page.html"
        path.write_text(e.page(), encoding="utf-8")
        browser.get(path.as_uri())
        return Page(browser, e)

    yield show
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


def test_at_first_nothing_is_known(shown: Shown) -> None:
    page = shown(lecture())
    assert page.step() == "step 0 of 19"
    assert page.box(0) == ["", "", ""]
    assert not page.element("#back").is_enabled()
    assert not page.element("#summary").is_displayed()


def test_next_fills_values_and_tangents_forward(shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 4)
    assert page.box(3) == ["10", "5", ""]
    assert page.box(4) == ["", "", ""]
    assert "v₂ = v₋₁ × v₀ = 2 × 5 = 10" in page.says()
    assert "now" in page.element("#e0-3").get_attribute("class")


def test_then_the_adjoints_from_the_last_step_back(shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 8 + 1)
    assert page.box(7)[0] == "11.652"
    assert page.box(6) == ["11.652", "5.5", "1"]
    assert page.says().startswith("v̄₅")
    page.click("last")
    assert [page.box(k)[2] for k in (0, 1)] == ["5.5", "1.716"]
    assert page.formulas("#summary") == "∂y/∂x₁ = 5.5, ∂y/∂x₂ = 1.716"
    assert not page.element("#next").is_enabled()


def test_back_takes_the_last_step_away(shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 3)
    page.click("back")
    assert page.box(2) == ["", "", ""]
    assert page.box(1) == ["5", "0", ""]
    page.click("first")
    assert page.step() == "step 0 of 19"


def test_keys_slider_and_lines_move_too(shown: Shown) -> None:
    page = shown(lecture())
    page.press("\ue014")  # right arrow
    assert page.step() == "step 1 of 19"
    page.press("\ue010")  # End
    assert page.step() == "step 19 of 19"
    page.press("\ue012")  # left arrow
    assert page.step() == "step 18 of 19"
    page.element("#p2").click()
    assert page.step() == "step 3 of 19"
    page.element("#slider").send_keys("\ue014")
    assert page.step() == "step 4 of 19"


def test_a_function_of_more_than_twenty_steps(shown: Shown) -> None:
    e = large()
    page = shown(e)
    assert page.rows >= 20
    page.click("next", page.total)
    assert page.step() == f"step {page.total} of {page.total}"
    for k, name in enumerate(e.gradient):
        assert page.box(k)[2] == e.shown(e.gradient[name])
    assert page.formulas("#summary") == e.summary()


def network() -> wg.Explanation:
    wg.manual_seed(0)
    net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.Tanh(), wg.nn.Linear(3, 1))
    return wg.explain(net.double(), np.ones(2))


def test_arrays_have_room_in_their_boxes(shown: Shown) -> None:
    page = shown(network())
    page.click("last")
    for k in range(page.rows):
        box = page.element(f"#b{k} rect").rect
        assert page.box(k)[0].startswith("[")
        for part in ("name", "v", "d", "b"):
            if not page.text(f"#b{k} .{part}"):
                continue  # the result has no adjoint of its own
            text = page.element(f"#b{k} .{part}").rect
            assert box["x"] <= text["x"]
            assert text["x"] + text["width"] <= box["x"] + box["width"]
            assert text["y"] + text["height"] <= box["y"] + box["height"] + 1


def test_an_argument_that_nothing_depends_on_stands_with_the_others(shown: Shown) -> None:
    page = shown(wg.explain(lambda a, b: np.sin(a), 1.0, 2.0))
    a, b = (page.element(f"#b{k} rect").rect for k in range(2))
    assert a["x"] == b["x"]
    assert a["y"] + a["height"] < b["y"]


@pytest.mark.parametrize("explained", [lecture, large, network])
def test_boxes_do_not_overlap(shown: Shown, explained: Callable[[], wg.Explanation]) -> None:
    page = shown(explained())
    places = [page.element(f"#b{k} rect").rect for k in range(page.rows)]
    for i, a in enumerate(places):
        for b in places[:i]:
            apart = abs(a["x"] - b["x"]) >= a["width"] or abs(a["y"] - b["y"]) >= a["height"]
            assert apart


def test_the_page_asks_for_nothing_from_outside() -> None:
    text = lecture().page()
    assert "src=" not in text
    assert "http" not in text


def test_names_that_look_like_tags_are_only_text() -> None:
    e = wg.explain(lambda x: x * 2, 1.0)
    e.title = "<script>alert(1)</script>"
    assert "<script>alert" not in e.page()


def test_the_last_box_gets_the_adjoint_that_the_sweep_begins_with(shown: Shown) -> None:
    # It stayed empty: only the value that y is had an adjoint.
    page = shown(lecture())
    page.click("next", 8 + 1)
    assert page.box(7) == ["11.652", "5.5", "1"]


def test_a_link_leads_to_a_step(browser: Any, shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 3)
    assert browser.current_url.endswith("#3")
    browser.execute_script("location.hash = '#7'")
    assert page.step() == "step 7 of 19"
    browser.refresh()
    assert page.step() == "step 7 of 19"


def test_it_plays_to_the_end_and_a_click_stops_it(browser: Any, shown: Shown) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    page = shown(lecture())
    page.click("play")
    assert page.play() == "Pause"
    WebDriverWait(browser, 30).until(lambda _: page.step() != "step 0 of 19")
    page.click("back")
    assert page.play() == "Play"
    page.click("last")
    page.click("back")
    page.click("play")
    WebDriverWait(browser, 30).until(lambda _: page.step() == "step 19 of 19")
    assert page.play() == "Play"


def at_step(browser: Any, k: int) -> dict[str, list[str]]:
    """What is seen of a picture that fills itself, at the middle of a step."""
    return browser.execute_script(
        """
        const svg = document.documentElement;
        svg.pauseAnimations();
        svg.setCurrentTime(arguments[0]);
        const seen = kind => [...svg.querySelectorAll('text.' + kind)]
          .filter(text => getComputedStyle(text).visibility === 'visible')
          .map(text => text.firstChild.data);
        return { says: seen('says'), v: seen('v'), b: seen('b') };
        """,
        k + 0.5,
    )


def test_the_picture_that_fills_itself_shows_at_each_step_what_the_page_shows(
    shown: Shown, browser: Any, tmp_path: Path
) -> None:
    e = lecture()
    path = tmp_path / "graph.svg"
    path.write_text(e.animation(seconds=1.0), encoding="utf-8")
    total = len(e.primal) + len(e.adjoint)
    browser.get(path.as_uri())
    seen = [at_step(browser, k) for k in range(total + 2)]
    page = shown(e)
    for k, step in enumerate(seen[1 : total + 1], 1):
        page.click("next")
        assert len(step["says"]) == 1
        assert page.says().startswith(step["says"][0])  # the page adds the tangent
        for kind in ("v", "b"):
            assert step[kind] == [
                text for text in page.texts(f".picture:first-child .box .{kind}") if text
            ], k
    assert seen[0] == {"says": [], "v": [], "b": []}
    assert seen[-1]["says"] == [page.formulas("#summary")]


def test_a_step_of_the_picture_takes_some_time() -> None:
    with pytest.raises(ValueError, match=r"a step must take some seconds, but got 0"):
        lecture().animation(0)


def lit(page: Page) -> dict[str, str]:
    """The edges along which something flows, and what stands beside them."""
    names = [edge.get_attribute("id")[1:] for edge in page.all(".lying .edge.now")]
    return {name: page.text(f"#l{name}") for name in names}


def test_edges_are_lit_with_their_derivatives_where_values_flow(shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 3)
    assert lit(page) == {"0-2": "×\u202f0.5"}
    page.click("next", 4)
    assert lit(page) == {"5-6": "×\u202f1", "4-6": "×\u202f-1"}
    page.click("next", 5)
    assert page.says().startswith("v̄₁ = v̄₄ ∂v₄/∂v₁")
    assert lit(page) == {"2-5": "×\u202f1"}
    assert "back" in page.element("#e2-5").get_attribute("class")
    page.click("last")
    assert lit(page) == {}


def test_a_value_that_is_used_twice_has_both_derivatives_beside_one_edge(shown: Shown) -> None:
    page = shown(wg.explain(lambda x: x * x, 3.0))
    page.click("next", 2)
    assert lit(page) == {"0-1": "×\u202f(3 + 3)"}


def test_a_tie_says_what_it_computes(shown: Shown) -> None:
    page = shown(wg.explain(lambda a, b: np.maximum(a, b), 1.0, 1.0))
    page.click("next", 6)
    assert page.says().endswith("1 × ([1 > 1] + [1 = 1] / 2) = 0.5")


def test_formulas_are_typeset(shown: Shown) -> None:
    page = shown(lecture())
    page.click("next", 3)
    fraction = page.element("#t2 mfrac").rect
    above, below = (part.rect for part in page.all("#t2 mfrac > msub"))
    assert above["y"] + above["height"] <= below["y"] + 1
    assert fraction["height"] > above["height"] + below["height"] - 2


def sized(browser: Any, width: int, height: int) -> None:
    sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)


@pytest.mark.parametrize("width", [390, 322])
def test_on_a_phone_the_drawing_stands_upright_and_all_fits(
    browser: Any, shown: Shown, width: int
) -> None:
    sized(browser, width, 844)
    try:
        page = shown(lecture())
        page.click("last")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        # Values of the traces were cut off at the right, in a frame sooner than alone.
        cut = "s => s.scrollWidth > s.clientWidth"
        script = f"return [...document.querySelectorAll('section, h1')].map({cut})"
        assert browser.execute_script(script) == [False] * 4
        frame = page.element("#drawing").rect
        for k in range(page.rows):
            box = page.element(f"#ub{k} rect").rect
            assert frame["x"] <= box["x"]
            assert box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert page.text("#ub7 .b") == "1"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_drawing_fills_its_frame(shown: Shown) -> None:
    # A third of it was empty: drawings kept their size.
    page = shown(lecture())
    frame, drawing = page.element("#drawing").rect, page.element(".lying svg").rect
    assert drawing["width"] > 0.95 * frame["width"]


def test_it_is_dark_where_the_reader_likes_it_dark(browser: Any, shown: Shown) -> None:
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    ground = lambda page: page.element("body").value_of_css_property("background-color")
    light = ground(shown(lecture()))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [dark]})
    try:
        assert ground(shown(lecture())) != light
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def kept(browser: Any, page: Page, button: str, folder: Path, name: str) -> Path:
    """The file that a button keeps."""
    from selenium.webdriver.support.ui import WebDriverWait

    where = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Page.setDownloadBehavior", where)
    page.click(button)
    WebDriverWait(browser, 60).until(lambda _: (folder / name).exists())
    return folder / name


def test_the_picture_at_a_step_is_kept_as_svg(browser: Any, shown: Shown, tmp_path: Path) -> None:
    page = shown(lecture())
    page.click("next", 4)
    path = kept(browser, page, "svg", tmp_path, "step-4.svg")
    browser.get(path.as_uri())
    texts = "return [...document.querySelectorAll('.v, #l0-3')].map(x => x.textContent)"
    assert browser.execute_script(texts) == ["2", "5", "0.693", "10", "", "", "", "", "×\u202f5"]
    seen = "return getComputedStyle(document.querySelector(arguments[0])).visibility"
    assert browser.execute_script(seen, "#l0-3") == "visible"
    assert browser.execute_script(seen, "#l0-2") == "hidden"


def test_all_steps_are_kept_as_a_gif(browser: Any, shown: Shown, tmp_path: Path) -> None:
    from PIL import Image

    e = wg.explain(lambda x: x * x, 3.0)
    page = shown(e)
    page.click("next", 2)
    with Image.open(kept(browser, page, "gif", tmp_path, "steps.gif")) as picture:
        assert picture.n_frames == page.total + 1
        frames = []
        for k in range(picture.n_frames):
            picture.seek(k)
            frames.append(np.asarray(picture.convert("RGB")))
    assert all(np.any(a != b) for a, b in pairwise(frames))
    assert np.mean(np.all(frames[0] == frames[0][0, 0], axis=-1)) > 0.5  # paper, not noise
    assert page.step() == f"step 2 of {page.total}"


def test_a_notebook_shows_the_page_and_gives_it_room(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html>{lecture()._repr_html_()}", encoding="utf-8")
    browser.get(path.as_uri())
    frame = browser.find_element("css selector", "iframe")
    browser.switch_to.frame(frame)
    try:
        browser.find_element("css selector", "#next").click()
        assert browser.find_element("css selector", "#count").text == "step 1 of 19"
        inner = browser.execute_script("return document.documentElement.scrollHeight")
    finally:
        browser.switch_to.default_content()
    assert frame.rect["height"] >= inner
