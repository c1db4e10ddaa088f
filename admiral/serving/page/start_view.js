// The start of the page: what it does, and examples to click.

import { read } from "./api.js";
import { byId, element } from "./elements.js";
import { claimAddress, documentRoute } from "./routes.js";

// Show claims of the knowledge base, or how to write one.
export async function showStart() {
  byId("start").hidden = false;
  const { claims, titles } = await read("v1/examples", { kb: byId("kb").value });
  const link = (address, words) => element("li", {}, element("a", { href: address }, words));
  byId("examples").replaceChildren(...(claims.length ? claims.map((claim) => link(claimAddress(claim), claim)) : titles.map((title) => link(documentRoute(title), title))));
  byId("examples-heading").textContent = claims.length ? "Examples" : "Documents to make claims about";
  byId("examples-help").textContent = claims.length
    ? "Some of these claims are true, and some are false."
    : "A claim is a statement that names what it is about, such as “The Eastern Bridge was opened in 1932.”, and no question.";
}
