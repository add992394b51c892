"use strict";
// Zooming changes the width of a cycle, --cell; below the usual width also the height of a row, --row.
// Panning scrolls the view, as browsers do by touch, wheel, keys and bars.  This script adds dragging
// with a mouse, and scrolling down follows the instructions.
for (const figure of document.querySelectorAll("figure.pipeline")) {
  const view = figure.querySelector(".view");
  const about = figure.querySelector("output");
  const lanes = [...figure.querySelectorAll(".lane")];
  const heads = [...figure.querySelectorAll(".ruler, .program")];
  const begins = lanes.map((lane) => lane.dataset.begin);
  const cycles = figure.dataset.cycles;
  const length = (name) => parseFloat(getComputedStyle(view).getPropertyValue(name));
  const width = () => length("--cell");
  const usual = { cell: width(), row: length("--row") };

  // Labels are beside the lanes, or above them on a narrow screen.
  const margin = () => lanes[0].querySelector("svg").getBoundingClientRect().left
    - view.getBoundingClientRect().left - view.clientLeft + view.scrollLeft;
  const under = (lane) => lane.offsetTop + lane.offsetHeight > view.scrollTop + heads[0].offsetHeight;
  const first = () => Math.max(0, lanes.findIndex(under));

  // The height of rows and the width of cycles that fit the whole picture into the view.
  function fitting() {
    const taken = heads.reduce((sum, head) => sum + head.offsetHeight, 12);
    return Math.min(usual.row, (parseFloat(getComputedStyle(view).maxHeight) - taken) / lanes.length);
  }
  function whole() {
    const cell = (view.clientWidth - margin()) / cycles;
    return fitting() < usual.row ? Math.min(cell, usual.cell / 2) : cell;
  }

  // Rows get lower as more of the picture is in the view.
  function height(cell, least) {
    const way = Math.log(cell / least) / Math.log(usual.cell / least);
    return cell < usual.cell ? usual.row ** way * fitting() ** (1 - way) : usual.row;
  }

  // Keeps the lane where it is, and the cycle that is `x` to the right of the view's edge.
  function zoom(wanted, lane, x) {
    const least = Math.min(whole(), usual.cell);
    const cell = Math.min(64, Math.max(least, wanted));
    const row = height(cell, least);
    const cycle = Math.max(0, view.scrollLeft + x - margin()) / width();
    const y = lane.offsetTop - view.scrollTop;
    view.style.setProperty("--cell", `${cell}px`);
    view.style.setProperty("--row", `${row}px`);
    view.classList.toggle("small", cell < 7);
    view.classList.toggle("tiny", cell < 3);
    view.classList.toggle("low", row < 12);
    moveTo(margin() + cycle * cell - x, lane.offsetTop - y);
  }

  function moveTo(left, down) {
    view.scrollTo(left, down);
    top = first();
  }

  // Zooms around the start of an instruction: the chosen one, or the first in the view.
  function zoomHere(wanted) {
    const shown = (lane) => under(lane) && lane.offsetTop < view.scrollTop + view.clientHeight;
    const chosen = lanes.findIndex((lane) => lane.matches(".chosen") && shown(lane));
    const at = chosen < 0 ? first() : chosen;
    const place = () => margin() + begins[at] * width() - view.scrollLeft;
    if (place() < margin() || place() > view.clientWidth) view.scrollLeft += place() - margin();
    zoom(wanted, lanes[at], place());
  }

  const zoomAt = (wanted, target, clientX) => zoom(wanted, target.closest(".lane") ?? lanes[first()],
    clientX - view.getBoundingClientRect().left - view.clientLeft);

  // Several programs are compared as a whole first.
  function reset() {
    zoom(heads.length > 2 ? whole() : usual.cell, lanes[0], 0);
    moveTo(0, 0);
  }

  function choose(chosen) {
    for (const each of lanes) each.classList.toggle("chosen", each === chosen);
    about.textContent = chosen.dataset.about;
  }

  function step(by) {
    const at = lanes.findIndex((each) => each.classList.contains("chosen"));
    choose(lanes[Math.min(lanes.length - 1, Math.max(0, at + by))]);
    figure.querySelector(".chosen").scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const actions = {
    in: () => zoomHere(width() * 1.5),
    out: () => zoomHere(width() / 1.5),
    all: () => zoomHere(whole()),
    reset,
  };
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, a: actions.all, 0: reset,
    ArrowDown: () => step(1), ArrowUp: () => step(-1),
  };

  let top = 0;
  let dragged = null;
  figure.querySelector(".tools").hidden = false;
  reset();

  for (const button of figure.querySelectorAll("button")) {
    button.addEventListener("click", () => actions[button.value]());
  }
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  view.addEventListener("scroll", () => {
    const now = first();
    view.scrollLeft += (begins[now] - begins[top]) * width();
    top = now;
  });

  // The wheel scrolls until the picture has been clicked.
  view.addEventListener("wheel", (event) => {
    const pinched = event.ctrlKey || event.metaKey;
    if (event.shiftKey || !(pinched || document.activeElement === view)) return;
    const before = width();
    const turned = event.deltaY * (event.deltaMode ? 16 : 1) / (pinched ? 150 : 300);
    zoomAt(before * 2 ** -turned, event.target, event.clientX);
    if (pinched || width() !== before) event.preventDefault();
  }, { passive: false });

  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button || !event.target.closest("svg")) return;
    dragged = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", (event) => {
    const pointed = event.target.closest(".lane");
    if (dragged) moveTo(dragged[0] - event.clientX, dragged[1] - event.clientY);
    else if (pointed && event.pointerType === "mouse") choose(pointed);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    view.addEventListener(end, () => { dragged = null; });
  }

  let pinch = null;
  const apart = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  const between = ([a, b]) => (a.clientX + b.clientX) / 2;
  for (const kind of ["touchstart", "touchmove", "touchend", "touchcancel"]) {
    view.addEventListener(kind, (event) => {
      if (event.touches.length !== 2) {
        pinch = null;
        return;
      }
      event.preventDefault();
      pinch ??= width() / apart(event.touches);
      zoomAt(pinch * apart(event.touches), event.target, between(event.touches));
    }, { passive: false });
  }

  for (const each of lanes) each.addEventListener("click", () => choose(each));
}
