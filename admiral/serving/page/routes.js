// Addresses of the views, in the part of the address that is never sent: #claim=..., #document=...

import { byId } from "./elements.js";

const VIEWS = ["claim", "document", "search", "upload", "history"];

// Return the view of the address and its parameters.
export function currentRoute() {
  const parameters = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const view = VIEWS.find((name) => name in parameters) ?? "claim";
  return { view, ...parameters };
}

export function routeTo(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  return `#${new URLSearchParams(given)}`;
}

// Return the address of a claim, with the settings of the form.
export function claimAddress(claim) {
  return routeTo({ claim, hops: byId("hops").value, kb: byId("kb").value });
}

export function documentRoute(title, sentence) {
  return routeTo({ document: title, kb: byId("kb").value, sentence });
}
