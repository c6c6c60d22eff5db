import assert from "node:assert/strict";
import { test } from "node:test";
import { Network } from "../src/network.ts";
import { rolesOf, rolesOfKind } from "../src/roles.ts";
import { smallDocument } from "./small.ts";

const [RAIN, SPRINKLER, WET, SLIPPERY, ALONE] = [0, 1, 2, 3, 4];
const network = (changes = {}) => new Network(smallDocument(changes));
const roles = (changes: object, v: number, shown = 4) => Object.fromEntries(rolesOf(network(changes), v, shown));

test("a Bayesian network shows parents, children and spouses", () => {
  assert.deepEqual(roles({}, WET), { [RAIN]: "parent", [SPRINKLER]: "parent", [SLIPPERY]: "child" });
  assert.deepEqual(roles({}, SPRINKLER), { [WET]: "child", [RAIN]: "spouse" });
  assert.deepEqual(roles({}, ALONE), {});
});

test("a parent that is also a spouse is called a parent", () => {
  assert.equal(roles({}, WET)[RAIN], "parent");
});

test("arcs beyond the slider light nobody up", () => {
  assert.deepEqual(roles({}, SLIPPERY, 2), {});
  assert.deepEqual(roles({}, SLIPPERY, 3), { [WET]: "parent" });
});

test("a dependency network shows who predicts whom", () => {
  const arcs = { from: [0, 2, 2, 3], to: [2, 0, 3, 1], strength: [4, 3, 2, 1] };
  assert.deepEqual(roles({ kind: "dn", arcs }, WET), { [RAIN]: "both", [SLIPPERY]: "predicted" });
  assert.deepEqual(roles({ kind: "dn", arcs }, SLIPPERY), { [WET]: "predicts", [SPRINKLER]: "predicted" });
});

test("an undirected model has neighbours", () => {
  assert.deepEqual(roles({ kind: "mn", directed: false }, WET), { 0: "neighbour", 1: "neighbour", 3: "neighbour" });
});

test("a hybrid field has a blanket and relatives outside it", () => {
  const blankets = [[2], [2], [0, 1], [], []];
  const relatives = [[2, 3], [], [0, 1], [], []];
  assert.deepEqual(roles({ kind: "hrf", blankets, relatives }, RAIN), { [WET]: "blanket", [SLIPPERY]: "relative" });
});

test("the legend names the roles that occur", () => {
  assert.deepEqual(rolesOfKind("dn", true), ["predicts", "predicted", "both"]);
  assert.deepEqual(rolesOfKind("gbn", true), ["parent", "child", "spouse"]);
  assert.deepEqual(rolesOfKind("hrf-mean", true), ["blanket", "relative"]);
  assert.deepEqual(rolesOfKind("tree", false), ["neighbour"]);
});

test("blankets follow from the arcs", () => {
  assert.deepEqual(network().blanket(SPRINKLER), [RAIN, WET]);
  assert.deepEqual(network().blanket(WET), [RAIN, SPRINKLER, SLIPPERY]);
  assert.deepEqual(network({ kind: "dn" }).blanket(WET), [RAIN, SPRINKLER]);
  assert.deepEqual(network({ kind: "mn", directed: false }).blanket(SLIPPERY), [RAIN, WET]);
  assert.deepEqual(network({ blankets: [[4], [], [], [], []] }).blanket(RAIN), [ALONE]);
});

test("models that only rank have no blanket, nor has one whose arcs are not all here", () => {
  for (const kind of ["nb", "gmf", "itemrank", "latent", "stack", "something new"])
    assert.equal(network({ kind, directed: false }).blanket(WET), null);
  assert.equal(network({ summary: { arcs: 60_000 } }).blanket(WET), null);
});

test("partners come strongest first, and once each", () => {
  assert.deepEqual(
    network()
      .partners(RAIN)
      .map((p) => [p.variable, p.direction]),
    [
      [WET, "out"],
      [SLIPPERY, "out"],
    ],
  );
  const arcs = { from: [0, 2, 2], to: [2, 3, 0], strength: [3, 2, 1] };
  assert.deepEqual(network({ kind: "dn", arcs }).joined(WET), [
    { variable: RAIN, rank: 0, direction: "both" },
    { variable: SLIPPERY, rank: 1, direction: "out" },
  ]);
  assert.equal(network().degree(RAIN), 2);
});
