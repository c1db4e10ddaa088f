// Requests of the page to the API.

import { byId } from "./elements.js";

// Return the response to a request; a problem record becomes an error.
export async function request(path, options = {}) {
  const key = byId("key").value;
  const headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  if (response.status === 401) {
    for (const each of document.querySelectorAll(".key")) each.hidden = false;
    byId("key").focus();
  }
  const { status } = response;
  const unknown = { status, detail: `The service answered with status ${status}`, remedy: "Try again later" };
  const problem = await response.json().catch(() => unknown);
  throw Object.assign(problemError(problem), { retryAfter: Number(response.headers.get("Retry-After")) });
}

export function problemError({ status, detail, remedy }) {
  return Object.assign(new Error(`${detail}. ${remedy}.`), { status });
}

export async function read(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return (await request(query ? `${path}?${query}` : path)).json();
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

// Yield the server-sent events of a response as [name, record, text of the record].
export async function* events(response) {
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
      if (match) yield [match[1], JSON.parse(match[2]), match[2]];
    }
  }
}
