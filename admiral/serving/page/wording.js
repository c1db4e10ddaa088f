// Operators, verdicts and reasons in words. Symbols and line styles differ, not only colours.

// The phrases of proofs.NatOp.
const PHRASES = {
  "=": "says the same as",
  "!": "is refuted by",
  "|": "contradicts",
  "#": "is not covered by the evidence",
  "<": "rests on",
  ">": "is more specific than",
};
const KINDS = {
  "=": "agrees",
  "<": "agrees",
  "!": "contradicts",
  "|": "contradicts",
  ">": "open",
  "#": "open",
};
const SYMBOLS = { agrees: "✓", contradicts: "✗", open: "?" };
// The names of proofs.Verdict.
const VERDICT_WORDS = { SUPPORTS: "Supported", REFUTES: "Refuted", "NOT ENOUGH INFO": "Not enough evidence" };
const VERDICT_KINDS = { SUPPORTS: "agrees", REFUTES: "contradicts", "NOT ENOUGH INFO": "open" };
const REASONS = {
  sufficient: "The search stopped because the evidence is sufficient.",
  max_hops: "The search stopped after its last hop.",
  dead_end: "The search stopped because no further document was found.",
};

export const operatorPhrase = (operator) => PHRASES[operator] ?? operator;
export const operatorKind = (operator) => KINDS[operator] ?? "open";
export const kindSymbol = (kind) => SYMBOLS[kind];
// What a record says of its claim: the words of its verdict, or why there is none.
export function verdictWords({ verdict, warnings }) {
  return verdict ? verdict.words.replace(/^./, (first) => first.toUpperCase()) : ["No verdict.", ...(warnings ?? [])].join(" ");
}
export const verdictWord = (label) => VERDICT_WORDS[label];
export const verdictKind = (verdict) => (verdict?.leaning ? "open" : (VERDICT_KINDS[verdict?.label] ?? "open"));
export const stopReason = (stopped) => REASONS[stopped] ?? stopped;
// With a limit, show enough digits that a smaller share reads as smaller.
export function percent(share, limit = 2) {
  const digits = [0, 1, 2, 3, 4].find((count) => Number((100 * share).toFixed(count)) < 100 * limit) ?? 0;
  return `${(100 * share).toFixed(digits)}%`;
}
