import assert from "node:assert/strict";
import { test } from "node:test";
import { compareDocuments } from "../src/compare.ts";
import { rawDocument, smallDocument } from "./small.ts";

const first = smallDocument();

test("arcs are in one, in the other or in both", () => {
  const second = smallDocument({ arcs: { from: [2, 0, 2], to: [1, 2, 3], strength: [8, 4, 2] }, slider_start: 3 });
  const { document, sides, counts } = compareDocuments(first, second);
  const named = document.arcs.from.map((from, i) => `${from}>${document.arcs.to[i]} ${sides[i]}`);
  assert.deepEqual(named, ["0>2 both", "2>1 second", "1>2 first", "2>3 both", "0>3 first"]);
  assert.deepEqual(counts, { first: 2, second: 1, both: 2, reversed: 1 });
});

test("a document is the same as itself", () => {
  const { counts, strangers, document } = compareDocuments(first, first);
  assert.deepEqual(counts, { first: 0, second: 0, both: 4, reversed: 0 });
  assert.deepEqual(strangers, []);
  assert.equal(document.sliderStart, first.sliderStart);
});

test("edges have no direction, and one directed model does not give them one", () => {
  const turned = { from: [2, 2, 3, 3], to: [0, 1, 2, 0], strength: [9, 7, 5, 1] };
  const second = smallDocument({ kind: "mn", directed: false, arcs: turned });
  assert.deepEqual(compareDocuments(first, second).counts, { first: 0, second: 0, both: 4, reversed: 0 });
  assert.equal(compareDocuments(first, second).document.directed, false);
});

test("variables are matched by name, and strangers are named", () => {
  const raw = rawDocument();
  const variables = (raw.variables as { name: string }[]).map((v) => ({ ...v })).reverse();
  variables[0].name = "new";
  const arcs = { from: [4], to: [2], strength: [1] }; // rain > wet, counted from the other end
  const { document, counts, strangers } = compareDocuments(first, smallDocument({ variables, arcs, slider_start: 1 }));
  assert.equal(counts.both, 1);
  assert.deepEqual(strangers, ["alone", "new"]);
  assert.equal(document.variables.length, 6);
  assert.equal(document.positions.length, 6);
});

test("names that were cut alike are told apart by their place", () => {
  const variables = (rawDocument().variables as { name: string }[]).map((v) => ({ ...v, name: "the same beginning…" }));
  const same = smallDocument({ variables });
  assert.deepEqual(compareDocuments(same, same).counts, { first: 0, second: 0, both: 4, reversed: 0 });
});
