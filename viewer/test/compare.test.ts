import assert from "node:assert/strict";
import { test } from "node:test";
import { compareDocuments } from "../src/compare.ts";
import { arcLook } from "../src/look.ts";
import { Network } from "../src/network.ts";
import { LIGHT } from "../src/palette.ts";
import { rolesOf, rolesOfKind } from "../src/roles.ts";
import { rawDocument, smallDocument } from "./small.ts";

const first = smallDocument();

test("arcs are in one, in the other or in both", () => {
  const second = smallDocument({ arcs: { from: [2, 0, 2], to: [1, 2, 3], strength: [8, 4, 2] }, slider_start: 3 });
  const { document, sides, counts } = compareDocuments(first, second);
  const named = document.arcs.from.map((from, i) => `${from}>${document.arcs.to[i]} ${sides[i]}`);
  assert.deepEqual(named, ["0>2 both", "2>1 second", "1>2 first", "2>3 both", "0>3 first"]);
  assert.deepEqual(counts, { first: 2, second: 1, both: 2, reversed: 1 });
});

test("an arc stands at its place among the arcs of its own model, whatever its strength there", () => {
  const second = smallDocument({ arcs: { from: [3, 2], to: [1, 3], strength: [4000, 1000] }, slider_start: 2 });
  const { document, sides } = compareDocuments(first, second);
  assert.equal(document.ranked, true);
  assert.deepEqual(document.arcs.strength, [1, 1, 2, 2, 4]);
  assert.deepEqual(sides, ["first", "second", "first", "both", "first"]);
  assert.equal(document.arcs.from[3], 2); // third of the first, second of the second
});

test("the models are called by their files, or by their order", () => {
  const named = (name: string) => smallDocument({ name });
  const files = compareDocuments(named("a.qw"), named("b.qw"));
  assert.deepEqual([files.models[0].called, files.models[1].called], ["a.qw", "b.qw"]);
  assert.equal(files.document.title, "a.qw beside b.qw");
  const kinds = compareDocuments(first, smallDocument({ title: "Markov network" }));
  assert.deepEqual([kinds.models[0].called, kinds.models[1].called], ["the first", "the second"]);
  assert.equal(kinds.document.title, "Bayesian network beside Markov network");
  assert.equal(compareDocuments(named("a.qw"), named("a.qw")).models[1].called, "the second");
});

test("roles and blankets of one model say nothing of both", () => {
  const { document } = compareDocuments(smallDocument({ kind: "dn" }), smallDocument({ kind: "mn", directed: false }));
  const network = new Network(document);
  assert.deepEqual(Object.fromEntries(rolesOf(network, 3, 4)), { 0: "joined", 2: "joined" });
  assert.equal(network.blanket(3), null);
  assert.deepEqual(rolesOfKind(document.kind, document.directed), ["joined"]);
});

test("arcs of the second are dashed, and two that are turned round stand aside of each other", () => {
  const second = smallDocument({ arcs: { from: [2, 1], to: [0, 2], strength: [2, 1] }, slider_start: 2 });
  const { document, sides } = compareDocuments(first, second);
  const { dashed, aside, compared } = arcLook(new Network(document), LIGHT, sides);
  const told = sides.map((side, rank) => [`${document.arcs.from[rank]}>${document.arcs.to[rank]}`, side]);
  assert.deepEqual(told.slice(0, 3), [["0>2", "first"], ["2>0", "second"], ["1>2", "both"]]); // prettier-ignore
  assert.deepEqual([...dashed].slice(0, 3), [0, 1, 0]);
  assert.deepEqual([...aside].slice(0, 3), [1, 1, 0]);
  assert.equal(compared, true);
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
  const second = smallDocument({ variables, arcs, slider_start: 1 });
  const { document, counts, strangers, models } = compareDocuments(first, second);
  assert.equal(counts.both, 1);
  assert.deepEqual(strangers, ["alone", "new"]);
  assert.equal(document.variables.length, 6);
  assert.deepEqual(models[0].own, [0, 1, 2, 3, 4, undefined]);
  assert.deepEqual(models[1].own, [4, 3, 2, 1, undefined, 0]); // the other way round
  assert.deepEqual(models[1].joint, [5, 3, 2, 1, 0]);
  assert.equal(document.positions.length, 6);
});

test("names that were cut alike are told apart by their place", () => {
  const variables = (rawDocument().variables as { name: string }[]).map((v) => ({ ...v, name: "the same beginning…" }));
  const same = smallDocument({ variables });
  assert.deepEqual(compareDocuments(same, same).counts, { first: 0, second: 0, both: 4, reversed: 0 });
});
