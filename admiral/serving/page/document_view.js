// The views of a document and of a search.

import { read } from "./api.js";
import { announce, byId, element, units } from "./elements.js";
import { documentRoute } from "./routes.js";

// Show a document; `sentence`, if given, is the number of a sentence to emphasise.
export async function showDocument({ document: title, sentence }) {
  byId("document-title").textContent = title;
  byId("document-source").textContent = "";
  byId("sentences").replaceChildren();
  const record = await read(`v1/documents/${encodeURIComponent(title)}`, { kb: byId("kb").value });
  byId("document-source").textContent = record.source ?? "";
  const items = record.sentences.map((text, number) => {
    const section = record.sections?.[number];
    const isNamed = String(number) === sentence;
    return element(
      "li",
      { class: isNamed ? "named" : null, "aria-current": isNamed ? "true" : null, value: number },
      section && section !== record.sections[number - 1] ? element("p", { class: "muted" }, section) : null,
      text,
    );
  });
  byId("sentences").replaceChildren(...items);
  byId("sentences").querySelector(".named")?.scrollIntoView({ block: "center" });
  announce(`${record.title}: ${record.sentences.length} sentences.`);
}

// Show the titles that begin with a text, and the documents that BM25 finds for it.
export async function showSearch({ search: query }) {
  byId("query").value = query;
  byId("search-results").replaceChildren();
  if (!query.trim()) return;
  const kb = byId("kb").value;
  const [{ titles }, { results }] = await Promise.all([
    read("v1/titles", { prefix: query, limit: 5, kb }),
    read("v1/search", { q: query, k: 20, kb }),
  ]);
  const link = (title, sentence, words = title) => element("a", { href: documentRoute(title, sentence ?? undefined) }, words);
  const found = results.map(({ title, sentence_id: sentence, text, matches }) =>
    element("li", {}, link(title, sentence, marked(title, matches.title)), text ? element("p", {}, marked(text, matches.text)) : null),
  );
  byId("search-results").replaceChildren(
    ...(titles.length ? [element("h2", {}, "Titles"), element("ul", {}, titles.map((title) => element("li", {}, link(title))))] : []),
    element("h2", {}, "Documents"),
    found.length ? element("ol", {}, found) : element("p", {}, "No document has these words."),
  );
  announce(`${titles.length} titles and ${results.length} documents.`);
}

// Return the parts of a text, with <mark> elements for those between the given characters.
function marked(text, spans) {
  let from = 0;
  const parts = spans.flatMap(([start, end]) => {
    const [first, last] = [units(text, start), units(text, end)];
    const before = text.slice(from, first);
    from = last;
    return [before, element("mark", {}, text.slice(first, last))];
  });
  return [...parts, text.slice(from)];
}
