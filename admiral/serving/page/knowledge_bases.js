// The knowledge bases to choose from, and those that are made of files of one's own.

import { read, request } from "./api.js";
import { announce, announceError, byId, element } from "./elements.js";
import { routeTo } from "./routes.js";

const PAUSE = 400; // milliseconds between two questions for the progress
const MEGABYTE = 1e6;
let limits = null;
let followed = null; // the upload whose progress is shown

export async function listKbs() {
  const { kbs, uploads } = await read("v1/kbs");
  const chosen = byId("kb").value;
  const options = kbs.map((kb) => element("option", { value: kb.name, selected: kb.name === chosen }, `${kb.name} (${kb.documents.toLocaleString()})`));
  byId("kb").replaceChildren(...options);
  byId("nav-upload").hidden = byId("start-upload").hidden = !uploads;
}

export function chooseKb(name) {
  const known = [...byId("kb").options].some((option) => option.value === name);
  if (!known) throw new Error(`There is no knowledge base “${name}” here. Choose another one.`);
  byId("kb").value = name;
}

// Show the form and the knowledge bases of one's own.
export async function showUploads() {
  limits = await read("v1/uploads");
  byId("upload-limits").textContent = `At most ${limits.most_files.toLocaleString()} files and ${limits.most_bytes / MEGABYTE} MB together.`;
  byId("uploads").replaceChildren(...limits.uploads.map(line));
  byId("uploads-heading").hidden = !limits.uploads.length;
  const going = limits.uploads.find(isGoing);
  if (going && !followed) await follow(going);
}

const isGoing = ({ state }) => state === "waiting" || state === "running";

// Send the files of the form, and show what becomes of them.
export async function upload() {
  const files = [...byId("upload-files").files];
  if (!files.length) throw new Error("There is no file. Choose one or several.");
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (files.length > limits.most_files || size > limits.most_bytes) throw new Error("The files are too many or too large. Choose fewer.");
  const body = new FormData();
  body.append("name", byId("upload-name").value.trim());
  for (const file of files) body.append("files", file);
  byId("upload-start").disabled = true;
  announce(`Sending ${count(files.length, "file")}.`);
  try {
    const begun = await (await request("v1/uploads", { method: "POST", body })).json();
    byId("upload-form").reset();
    await follow(begun);
  } finally {
    byId("upload-start").disabled = false;
  }
}

async function follow(upload) {
  const bar = byId("upload-progress");
  followed = upload.kb;
  let told = null;
  try {
    while (isGoing(upload)) {
      bar.hidden = false;
      bar.max = upload.files;
      if (upload.stage === "reading") bar.value = upload.done;
      else bar.removeAttribute("value"); // how long it takes is not known
      const progress = step(upload);
      if (progress !== told && !byId("view-upload").hidden) announce(progress);
      told = progress;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      upload = await read(`v1/uploads/${encodeURIComponent(upload.kb)}`);
    }
  } catch (error) {
    if (error.status === 404) return; // it was deleted
    throw error;
  } finally {
    followed = null;
    bar.hidden = true;
  }
  await listKbs();
  await showUploads();
  if (byId("view-upload").hidden) return;
  if (upload.state === "failed") throw new Error(`${upload.kb}: ${upload.problem}.`);
  announce(`Complete: ${summary(upload)}`);
  document.getElementById(`upload-${upload.kb}`)?.focus();
}

function step({ state, stage, done, files }) {
  if (state === "waiting") return "Other uploads come first.";
  const words = { indexing: "Making the index.", graph: "Making the graph of mentions.", opening: "Opening the knowledge base." };
  return words[stage] ?? `Reading: ${done} of ${count(files, "file")}.`;
}

const count = (number, word) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;

function summary({ files, documents, left_out: left }) {
  if (!files) return ""; // of an earlier run of the service
  return `${count(documents, "document")}${left.length ? `, ${count(left.length, "file")} left out` : ""}.`;
}

function line(upload) {
  const { kb, state, problem, left_out: left } = upload;
  const words = state === "failed" ? `Failed: ${problem}.` : isGoing(upload) ? step(upload) : summary(upload);
  const name = state === "complete" ? element("a", { href: routeTo({ kb }), id: `upload-${kb}` }, `Check claims against ${kb}`) : kb;
  const reasons = left.map(({ file, reason }) => element("li", {}, `${file}: ${reason}`));
  return element(
    "li",
    {},
    element("p", {}, name, element("span", { class: state === "failed" ? "warning" : "muted" }, ` ${words} `), deleteButton(kb)),
    left.length ? element("details", {}, element("summary", {}, `${count(left.length, "file")} left out`), element("ul", {}, reasons)) : null,
  );
}

// Return a button that deletes when it is pressed twice.
function deleteButton(kb) {
  const remove = async () => {
    await request(`v1/uploads/${encodeURIComponent(kb)}`, { method: "DELETE" });
    await listKbs();
    await showUploads();
    announce(`${kb} was deleted.`);
    byId("heading-upload").focus();
  };
  const ask = (event) => {
    const sure = element("button", { type: "button", class: "warning", click: () => remove().catch(announceError) }, `Delete ${kb} for good`);
    event.currentTarget.replaceWith(sure);
    sure.focus();
  };
  return element("button", { type: "button", "aria-label": `Delete ${kb}`, click: ask }, "Delete");
}
