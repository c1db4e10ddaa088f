// A drawing of the documents of the hops, with an arrow from a document to each that it led to.

import { element, svgElement } from "./elements.js";
import { documentRoute } from "./routes.js";

const SETS = 3;
const [WIDTH, HEIGHT, GAP, COLUMN] = [190, 36, 10, 252];
const LONGEST = 22;

// Return the documents by title, each with the hop that found it, and the arrows between them.
function documentsAndArrows(hops) {
  const documents = new Map();
  const arrows = new Map();
  const add = (title, hop) => documents.has(title) || documents.set(title, { title, hop });
  for (const hop of hops) {
    for (const sentence of hop.evidence) add(sentence.title, hop.number);
    for (const { titles } of hop.number > 1 ? hop.document_sets.slice(0, SETS) : []) {
      titles.forEach((title) => add(title, hop.number));
      const last = titles.at(-1);
      for (const from of titles.slice(0, -1)) arrows.set(JSON.stringify([from, last]), { from, to: last });
    }
  }
  const kept = new Set((hops.at(-1)?.evidence ?? []).map((sentence) => sentence.title));
  for (const each of documents.values()) each.evidence = kept.has(each.title);
  return { documents: [...documents.values()], arrows: [...arrows.values()] };
}

export function documentGraph(hops) {
  const { documents, arrows } = documentsAndArrows(hops);
  if (!documents.length) return [element("p", {}, "No document was found.")];
  const places = new Map();
  const columns = Map.groupBy(documents, (each) => each.hop);
  [...columns].forEach(([, members], column) =>
    members.forEach((each, row) => places.set(each.title, { x: column * COLUMN + 4, y: 28 + row * (HEIGHT + GAP) })),
  );
  const width = (columns.size - 1) * COLUMN + WIDTH + 40;
  const height = 36 + Math.max(...[...columns.values()].map((members) => members.length)) * (HEIGHT + GAP);
  const drawing = svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Documents by the hop that found them" },
    svgElement("defs", {}, svgElement("marker", { id: "arrow-head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svgElement("path", { d: "M0 0L8 4L0 8z" }))),
    [...columns.keys()].map((hop, column) => svgElement("text", { class: "column", x: column * COLUMN + 4, y: 16 }, `Hop ${hop}`)),
    arrows.map(({ from, to }) => svgElement("path", { class: "arrow", d: curve(places.get(from), places.get(to)), "marker-end": "url(#arrow-head)" })),
    documents.map((each) => box(each, places.get(each.title))),
  );
  const lines = arrows.map(({ from, to }) => element("li", {}, link(from), " led to ", link(to)));
  return [
    element(
      "div",
      { class: "drawing" },
      element("div", { class: "scroll" }, drawing),
      element("p", { class: "muted" }, "A bold frame marks documents of the final evidence."),
    ),
    lines.length ? element("ul", { class: "arrows" }, lines) : element("p", {}, "No document led to another one."),
  ];
}

const link = (title) => element("a", { href: documentRoute(title) }, title);

function box({ title, evidence }, { x, y }) {
  const shown = title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title;
  return svgElement(
    "a",
    { href: documentRoute(title) },
    svgElement("title", {}, title),
    svgElement("rect", { class: evidence ? "box evidence" : "box", x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    svgElement("text", { x: x + 10, y: y + HEIGHT / 2 + 5 }, shown),
  );
}

// Return the path of an arrow: from the right edge to the left one, or around within a column.
function curve(from, to) {
  const [startX, startY, endY] = [from.x + WIDTH, from.y + HEIGHT / 2, to.y + HEIGHT / 2];
  if (to.x <= from.x) {
    const endX = to.x + WIDTH;
    return `M${startX} ${startY}C${startX + 34} ${startY} ${endX + 34} ${endY} ${endX} ${endY}`;
  }
  const middle = (startX + to.x) / 2;
  return `M${startX} ${startY}C${middle} ${startY} ${middle} ${endY} ${to.x} ${endY}`;
}
