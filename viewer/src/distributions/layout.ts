/**
 * Where the nodes of a decision tree or decision graph stand, from left to right.
 *
 * A tree is laid out by d3-hierarchy. A graph, where several branches may lead to one node, is layered here: a node
 * stands one column right of its farthest parent, long branches get a waypoint in every column they cross, and each
 * column is ordered by the mean place of its neighbours, a few sweeps forth and back (Sugiyama, Tagawa and Toda 1981).
 */

import { hierarchy, tree } from "d3-hierarchy";
import { isLeaf, type TreeLocal } from "../document.ts";

export interface Box {
  readonly id: number;
  readonly kind: "split" | "leaf" | "fold";
  /** Left edge and vertical centre. */
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Branch {
  readonly label: string;
  /** From the right edge of one box, through waypoints, to the left edge of another. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface Layout {
  readonly boxes: readonly Box[];
  readonly branches: readonly Branch[];
  readonly width: number;
  readonly height: number;
}

export interface Sizes {
  readonly split: readonly [width: number, height: number];
  readonly leaf: readonly [width: number, height: number];
  /** Between columns, between boxes of a column, and around all. */
  readonly column: number;
  readonly gap: number;
  readonly margin: number;
}

/** The splits whose branches are drawn: the first `limit` from the root on, and those a reader unfolded. */
export function openedSplits(local: TreeLocal, limit: number, unfolded: ReadonlySet<number>): Set<number> {
  const opened = new Set<number>();
  const queue = [local.root];
  for (let i = 0; i < queue.length; i++) {
    const node = local.nodes[queue[i]];
    if (node === undefined || isLeaf(node) || opened.has(queue[i])) continue;
    if (opened.size >= limit && !unfolded.has(queue[i])) continue;
    opened.add(queue[i]);
    for (const branch of node.branches) queue.push(branch.to);
  }
  return opened;
}

/** How many leaves a reader would find below a node. */
export function leavesBelow(local: TreeLocal, id: number): number {
  const [seen, stack] = [new Set([id]), [id]];
  let leaves = 0;
  while (stack.length > 0) {
    const node = local.nodes[stack.pop()!];
    if (isLeaf(node)) leaves++;
    else for (const { to } of node.branches) if (!seen.has(to)) seen.add(to) && stack.push(to);
  }
  return leaves;
}

export function layoutOf(local: TreeLocal, opened: ReadonlySet<number>, sizes: Sizes): Layout {
  const links = linksOf(local, opened);
  const targets = links.map((link) => link.to);
  const shared = new Set(targets).size < targets.length;
  const place = shared ? layered(local.root, links, kindOf, sizes) : treed(local.root, links, sizes);
  function kindOf(id: number): Box["kind"] {
    return isLeaf(local.nodes[id]) ? "leaf" : opened.has(id) ? "split" : "fold";
  }
  return framed(place, links, kindOf, sizes);
}

interface Link {
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

interface Placed {
  /** Column and vertical centre of each node. */
  readonly at: ReadonlyMap<number, { column: number; y: number }>;
  /** Waypoints of each link, by its index. */
  readonly through: ReadonlyMap<number, { column: number; y: number }[]>;
}

function linksOf(local: TreeLocal, opened: ReadonlySet<number>): Link[] {
  const links: Link[] = [];
  for (const id of opened) {
    const node = local.nodes[id];
    if (!isLeaf(node)) for (const { label, to } of node.branches) links.push({ from: id, to, label });
  }
  return links;
}

function treed(root: number, links: readonly Link[], sizes: Sizes): Placed {
  const children = new Map<number, number[]>();
  for (const { from, to } of links) children.set(from, [...(children.get(from) ?? []), to]);
  const laid = tree<number>()
    .nodeSize([sizes.leaf[1] + sizes.gap, 1])
    .separation((a, b) => (a.parent === b.parent ? 1 : 1.1))(hierarchy(root, (id) => children.get(id)));
  return {
    at: new Map(laid.descendants().map((node) => [node.data, { column: node.depth, y: node.x }])),
    through: new Map(),
  };
}

function layered(root: number, links: readonly Link[], kindOf: (id: number) => Box["kind"], sizes: Sizes): Placed {
  const column = columns(root, links);
  // Waypoints are nodes with negative ids, one for every column that a branch crosses.
  const steps: [number, number][] = [];
  const columnOf = new Map(column);
  const waypoints = new Map<number, number[]>();
  let next = -1;
  links.forEach((link, index) => {
    let previous = link.from;
    const own: number[] = [];
    for (let c = column.get(link.from)! + 1; c < column.get(link.to)!; c++) {
      columnOf.set(next, c);
      steps.push([previous, next]);
      own.push(next);
      previous = next--;
    }
    steps.push([previous, link.to]);
    waypoints.set(index, own);
  });
  const heightOf = (id: number) => (id < 0 ? 14 : kindOf(id) === "leaf" ? sizes.leaf[1] : sizes.split[1]) + sizes.gap;
  const y = settled(ordered(columnOf, steps), steps, heightOf);
  const spot = (id: number) => ({ column: columnOf.get(id)!, y: y.get(id)! });
  return {
    at: new Map([...column.keys()].map((id) => [id, spot(id)])),
    through: new Map([...waypoints].map(([index, own]) => [index, own.map(spot)])),
  };
}

/** The longest path from the root to each node. */
export function columns(root: number, links: readonly { from: number; to: number }[]): Map<number, number> {
  const [children, waiting] = [new Map<number, number[]>(), new Map<number, number>()];
  for (const { from, to } of links) {
    children.set(from, [...(children.get(from) ?? []), to]);
    waiting.set(to, (waiting.get(to) ?? 0) + 1);
  }
  const column = new Map([[root, 0]]);
  const ready = [root];
  for (let i = 0; i < ready.length; i++) {
    for (const child of children.get(ready[i]) ?? []) {
      column.set(child, Math.max(column.get(child) ?? 0, column.get(ready[i])! + 1));
      waiting.set(child, waiting.get(child)! - 1);
      if (waiting.get(child) === 0) ready.push(child);
    }
  }
  if ([...waiting.values()].some((count) => count > 0)) throw new Error("The decision graph has a loop.");
  return column;
}

/** Nodes of each column, from top to bottom, with few crossings. */
function ordered(columnOf: ReadonlyMap<number, number>, steps: readonly [number, number][]): number[][] {
  const layers: number[][] = [];
  for (const [id, c] of columnOf) (layers[c] ??= []).push(id);
  const [before, after] = neighbours(steps);
  for (let sweep = 0; sweep < 8; sweep++) {
    const forth = sweep % 2 === 0;
    const place = new Map<number, number>();
    for (const layer of layers) for (const [i, id] of layer.entries()) place.set(id, i / Math.max(1, layer.length - 1));
    for (const layer of forth ? layers : [...layers].reverse()) {
      const mean = new Map(layer.map((id) => [id, average((forth ? before : after).get(id), place) ?? place.get(id)!]));
      layer.sort((a, b) => mean.get(a)! - mean.get(b)!);
      for (const [i, id] of layer.entries()) place.set(id, i / Math.max(1, layer.length - 1));
    }
  }
  return layers;
}

/** Vertical centres: near the mean of the neighbours, in the given order, without overlap. */
function settled(layers: readonly number[][], steps: readonly [number, number][], heightOf: (id: number) => number) {
  const y = new Map<number, number>();
  for (const layer of layers) {
    let top = 0;
    for (const id of layer) {
      y.set(id, top + heightOf(id) / 2);
      top += heightOf(id);
    }
    for (const id of layer) y.set(id, y.get(id)! - top / 2);
  }
  const [before, after] = neighbours(steps);
  for (let sweep = 0; sweep < 10; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = layer.map((id) => average([...(before.get(id) ?? []), ...(after.get(id) ?? [])], y) ?? y.get(id)!);
      const got = apart(wanted, layer.map(heightOf));
      layer.forEach((id, i) => y.set(id, got[i]));
    }
  }
  return y;
}

/** Centres as near as can be to those wanted (least squares), in order, each box clear of the next. */
export function apart(wanted: readonly number[], heights: readonly number[]): number[] {
  // Without the heights before each box this is isotonic regression: pool neighbours that violate the order.
  const offsets = heights.map((_, i) => heights.slice(0, i).reduce((a, b) => a + b, 0) + heights[i] / 2);
  const pools: { sum: number; count: number }[] = [];
  for (const [i, want] of wanted.entries()) {
    pools.push({ sum: want - offsets[i], count: 1 });
    while (pools.length > 1) {
      const [a, b] = pools.slice(-2);
      if (a.sum / a.count <= b.sum / b.count) break;
      pools.splice(-2, 2, { sum: a.sum + b.sum, count: a.count + b.count });
    }
  }
  return pools.flatMap(({ sum, count }) => Array<number>(count).fill(sum / count)).map((base, i) => base + offsets[i]);
}

function neighbours(steps: readonly [number, number][]): [Map<number, number[]>, Map<number, number[]>] {
  const [before, after] = [new Map<number, number[]>(), new Map<number, number[]>()];
  for (const [from, to] of steps) {
    before.set(to, [...(before.get(to) ?? []), from]);
    after.set(from, [...(after.get(from) ?? []), to]);
  }
  return [before, after];
}

function average(ids: readonly number[] | undefined, value: ReadonlyMap<number, number>): number | null {
  return ids && ids.length > 0 ? ids.reduce((sum, id) => sum + value.get(id)!, 0) / ids.length : null;
}

/** Boxes and branches in pixels, from the upper left corner on. */
function framed(placed: Placed, links: readonly Link[], kindOf: (id: number) => Box["kind"], sizes: Sizes): Layout {
  const highest = Math.min(...[...placed.at].map(([id, { y }]) => y - boxSize(kindOf(id), sizes)[1] / 2));
  const top = highest - sizes.margin;
  const left = (column: number) => sizes.margin + column * (sizes.split[0] + sizes.column);
  const boxes = [...placed.at].map(([id, { column, y }]): Box => {
    const [w, h] = boxSize(kindOf(id), sizes);
    return { id, kind: kindOf(id), x: left(column), y: y - top, w, h };
  });
  const boxOf = new Map(boxes.map((box) => [box.id, box]));
  const branches = links.map(({ from, to, label }, index): Branch => {
    const [a, b] = [boxOf.get(from)!, boxOf.get(to)!];
    const through = (placed.through.get(index) ?? []).flatMap(({ column, y }) => [
      { x: left(column), y: y - top },
      { x: left(column) + sizes.split[0], y: y - top },
    ]);
    return { label, points: [{ x: a.x + a.w, y: a.y }, ...through, { x: b.x, y: b.y }] };
  });
  return {
    boxes,
    branches,
    width: Math.max(...boxes.map((box) => box.x + box.w)) + sizes.margin,
    height: Math.max(...boxes.map((box) => box.y + box.h / 2)) + sizes.margin,
  };
}

function boxSize(kind: Box["kind"], sizes: Sizes): readonly [number, number] {
  return kind === "leaf" ? sizes.leaf : sizes.split;
}
