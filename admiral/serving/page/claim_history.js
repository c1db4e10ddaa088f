// The claims of this browser, kept in its local storage and sent nowhere.

import { announce, byId, element } from "./elements.js";
import { routeTo } from "./routes.js";

const KEY = "admiral.history";
const MOST = 50;

function entries() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(stored) ? stored.filter((each) => typeof each?.claim === "string") : [];
  } catch {
    return []; // damaged, or the browser keeps nothing
  }
}

function store(list) {
  try {
    localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)));
  } catch {
    // The browser keeps nothing, or its storage is full; the page works without a history.
  }
}

const same = (one, other) => ["claim", "kb", "hops"].every((field) => one[field] === other[field]);

// Add a claim with what was said of it in front of the others.
export function remember(entry) {
  store([{ ...entry, time: new Date().toISOString() }, ...entries().filter((each) => !same(each, entry))]);
}

export function showHistory() {
  const list = entries();
  if (!list.length) {
    byId("history-entries").replaceChildren(element("p", {}, "There are no claims yet."));
    return;
  }
  const forget = (entry) => () => {
    store(entries().filter((each) => !same(each, entry)));
    showHistory();
    announce("The claim was removed.");
    byId("heading-history").focus();
  };
  const items = list.map((entry) =>
    element(
      "li",
      {},
      element("a", { href: routeTo({ claim: entry.claim, hops: entry.hops, kb: entry.kb }) }, entry.claim),
      element("p", { class: "muted" }, `${entry.said ?? ""} ${new Date(entry.time).toLocaleString()}`),
      element("button", { type: "button", "aria-label": `Remove: ${entry.claim}`, click: forget(entry) }, "Remove"),
    ),
  );
  const clear = () => {
    store([]);
    showHistory();
    announce("The history was cleared.");
    byId("heading-history").focus();
  };
  byId("history-entries").replaceChildren(
    element("ol", { class: "history" }, items),
    element("button", { type: "button", click: clear }, "Clear the history"),
  );
}
