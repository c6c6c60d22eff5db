/** A small document to test with: rain and sprinkler wet the grass, and wet grass is slippery. */

import { FORMAT, VERSION, type ViewDocument, readDocument } from "../src/document.ts";

export function rawDocument(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const variable = (name: string) => ({ name, states: ["no", "yes"], marginal: [0.75, 0.25], numeric: null });
  return {
    format: FORMAT,
    version: VERSION,
    kind: "bn",
    title: "Bayesian network",
    directed: true,
    summary: { variables: 5, arcs: 4, parameters: 9, rows: null },
    strength: { name: "score lost without the arc", unit: "nats" },
    notes: [],
    variables: ["rain", "sprinkler", "wet", "slippery", "alone"].map(variable),
    positions: [
      [0, 1],
      [1, 1],
      [0.5, 0.5],
      [0.5, 0],
      [0, 0],
    ],
    arcs: { from: [0, 1, 2, 0], to: [2, 2, 3, 3], strength: [9, 7, 5, 1] },
    slider_start: 3,
    blankets: null,
    locals: Array.from({ length: 5 }, () => ({ type: "none", reason: "" })),
    ...changes,
  };
}

export function smallDocument(changes: Record<string, unknown> = {}): ViewDocument {
  return readDocument(rawDocument(changes));
}
