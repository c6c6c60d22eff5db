import assert from "node:assert/strict";
import { test } from "node:test";
import { DocumentError, readDocument } from "../src/document.ts";
import { rawDocument, smallDocument } from "./small.ts";

test("a document is read whole", () => {
  const document = smallDocument();
  assert.equal(document.variables[2].name, "wet");
  assert.equal(document.sliderStart, 3);
  assert.equal(document.evidence, true);
  assert.equal(smallDocument({ evidence: false }).evidence, false);
});

test("a document without variables or arcs is one too", () => {
  const empty = smallDocument({
    variables: [],
    positions: [],
    arcs: { from: [], to: [], strength: [] },
    locals: [],
    slider_start: 0,
  });
  assert.equal(empty.variables.length, 0);
});

test("the slider starts within the arcs", () => {
  assert.equal(smallDocument({ slider_start: 99 }).sliderStart, 4);
  assert.equal(smallDocument({ slider_start: -1 }).sliderStart, 0);
});

test("an unknown marginal is null, and locals may be left out", () => {
  const variables = rawDocument().variables as Record<string, unknown>[];
  const document = smallDocument({ variables: variables.map((v) => ({ ...v, marginal: [] })), locals: null });
  assert.equal(document.variables[0].marginal, null);
  assert.equal(document.locals, null);
});

const faults: [string, Record<string, unknown>, RegExp][] = [
  ["another format", { format: "netlist" }, /not a Quiltwork view.*"netlist"/],
  ["a later version", { version: 2 }, /version 2 and this page reads version 1/],
  ["an arc to nowhere", { arcs: { from: [0], to: [9], strength: [1] } }, /variable 9, and there are 5/],
  ["an arc to half a variable", { arcs: { from: [0.5], to: [1], strength: [1] } }, /variable 0.5/],
  ["columns of different length", { arcs: { from: [0, 1], to: [1], strength: [1] } }, /equally long/],
  ["a strength that is no number", { arcs: { from: [0], to: [1], strength: [null] } }, /must be numbers, not null/],
  ["too few positions", { positions: [[0, 0]] }, /5 variables but 1 positions/],
  ["too few local distributions", { locals: [] }, /5 variables but 0 local distributions/],
  ["variables that are no list", { variables: "all" }, /variables must be a list/],
  ["a blanket with a stranger", { blankets: [[7], [], [], [], []] }, /variable 7/],
  ["too few blankets", { blankets: [[1]] }, /5 variables but 1 blankets/],
];

for (const [name, change, message] of faults) {
  test(`refused: ${name}`, () => {
    assert.throws(
      () => readDocument(rawDocument(change)),
      (error: Error) => error instanceof DocumentError && message.test(error.message),
    );
  });
}

test("refused: no document at all", () => {
  for (const value of [null, undefined, 3, "text", []]) assert.throws(() => readDocument(value), DocumentError);
});
