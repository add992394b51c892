"""The page of ``rvsim report`` in a browser: opened from disk, by mouse, keys and fingers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from rvsim import cli
from tests.chromium import chromium
from tests.cli.programs import A0, A1, elf, exit_with, li
from tests.program.bare import step
from tools.golden_traces import TRACES

DESKTOP, PHONE = 1280, 390
SECTIONS = ["summary", "stalls", "roofline", "pipeline", "loops", "functions"]
VARIANTS = (1, 2, 20)


def unrolled(by: int) -> bytes:
    """Ten rounds of a loop with that many products that wait for each other."""
    products = [step("mul", rd=A1, rs1=A1, rs2=A1)] * by
    again = step("bne", rs1=A0, rs2=0, imm=-4 * (by + 1))
    return elf([li(A0, 10), *products, step("addi", rd=A0, rs1=A0, imm=-1), again, *exit_with(0)])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page on one program, and one on several."""
    folder = tmp_path_factory.mktemp("pages")
    files = [folder / f"unrolled_by_{by}.elf" for by in VARIANTS]
    for file, by in zip(files, VARIANTS, strict=True):
        file.write_bytes(unrolled(by))
    found = {name: folder / f"{name}.html" for name in ("one", "several")}
    one = ["report", str(TRACES / "saxpy.elf"), "--roi", "saxpy", "-o", str(found["one"])]
    assert cli.run(one) == 0
    assert cli.run(["report", *map(str, files), "-o", str(found["several"])]) == 0
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


Open = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens a page; in the end there was no error, no warning, and no request but for the file."""
    contexts, complaints, requests, asked = [], [], [], []

    def open_page(name: str, width: int = DESKTOP, **options: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            is_mobile=width == PHONE,
            has_touch=width == PHONE,
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        asked.append(pages[name].as_uri())
        page.goto(asked[-1])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert requests == asked


CELL = "parseFloat(getComputedStyle(document.querySelector('.view')).getPropertyValue('--cell'))"


def cell(page: Page) -> float:
    """How many pixels a cycle is wide."""
    found: float = page.evaluate(CELL)
    return found


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Until the browser has scrolled or drawn; the page's policy forbids `wait_for_function`."""
    for _ in range(250):
        if holds():
            return
        draw(page)
    pytest.fail("not within 250 frames")


def draw(page: Page) -> None:
    """Let the browser draw, however long that takes it: what was asked for is then there."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def place(page: Page) -> list[int]:
    """How far the picture is scrolled."""
    found: list[int] = page.locator(".view").evaluate("e => [e.scrollLeft, e.scrollTop]")
    return found


def corner(page: Page) -> tuple[float, float]:
    """Where the first lane begins in the window, into which it is scrolled."""
    lane = page.locator(".lane svg").first
    lane.scroll_into_view_if_needed()
    box = lane.bounding_box()
    assert box is not None
    return box["x"], box["y"]


TABLES_BENEATH = """figures => figures.map(figure =>
    [...figure.closest("section").querySelectorAll("table")].some(table =>
        table.getBoundingClientRect().top >= figure.getBoundingClientRect().bottom))"""


@pytest.mark.parametrize("name", ["one", "several"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_all_is_there_and_fits(opened: Open, name: str, width: int) -> None:
    page = opened(name, width)
    programs = 1 if name == "one" else len(VARIANTS)
    assert "rvsim: " in page.title()
    assert page.locator("section").evaluate_all("all => all.map(e => e.id)") == SECTIONS
    assert all(page.locator(f"#{section} table").first.is_visible() for section in SECTIONS)
    beneath = page.locator("figure").evaluate_all(TABLES_BENEATH)
    assert beneath == [True] * (programs + 2)  # a bar for each, roofline, pipeline
    assert page.locator(".bar").count() == programs
    assert page.locator(".roofline .memory").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_lanes_and_their_numbers_agree(opened: Open) -> None:
    page = opened("several", PHONE)
    lanes = page.locator(".lane").evaluate_all("all => all.map(e => e.dataset.about)")
    rows = page.locator("#pipeline .long tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert len(lanes) == len(rows) == sum(2 * (by + 2) for by in VARIANTS)
    for about, (insn, issue, start, done, waited) in zip(lanes, rows, strict=True):
        iteration, text = insn.split(" ", 1)
        assert f"iteration {iteration}, {text}: issue {issue}, start {start}, done {done}" in about
        assert about.endswith(f"; waited: {waited}") if waited else "waited" not in about
    (product,) = [about for about in lanes if "by_1, iteration 0" in about and " mul " in about]
    assert product.endswith(": issue 4, start 4, done 9; waited: raw:mul 4")


def test_cells_stand_where_their_cycles_are(opened: Open) -> None:
    """Of each lane the cell of issue, on the scale that all programs share."""
    page = opened("several")
    drawn = """all => all.map(lane => {
        const left = lane.querySelector("svg").getBoundingClientRect().left;
        const issue = lane.querySelector(".f-0").getBoundingClientRect();
        return [lane.dataset.about, issue.left - left, issue.width];
    })"""
    cell_width = cell(page)
    for about, left, width in page.locator(".lane").evaluate_all(drawn):
        (issue,) = re.findall(r"issue (\d+)", about)
        assert left == pytest.approx(int(issue) * cell_width, abs=0.1)
        assert width == pytest.approx(cell_width, abs=0.1)


# -- the picture moves


def test_buttons_and_keys_zoom(opened: Open) -> None:
    page = opened("one")
    view = page.locator(".view")
    usual = cell(page)
    widths = {}
    for name, key in (("zoom in", "+"), ("zoom out", "-"), ("show all", "a"), ("reset", "0")):
        view.press("=")
        page.get_by_role("button", name=name).click()
        widths[name] = cell(page)
        view.press("0")
        assert (cell(page), place(page)) == (usual, [0, 0])
        view.press("=")
        view.press(key)
        assert cell(page) == widths[name]
        view.press("0")
    assert widths["zoom in"] > usual == widths["zoom out"] == widths["reset"] > widths["show all"]


def test_all_of_the_picture_is_in_the_view_at_first(opened: Open) -> None:
    page = opened("several")
    inside = "e => [e.clientWidth - e.scrollWidth, e.clientHeight - e.scrollHeight]"
    assert page.locator(".view").evaluate(inside) == [0, 0]
    page.get_by_role("button", name="zoom in").click()
    assert page.locator(".view").evaluate(inside) < [0, 0]
    page.get_by_role("button", name="reset").click()
    assert page.locator(".view").evaluate(inside) == [0, 0]


def test_wheel_zooms_about_the_pointer_once_the_picture_is_clicked(opened: Open) -> None:
    page = opened("one")
    x, y = corner(page)
    page.mouse.move(x + 200, y + 5)
    before = page.evaluate("scrollY"), cell(page)
    page.mouse.wheel(0, -100)
    wait_until(page, lambda: page.evaluate("scrollY") < before[0])
    assert cell(page) == before[1]
    x, y = corner(page)
    page.mouse.click(x + 200, y + 5)
    page.mouse.wheel(0, -600)
    wait_until(page, lambda: cell(page) > before[1])
    assert (x + 200 - corner(page)[0]) / cell(page) == pytest.approx(200 / before[1], abs=0.2)


def test_wheel_with_ctrl_zooms_at_once(opened: Open) -> None:
    page = opened("one")
    x, y = corner(page)
    before = cell(page)
    page.mouse.move(x + 200, y + 5)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    wait_until(page, lambda: cell(page) > before)


def test_mouse_drags_the_picture(opened: Open) -> None:
    page = opened("several")
    for _ in range(4):
        page.get_by_role("button", name="zoom in").click()
    x, y = page.locator(".view").evaluate(
        "e => [e.getBoundingClientRect().right - 150, e.getBoundingClientRect().top + 250]"
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 70, y - 90)
    page.mouse.move(x - 50, y - 60)
    page.mouse.up()
    page.mouse.move(x, y)
    draw(page)
    assert place(page) == [50, 60]


def test_scrolling_down_goes_along_with_the_instructions(opened: Open) -> None:
    """The first cell of the first lane in the view stays where it is."""
    page = opened("several")
    for _ in range(4):
        page.get_by_role("button", name="zoom in").click()
    first = """() => {
        const view = document.querySelector(".view").getBoundingClientRect();
        const ruler = document.querySelector(".ruler").getBoundingClientRect().bottom;
        const all = [...document.querySelectorAll(".lane")];
        const lane = all.find((each) => each.getBoundingClientRect().bottom > ruler);
        const cell = lane.querySelector("rect").getBoundingClientRect();
        return [all.indexOf(lane), Math.round(cell.left - view.left)];
    }"""
    begin = page.evaluate(first)
    assert begin[0] == 0
    page.locator(".view").evaluate("e => e.scrollTo(e.scrollLeft, 400)")
    wait_until(page, lambda: place(page)[0] > 0)
    lane, left = page.evaluate(first)
    assert lane > 10
    assert left == pytest.approx(begin[1], abs=2)


def test_keys_choose_an_instruction_and_scroll(opened: Open) -> None:
    page = opened("several")
    page.get_by_role("button", name="zoom in").click()
    view = page.locator(".view")
    lanes = page.locator(".lane")
    before = place(page)
    lanes.last.evaluate("lane => lane.click()")
    view.press("ArrowDown")
    assert page.locator("output").text_content() == lanes.last.get_attribute("data-about")
    assert place(page) > before
    view.press("ArrowUp")
    assert page.locator("output").text_content() == lanes.nth(-2).get_attribute("data-about")
    before = place(page)
    view.press("ArrowLeft")
    wait_until(page, lambda: place(page)[0] < before[0])


def test_pointing_shows_the_row(opened: Open) -> None:
    page = opened("one")
    lane = page.locator(".lane").nth(3)
    lane.hover()
    assert page.locator("output").text_content() == lane.get_attribute("data-about")
    assert page.locator(".chosen").count() == 1


def test_fingers(opened: Open) -> None:
    """A tap shows a row, two fingers zoom about the place between them, one finger moves."""
    page = opened("one", PHONE)
    lane = page.locator(".lane").nth(2)
    lane.tap()
    assert page.locator("output").text_content() == lane.get_attribute("data-about")
    usual = cell(page)
    x, y = corner(page)
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, *at: float) -> None:
        points = [{"x": x + each, "y": y + 40, "id": i} for i, each in enumerate(at)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 100, 200)
    touch("touchMove", 50, 250)
    touch("touchEnd")
    assert cell(page) == pytest.approx(2 * usual, rel=0.01)
    assert place(page)[0] == pytest.approx(150, abs=2)
    assert page.evaluate("visualViewport.scale") == 1
    touch("touchStart", 200)
    for at in range(190, 90, -10):
        touch("touchMove", at)
    wait_until(page, lambda: place(page)[0] > 200)
    touch("touchEnd")


def test_without_scripts_the_picture_is_there_to_scroll(opened: Open) -> None:
    page = opened("several", PHONE, java_script_enabled=False)
    assert page.locator(".tools").is_hidden()
    assert page.locator(".lane").first.is_visible()
    room, held = page.locator(".view").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert held > room
    assert page.locator("#pipeline table").first.is_visible()


# -- colours

CONTRASTS = """() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    function light(colour) {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const part = (n) => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((n) => part(n / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }
    function contrast(one, other) {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    }
    function behind(element) {
        const style = getComputedStyle(element);
        if (element.matches(".lane text")) {
            return [getComputedStyle(element.previousElementSibling).fill];
        }
        if (element.matches(".heat")) {
            const heat = style.backgroundImage.match(/rgb[^)]*[)]/)[0];
            return [heat, ...behind(element.parentElement)];
        }
        const back = style.backgroundColor;
        return back === "rgba(0, 0, 0, 0)" ? behind(element.parentElement) : [back];
    }
    const found = {};
    for (const element of document.body.querySelectorAll("*")) {
        const text = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!text || element.closest("script, title") || !element.getClientRects().length) continue;
        const style = getComputedStyle(element);
        const colour = element.closest("svg") ? style.fill : style.color;
        for (const back of behind(element)) {
            const name = element.className.baseVal ?? element.className;
            found[`${element.tagName} ${name} ${colour} on ${back}`] = contrast(colour, back);
        }
    }
    return found;
}"""


ALL_SIGNS = """lane => {
    for (const i of Array(10).keys()) {
        lane.innerHTML += `<rect class="f-${i}"/><text class="s-${i}">?</text>`;
    }
}"""


@pytest.mark.parametrize("name", ["one", "several"])
def test_text_stands_out_in_light_and_dark(opened: Open, name: str) -> None:
    page = opened(name)
    for _ in range(6):
        page.get_by_role("button", name="zoom in").click()
    page.locator(".lane svg").first.evaluate(ALL_SIGNS)
    backs = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        backs.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        found = page.evaluate(CONTRASTS)
        assert len(found) > 30
        assert {text: ratio for text, ratio in found.items() if ratio < 4.5} == {}
    assert backs == ["rgb(255, 255, 255)", "rgb(20, 24, 30)"]
