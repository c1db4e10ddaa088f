// The form that sends a page to be audited, and the progress of its audit.

import { post, read } from "./api.js";
import { announce, announceError, byId } from "./elements.js";

const PAUSE = 400; // milliseconds between two questions for the progress

const later = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

async function start() {
  const [file] = byId("file").files;
  const text = file ? await file.text() : byId("text").value;
  if (!text.trim()) throw new Error("There is no page. Paste one, or choose a file.");
  byId("start").disabled = true;
  byId("result").hidden = true;
  try {
    const body = { text, title: byId("title").value.trim(), format: byId("format").value };
    await follow(await (await post("v1/audits", body)).json());
  } finally {
    byId("start").disabled = false;
    byId("progress").hidden = true;
  }
}

async function follow(audit) {
  const bar = byId("progress");
  bar.max = audit.statements;
  bar.hidden = false;
  while (audit.state === "waiting" || audit.state === "running") {
    bar.value = audit.done;
    announce(audit.state === "waiting" ? "Other pages come first." : `${audit.done} of ${audit.statements} statements`);
    await later();
    audit = await read(`v1/audits/${audit.id}`);
  }
  if (audit.state === "failed") throw new Error(audit.problem);
  announce(`Complete: ${audit.statements} statements.`);
  byId("audit").href = audit.address.slice(1);
  byId("result").hidden = false;
  byId("audit").focus();
}

byId("audit-form").addEventListener("submit", (event) => {
  event.preventDefault();
  start().catch(announceError);
});
byId("file").addEventListener("change", () => {
  const [file] = byId("file").files;
  if (file && !byId("title").value) {
    byId("title").value = file.name.replace(/\.\w+$/, "").replaceAll("_", " ");
  }
});
byId("options").addEventListener("submit", (event) => event.preventDefault());
