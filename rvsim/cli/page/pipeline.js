"use strict";
// Zooming changes how wide a cycle is, --cell, and below the usual width how high a row is, --row.
// Panning is the scrolling of the view, which browsers do by touch, wheel, keys and bars; only
// dragging with a mouse is added.
for (const figure of document.querySelectorAll("figure.pipeline")) {
  const view = figure.querySelector(".view");
  const about = figure.querySelector("output");
  const lanes = [...figure.querySelectorAll(".lane")];
  const length = (name) => parseFloat(getComputedStyle(view).getPropertyValue(name));
  const width = () => length("--cell");
  const usual = { cell: width(), row: length("--row") };
  const lane = lanes[0].querySelector("svg");
  // Labels stand before the lanes, or above them on a narrow screen.
  const margin = () => lane.getBoundingClientRect().left - view.getBoundingClientRect().left
    - view.clientLeft + view.scrollLeft;

  // What lets all of the picture be in the view: a height of rows, a width of cycles.
  const fitting = () => Math.min(usual.row,
    (parseFloat(getComputedStyle(view).maxHeight) - 40 * figure.dataset.heads) / lanes.length);
  function whole() {
    const cell = (view.clientWidth - margin()) / figure.dataset.cycles;
    return fitting() < usual.row ? Math.min(cell, usual.cell / 2) : cell;
  }

  // Rows are lower the more of the picture is to be in the view.
  function height(cell, least) {
    const way = Math.log(cell / least) / Math.log(usual.cell / least);
    return cell < usual.cell ? usual.row ** way * fitting() ** (1 - way) : usual.row;
  }

  function zoom(wanted, clientX) {
    const before = width();
    const least = Math.min(whole(), usual.cell);
    const cell = Math.min(64, Math.max(least, wanted));
    const row = height(cell, least);
    const box = view.getBoundingClientRect();
    const x = (clientX ?? (box.left + margin() + box.right) / 2) - box.left - view.clientLeft;
    const cycle = Math.max(0, view.scrollLeft + x - margin()) / before;
    const top = view.scrollTop / view.scrollHeight;
    view.style.setProperty("--cell", `${cell}px`);
    view.style.setProperty("--row", `${row}px`);
    view.classList.toggle("small", cell < 7);
    view.classList.toggle("tiny", cell < 3);
    view.classList.toggle("low", row < 12);
    view.scrollLeft = cycle * cell + margin() - x;
    view.scrollTop = top * view.scrollHeight;
  }

  // Several programs are compared as a whole first.
  function reset() {
    zoom(figure.dataset.heads > 2 ? whole() : usual.cell);
    view.scrollTo(0, 0);
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
    in: () => zoom(width() * 1.5),
    out: () => zoom(width() / 1.5),
    all: () => zoom(whole()),
    reset,
  };
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, a: actions.all, 0: reset,
    ArrowDown: () => step(1), ArrowUp: () => step(-1),
  };

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

  // The wheel scrolls the page until the picture has been clicked.
  view.addEventListener("wheel", (event) => {
    const pinched = event.ctrlKey || event.metaKey;
    if (event.shiftKey || !(pinched || document.activeElement === view)) return;
    const before = width();
    zoom(before * 2 ** (-event.deltaY * (event.deltaMode ? 16 : 1) / (pinched ? 150 : 300)), event.clientX);
    if (pinched || width() !== before) event.preventDefault();
  }, { passive: false });

  let dragged = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button || !event.target.closest("svg")) return;
    dragged = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", (event) => {
    const pointed = event.target.closest(".lane");
    if (dragged) view.scrollTo(dragged[0] - event.clientX, dragged[1] - event.clientY);
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
      zoom(pinch * apart(event.touches), between(event.touches));
    }, { passive: false });
  }

  for (const each of lanes) each.addEventListener("click", () => choose(each));
}
