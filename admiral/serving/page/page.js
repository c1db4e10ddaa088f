// The page of the service: its forms, and the view of each address.

import { showHistory } from "./claim_history.js";
import { stopList } from "./claim_list.js";
import { showClaim, stop, submitClaims } from "./claim_view.js";
import { showDocument, showSearch } from "./document_view.js";
import { announce, announceError, byId, element } from "./elements.js";
import { chooseKb, listKbs, showUploads, upload } from "./knowledge_bases.js";
import { currentRoute } from "./routes.js";
import { showStart } from "./start_view.js";

const VIEWS = { claim: showClaim, document: showDocument, search: showSearch, upload: showUploads, history: showHistory };
const TITLES = { claim: "Check a claim", document: "Document", search: "Search", upload: "Your documents", history: "History" };
let view = null;
let address = null;
let origin = null; // from where a document was opened: the address and the link

async function show() {
  const route = currentRoute();
  const isChanged = view !== null && (view !== route.view || route.view === "document");
  if (route.view === "document" && isChanged && view !== "document") offerWayBack();
  const isBack = origin?.address === location.hash;
  view = route.view;
  address = location.hash;
  for (const name of Object.keys(VIEWS)) {
    byId(`view-${name}`).hidden = name !== view;
    const link = byId(`nav-${name}`);
    if (name === view) link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  }
  document.title = `${route.document ?? route.claim ?? TITLES[view]} – AdMIRaL`;
  if (isChanged) {
    announce("");
    byId(`view-${view}`).querySelector("h1").focus();
  }
  try {
    if (route.kb) chooseKb(route.kb);
    await VIEWS[view](route);
    if (isBack && isChanged && origin.link.isConnected) origin.link.focus();
  } catch (error) {
    announceError(error);
  }
}

// Before a document is shown, remember which link of which view leads to it.
function offerWayBack() {
  origin = { address, link: document.activeElement };
  byId("back").hidden = false;
  byId("back").href = address || "#";
  byId("back").textContent = { claim: "Back to the result", search: "Back to the search" }[view] ?? "Back";
}

byId("claim-form").addEventListener("submit", (event) => {
  event.preventDefault();
  submitClaims().catch(announceError);
});
byId("claim").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("claim-form").requestSubmit();
});
byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const address = `#${new URLSearchParams({ search: byId("query").value })}`;
  if (location.hash === address) show();
  else location.hash = address;
});
byId("upload-form").addEventListener("submit", (event) => {
  event.preventDefault();
  upload().catch(announceError);
});
byId("options").addEventListener("submit", (event) => event.preventDefault());
byId("kb").addEventListener("change", () => {
  if (!byId("start").hidden) showStart().catch(announceError);
});
byId("stop").addEventListener("click", stop);
byId("claims-stop").addEventListener("click", stopList);
// What was given last counts: a text or a file.
byId("claim").addEventListener("input", () => { byId("file").value = ""; });
byId("file").addEventListener("change", () => { byId("claim").value = ""; });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the view
  byId("main").focus();
});
byId("key").addEventListener("change", () => listKbs().then(show, announceError));
addEventListener("hashchange", show);
listKbs().then(show, announceError);
