// The page of the service. All texts are untrusted: they become text nodes, never HTML.

// The phrases of proofs.NatOp.
const OPERATORS = {
  "=": "says the same as",
  "!": "is refuted by",
  "|": "contradicts",
  "#": "is not covered by the evidence",
  "<": "follows from",
  ">": "is more specific than",
};
const VERDICTS = {
  SUPPORTS: "The evidence supports the claim.",
  REFUTES: "The evidence refutes the claim.",
  "NOT ENOUGH INFO": "The evidence is not enough for a verdict.",
};

const byId = (id) => document.getElementById(id);
let running = null;

// Return an element with attributes and with children, which are nodes or texts.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

async function request(path, options = {}) {
  const key = byId("key").value;
  const headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const problem = await response.json();
  if (response.status === 401) for (const each of document.querySelectorAll(".key")) each.hidden = false;
  throw new Error(`${problem.detail}. ${problem.remedy}.`);
}

// Yield the events of a response as [name, record].
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const match = /^event: (\w+)\ndata: (.*)$/s.exec(block);
      if (match) yield [match[1], JSON.parse(match[2])];
    }
  }
}

async function find(event) {
  event?.preventDefault();
  running?.abort();
  const controller = new AbortController();
  running = controller;
  const claim = byId("claim").value.trim();
  const hops = byId("hops").value;
  byId("hops-found").replaceChildren();
  byId("result").replaceChildren();
  byId("result").hidden = true;
  byId("stop").hidden = false;
  byId("status").textContent = "Searching for documents…";
  history.replaceState(null, "", `#claim=${encodeURIComponent(claim)}`);
  const body = { claim, hops: hops === "dynamic" ? hops : Number(hops) };
  if (byId("kb").value) body.kb = byId("kb").value;
  try {
    const response = await request("v1/retrieve/stream", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    let complete = false;
    for await (const [name, record] of events(response)) {
      if (name === "hop") showHop(record);
      else if (name === "result") showResult(record);
      else throw new Error(`${record.detail}. ${record.remedy}.`);
      complete = name === "result";
    }
    if (!complete) throw new Error("The connection was closed. Try again.");
  } catch (error) {
    if (running === controller) {
      byId("status").textContent = controller.signal.aborted ? "Stopped." : `Error: ${error.message}`;
    }
  } finally {
    if (running === controller) byId("stop").hidden = true;
  }
}

function showHop(hop) {
  const id = `hop-${hop.number}`;
  const panel = element("section", { class: "panel", id, "aria-label": `Hop ${hop.number}` });
  panel.append(element("h2", {}, `Hop ${hop.number}`));
  const sets = hop.document_sets.slice(0, 3).map((set) => set.titles.join(" + "));
  if (sets.length) panel.append(element("p", { class: "muted" }, `Document sets: ${sets.join("; ")}`));
  const left = element("div", {}, element("h3", {}, "Evidence"), ...evidence(hop));
  const right = element("div", {}, element("h3", {}, "Proof"), proofTable(hop, panel));
  if (hop.missing?.length) {
    right.append(element("h3", {}, "Missing"), element("ul", {}, ...hop.missing.map((m) => element("li", {}, m))));
  }
  panel.append(element("div", { class: "columns" }, left, right));
  const earlier = byId(id);
  if (earlier) earlier.replaceWith(panel);
  else byId("hops-found").append(panel);
  const missing = hop.missing?.length ? ` Missing: ${hop.missing.join("; ")}.` : "";
  byId("status").textContent = `Hop ${hop.number} is complete.${missing}`;
}

// Return the evidence of a hop, grouped by document, with the quotations of the proof marked.
function evidence(hop) {
  const quoted = (hop.proof ?? []).map((step) => step.evidence);
  const groups = new Map();
  for (const sentence of hop.evidence) {
    if (!groups.has(sentence.title)) groups.set(sentence.title, []);
    groups.get(sentence.title).push(sentence);
  }
  return [...groups].map(([title, sentences]) =>
    element(
      "article",
      {},
      element("h4", {}, titleButton(title)),
      ...sentences.map((sentence) => element("p", {}, ...marked(sentence.text, quoted))),
    ),
  );
}

// Split a text into texts and <mark> elements; each names the steps that quote it.
function marked(text, quoted) {
  const found = [];
  quoted.forEach((quotation, step) => {
    const start = quotation ? text.indexOf(quotation) : -1;
    if (start >= 0) found.push({ start, end: start + quotation.length, step });
  });
  const edges = [...new Set([0, text.length, ...found.flatMap((f) => [f.start, f.end])])].sort((a, b) => a - b);
  return edges.slice(1).map((end, index) => {
    const part = text.slice(edges[index], end);
    const steps = found.filter((f) => f.start < end && f.end > edges[index]).map((f) => f.step);
    return steps.length ? element("mark", { "data-steps": steps.join(" ") }, part) : part;
  });
}

function proofTable(hop, panel) {
  if (!hop.proof) return element("p", {}, "No proof.");
  const light = (step, on) => () => {
    for (const mark of panel.querySelectorAll("mark")) {
      if (mark.dataset.steps.split(" ").includes(String(step))) mark.classList.toggle("lit", on);
    }
  };
  const rows = hop.proof.map((step, number) => {
    const row = element(
      "tr",
      { tabindex: "0" },
      element("td", {}, step.claim),
      element("td", {}, `${OPERATORS[step.operator]} (${step.operator})`),
      element("td", {}, step.evidence || "–"),
    );
    for (const name of ["mouseenter", "focus"]) row.addEventListener(name, light(number, true));
    for (const name of ["mouseleave", "blur"]) row.addEventListener(name, light(number, false));
    return row;
  });
  const heads = ["Claim", "Relation", "Evidence"].map((head) => element("th", { scope: "col" }, head));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

function showResult(record) {
  const { label, probabilities } = record.verdict ?? {};
  const probability = probabilities ? ` Probability: ${Math.round(100 * probabilities[label])}%.` : "";
  const verdict = label ? `${VERDICTS[label] ?? label}${probability}` : "There is no verdict.";
  const file = URL.createObjectURL(new Blob([`${JSON.stringify(record)}\n`], { type: "application/json" }));
  const link = element("a", { href: file, download: "result.json" }, "Download the record");
  const documents = record.documents.slice(0, 10).map((d) => element("li", {}, titleButton(d.title)));
  byId("result").replaceChildren(
    element("h2", {}, "Result"),
    element("p", {}, element("strong", {}, verdict)),
    ...(record.warnings ?? []).map((warning) => element("p", {}, `Warning: ${warning}`)),
    element("h3", {}, "Ranking"),
    element("ol", {}, ...documents),
    element("p", {}, link),
  );
  byId("result").className = "panel";
  byId("result").hidden = false;
  byId("status").textContent = `Complete after ${record.hops.length} hops. ${verdict}`;
}

function titleButton(title) {
  return element("button", { type: "button", class: "title", onclick: () => showDocument(title) }, title);
}

async function showDocument(title) {
  const kb = byId("kb").value;
  const query = kb ? `?kb=${encodeURIComponent(kb)}` : "";
  try {
    const response = await request(`v1/documents/${encodeURIComponent(title)}${query}`);
    const record = await response.json();
    byId("document-title").textContent = record.title;
    byId("sentences").replaceChildren(...record.sentences.map((s) => element("li", {}, s)));
    byId("document").showModal();
  } catch (error) {
    byId("status").textContent = `Error: ${error.message}`;
  }
}

async function listKbs() {
  const { kbs } = await (await request("v1/kbs")).json();
  const options = kbs.map((kb) => element("option", { value: kb.name }, `${kb.name} (${kb.documents})`));
  byId("kb").replaceChildren(...options);
}

byId("form").addEventListener("submit", find);
byId("stop").addEventListener("click", () => running?.abort());
byId("key").addEventListener("change", () => listKbs().catch(() => {}));

const given = new URLSearchParams(location.hash.slice(1)).get("claim");
if (given) byId("claim").value = given;
addEventListener("hashchange", () => location.reload());
listKbs().then(
  () => given && find(),
  (error) => { byId("status").textContent = `Error: ${error.message}`; },
);
