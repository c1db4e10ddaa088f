// A report of a claim in a single file: the hops and the result, with the style of the page.

import { byId, downloadLink, element } from "./elements.js";

// Return a button that becomes a link to the report.
export function reportLink(claim) {
  const button = element(
    "button",
    {
      type: "button",
      click: async () => {
        const link = downloadLink("Download the report (HTML)", "report.html", "text/html", await report(claim));
        button.replaceWith(link);
        link.click();
        link.focus();
      },
    },
    "Download the report (HTML)",
  );
  return button;
}

async function report(claim) {
  const made = document.implementation.createHTMLDocument(`Evidence for: ${claim}`);
  made.documentElement.lang = "en";
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  const style = await (await fetch("page/page.css")).text();
  made.head.append(
    element("meta", { charset: "utf-8" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: policy }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
  );
  const parts = ["result", "hops-found", "documents-found"].map((id) => byId(id).cloneNode(true));
  const main = element("main", {}, element("h1", {}, claim), parts);
  for (const unusable of main.querySelectorAll("button, .exports")) unusable.remove();
  for (const link of main.querySelectorAll("a")) link.removeAttribute("href");
  for (const row of main.querySelectorAll("tr[tabindex]")) row.removeAttribute("tabindex");
  for (const lit of main.querySelectorAll(".lit")) lit.classList.remove("lit");
  main.append(element("p", { class: "muted" }, `Written by AdMIRaL on ${new Date().toISOString().slice(0, 10)}. The proofs are a program's and may be wrong.`));
  made.body.append(main);
  // As text, because the policy of this page allows no style elements.
  const html = made.documentElement.outerHTML.replace("</head>", () => `<style>\n${style}</style>\n</head>`);
  return `<!doctype html>\n${html}\n`;
}
