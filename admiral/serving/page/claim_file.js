// Claims from a file: one a line, or the column `claim` of a CSV file.

const SEPARATORS = [",", ";", "\t"];

export async function claimsOf(file) {
  const text = decoded(await file.arrayBuffer(), file.name);
  const lines = /\.csv$/i.test(file.name) ? column(text, file.name) : text.split(/\r?\n/);
  const claims = lines.map((line) => line.trim()).filter(Boolean);
  if (!claims.length) throw new Error(`The file ${file.name} has no claims. Choose another one.`);
  return claims;
}

function decoded(bytes, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`The file ${name} is not UTF-8. Save it as text or CSV in UTF-8.`);
  }
}

function column(text, name) {
  const tables = SEPARATORS.map((separator) => cells(text, separator));
  const table = tables.find(([heads]) => heads.includes("claim"));
  if (!table) throw new Error(`The file ${name} has no column “claim”. Name the column of the claims so in its first line.`);
  const [heads, ...rows] = table;
  return rows.map((row) => row[heads.indexOf("claim")] ?? "");
}

// Return the rows of a CSV file; cells in quotation marks may have separators and line breaks.
function cells(text, separator) {
  const cell = new RegExp(`("(?:[^"]|"")*"|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, "gy");
  const rows = [[]];
  for (const [, value, end] of text.matchAll(cell)) {
    rows.at(-1).push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (!end) break;
    if (end !== separator) rows.push([]);
  }
  return rows;
}
