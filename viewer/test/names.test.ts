import assert from "node:assert/strict";
import { test } from "node:test";
import { arcLook, lookOf } from "../src/look.ts";
import { type Box, type Disc, placeNames, Room } from "../src/names.ts";
import { Network } from "../src/network.ts";
import { LIGHT } from "../src/palette.ts";
import { smallDocument } from "./small.ts";

const view = { width: 400, height: 300, covered: [] as Box[] };
const disc = { x: 100, y: 100, r: 10 };

/** Where a name of 50 pixels beside `own` begins, among other discs. */
const placed = (own: Disc, others: readonly Disc[], needed = false, covered: Box[] = []) =>
  new Room({ ...view, covered }, [own, ...others]).take(own, 50, needed);

test("a name stands right of its disc, or left, below, above, or between them, where it is free", () => {
  const [right, left] = [{ x: 130, y: 100, r: 10 }, { x: 70, y: 100, r: 10 }]; // prettier-ignore
  const [below, above] = [{ x: 100, y: 125, r: 10 }, { x: 100, y: 75, r: 10 }]; // prettier-ignore
  assert.ok(placed(disc, [])!.x > 110);
  assert.ok(placed(disc, [right])!.x + 50 < 90);
  assert.ok(placed(disc, [right, left])!.y > 110);
  assert.ok(placed(disc, [right, left, below])!.y < 90);
  const [narrow, corner] = [[right, left, below, above].map((other) => ({ ...other, r: 2 })), { x: 107.5, y: 118.5 }];
  assert.deepEqual(placed(disc, narrow), corner);
  assert.equal(placed(disc, [right, left, below, above]), null);
  assert.deepEqual(placed(disc, [right, left, below, above], true), placed(disc, [])); // it must be written
});

test("a hub's name covers smaller discs rather than being left out", () => {
  const crowd = Array.from({ length: 400 }, (_, i) => ({ x: 12 * (i % 20), y: 12 * Math.floor(i / 20), r: 4 }));
  assert.notEqual(placed(disc, crowd), null);
  assert.equal(placed({ ...disc, r: 4 }, crowd), null);
});

test("a name keeps within the view and clear of what lies over it", () => {
  assert.ok(placed({ x: 380, y: 100, r: 5 }, [])!.x < 340);
  assert.equal(placed({ x: 200, y: 2, r: 5 }, [])!.y > 5, true); // not beside it, where the view ends
  const legend = { left: 100, top: 80, right: 300, bottom: 120 };
  assert.ok(placed(disc, [], false, [legend])!.x + 50 < 100);
  const others = [{ x: 350, y: 0, r: 30 }, { x: 399, y: 20, r: 9 }]; // prettier-ignore
  const forced = placed({ x: 399, y: 1, r: 5 }, others, true)!;
  assert.ok(forced.x >= 0 && forced.x + 50 <= 400 && forced.y > 0);
});

test("of the free places a name takes the one that the fewest arcs go through", () => {
  const across = [{ x: 100, y: 100 }, { x: 300, y: 105 }] as const; // prettier-ignore
  const left = [{ x: 100, y: 100 }, { x: 0, y: 90 }] as const; // prettier-ignore
  const down = [{ x: 100, y: 100 }, { x: 110, y: 280 }] as const; // prettier-ignore
  const beside = (...lines: (readonly [Disc | { x: number; y: number }, { x: number; y: number }])[]) =>
    new Room(view, [disc], lines).take(disc, 50, false)!;
  assert.ok(beside(across).x + 50 < 100);
  assert.ok(beside(across, left).y > 110);
  assert.ok(beside(across, left, down).y < 90);
  const up = [{ x: 60, y: 80 }, { x: 130, y: 84 }] as const; // prettier-ignore
  assert.deepEqual(beside(across, left, down, up), { x: 107.5, y: 118.5 }); // below it, to the right
  const level = (y: number) => [{ x: 0, y }, { x: 400, y }] as const; // prettier-ignore
  assert.deepEqual(beside(across, left, level(115), level(85)), beside());
});

test("a name keeps away from others' discs where there is room", () => {
  const near = { x: 168 + 10, y: 100, r: 7 }; // two pixels from the end of a name on the right
  assert.ok(placed(disc, [near])!.x + 50 < 90);
});

test("two names do not take the same place", () => {
  const [a, b] = [{ x: 100, y: 100, r: 5 }, { x: 102, y: 101, r: 5 }]; // prettier-ignore
  const room = new Room(view, []);
  const [first, second] = [room.take(a, 60, false)!, room.take(b, 60, false)!];
  assert.ok(first.x > 100 && second.x < 100);
});

const network = new Network(smallDocument());
const stage = { ...view, arcs: [], disc: (v: number) => ({ x: 30 + 70 * v, y: 150, r: 5 }), widthOf: () => 30 };

const names = (selected: number | null, evidence: [number, number][] = [], changes = {}) => {
  const shown = network.arcCount;
  const arcs = arcLook(network, LIGHT, null);
  const given = new Map(evidence);
  const look = lookOf({ network, palette: LIGHT, arcs, shown, selected, evidence: given, change: null });
  return [...placeNames(network, look, network.byDegree, { ...stage, ...changes }).keys()];
};

test("names find their places in the order of what a reader looks for", () => {
  assert.deepEqual(names(null), [2, 0, 3, 1, 4]); // by the number of arcs
  assert.deepEqual(names(1), [1, 2, 0]); // the selected one, and its neighbours; nobody else speaks
  assert.deepEqual(names(1, [[4, 0]]), [1, 4, 2, 0]);
});

test("a small screen has room for few names, and for those that must be written", () => {
  const column = (v: number) => ({ x: 40, y: 20 + 22 * v, r: 5 });
  assert.deepEqual(names(null, [], { width: 90, height: 130, disc: column }), [2, 0]);
  const heap = { disc: () => ({ x: 40, y: 60, r: 5 }), widthOf: () => 390 };
  assert.deepEqual(names(3, [[4, 0], [0, 0]], heap), [3, 0, 4]); // prettier-ignore
});

test("who is out of sight is not named", () => {
  assert.deepEqual(names(2, [], { disc: () => ({ x: -5, y: 60, r: 5 }) }), []);
});
