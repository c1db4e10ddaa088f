// Retrieval for a claim, hop by hop.

import { announce } from "./elements.js";
import { events, post, problemError } from "./api.js";

// Return the record of a claim, its text, and the events of its hops, each of which `onHop` gets
// with the one before it; `onStage` gets what the stages do.
export async function retrieve({ claim, hops, kb }, signal, onHop = () => {}, onStage = () => {}) {
  const body = { claim, hops: hops === "dynamic" ? hops : Number(hops), ...(kb ? { kb } : {}) };
  const found = new Map();
  for await (const [name, record, text] of events(await postPatiently("v1/retrieve/stream", body, signal))) {
    if (name === "problem") throw problemError(record);
    if (name === "stage") {
      onStage(record.stage);
      continue;
    }
    if (name !== "hop") return { record, text: `${text}\n`, hops: [...found.values()] };
    found.set(record.number, record);
    onHop(record, found.get(record.number - 1));
  }
  throw new Error("The connection was closed. Try again.");
}

// Post a request, again and again while the service has no place for it and says when it may.
async function postPatiently(path, body, signal) {
  for (;;) {
    try {
      return await post(path, body, signal);
    } catch (error) {
      const seconds = [429, 503].includes(error.status) ? error.retryAfter : 0;
      if (!seconds) throw error;
      announce(`Waiting ${seconds} s: ${error.message}`);
      await pause(seconds, signal);
    }
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
