import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, columns, layoutOf, leavesBelow, openedSplits, type Sizes } from "../src/distributions/layout.ts";
import { isLeaf, type TreeLocal, type TreeNode } from "../src/document.ts";

const sizes: Sizes = { split: [100, 40], leaf: [120, 60], column: 50, gap: 10, margin: 20 };
function local(type: "tree" | "graph", nodes: TreeNode[]): TreeLocal {
  const leaves = nodes.filter(isLeaf).length;
  return { type, root: 0, nodes, shown: leaves, total: leaves };
}

const leaf: TreeNode = { leaf: true, probs: [0.5, 0.5], cases: 3 };
const split = (a: number, b: number): TreeNode => ({
  split: 0,
  state: 1,
  branches: [
    { label: "= yes", to: a },
    { label: "≠ yes", to: b },
  ],
});

const tree = local("tree", [split(1, 2), leaf, split(3, 4), leaf, leaf]);
const graph = local("graph", [split(1, 2), split(3, 4), split(4, 3), leaf, leaf]);
const skipping = local("graph", [split(1, 3), split(2, 3), split(3, 4), leaf, leaf]);

function checkBoxes(drawn: TreeLocal): ReturnType<typeof layoutOf> {
  const layout = layoutOf(drawn, openedSplits(drawn, 99, new Set()), sizes);
  assert.equal(layout.boxes.length, drawn.nodes.length);
  for (const a of layout.boxes) {
    assert.ok(a.x >= 20 && a.y - a.h / 2 >= 20 - 1e-9 && a.x + a.w <= layout.width && a.y + a.h / 2 <= layout.height);
    for (const b of layout.boxes) {
      if (a.id < b.id && a.x === b.x) assert.ok(Math.abs(a.y - b.y) >= (a.h + b.h) / 2 - 1e-9, `${a.id} over ${b.id}`);
    }
  }
  return layout;
}

test("a tree's boxes stand apart, children right of their parents", () => {
  const layout = checkBoxes(tree);
  const x = new Map(layout.boxes.map((box) => [box.id, box.x]));
  assert.ok(x.get(0)! < x.get(2)! && x.get(2)! < x.get(3)!);
  assert.equal(layout.branches.length, 4);
  for (const { points } of layout.branches) assert.ok(points[0].x < points[points.length - 1].x);
});

test("a graph's shared node is drawn once, right of all its parents", () => {
  const layout = checkBoxes(graph);
  const box = (id: number) => layout.boxes.find((b) => b.id === id)!;
  assert.equal(box(1).x, box(2).x);
  assert.ok(box(3).x > box(1).x);
  assert.equal(layout.branches.length, 6);
});

test("a branch that crosses columns has a waypoint in each", () => {
  const layout = checkBoxes(skipping);
  const longest = Math.max(...layout.branches.map((branch) => branch.points.length));
  assert.equal(longest, 2 + 2 * 2); // from the root past two columns
});

test("a single leaf is a tree", () => {
  const alone = local("tree", [leaf]);
  assert.deepEqual(checkBoxes(alone).branches, []);
});

test("a column is the longest path from the root", () => {
  const links = [
    [0, 1],
    [1, 2],
    [0, 2],
    [2, 3],
    [0, 3],
  ].map(([from, to]) => ({ from, to }));
  assert.deepEqual(
    [...columns(0, links)],
    [
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  );
});

test("a loop is refused", () => {
  assert.throws(
    () =>
      columns(0, [
        { from: 0, to: 1 },
        { from: 1, to: 2 },
        { from: 2, to: 1 },
      ]),
    /loop/,
  );
});

test("deep trees are folded, and unfold where a reader asks", () => {
  const chain: TreeNode[] = [];
  for (let i = 0; i < 100; i++) chain.push(split(2 * i + 1, 2 * i + 2), leaf);
  chain.push(leaf);
  const whole = local("tree", chain);
  const opened = openedSplits(whole, 10, new Set());
  assert.equal(opened.size, 10);
  const layout = layoutOf(whole, opened, sizes);
  const folds = layout.boxes.filter((box) => box.kind === "fold");
  assert.deepEqual(
    folds.map((box) => box.id),
    [20],
  );
  assert.equal(leavesBelow(whole, 20), 91);
  assert.equal(openedSplits(whole, 10, new Set([20])).size, 11);
});

test("boxes are moved apart as little as can be", () => {
  assert.deepEqual(apart([0, 0], [10, 10]), [-5, 5]);
  assert.deepEqual(apart([0, 100], [10, 10]), [0, 100]);
  assert.deepEqual(apart([5, 5, 5], [2, 4, 2]), [2, 5, 8]);
});
