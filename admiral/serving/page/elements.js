// Elements of the page. All texts are untrusted: they become text nodes, never HTML.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

// Return an element with attributes and with children, which are nodes or texts.
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svgElement(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

// Return the number of JavaScript's units before a character, of which some take two.
export const units = (text, place) => [...text].slice(0, place).join("").length;

// Show a message, which screen readers read.
export function announce(message, isError = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("error", isError);
}

export function announceError(error) {
  announce(`Error: ${error.message}`, true);
}

// Return a file that a link can offer, and the link.
export function downloadLink(words, name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  return element("a", { href: address, download: name }, words);
}
