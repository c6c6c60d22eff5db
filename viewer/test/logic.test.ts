import assert from "node:assert/strict";
import { test } from "node:test";
import { configuration } from "../src/distributions/table.ts";
import { rowsOf } from "../src/distributions/tree.ts";
import { informative } from "../src/distributions/weights.ts";
import type { ViewDocument } from "../src/document.ts";
import { counted, figure, isolated, percent, short } from "../src/dom.ts";
import { type Answer, mostChanged, mostChangedState, Questions, shift, shifts } from "../src/evidence.ts";
import { arcLook, lookOf, penFor } from "../src/look.ts";
import { Network } from "../src/network.ts";
import { channels, contrast, DARK, LIGHT, mix, premultiplied } from "../src/palette.ts";
import { findVariables, folded } from "../src/search.ts";
import { curve } from "../src/slider.ts";
import type { Marginals, Source } from "../src/source.ts";
import { arrowLength, networkScene } from "../src/view.ts";
import { stepTo } from "../src/walk.ts";
import { smallDocument } from "./small.ts";

// Finding

test("names that begin with the words come first", () => {
  const names = ["Heart rate", "Start", "art", "Art school", "the art"].map(folded);
  assert.deepEqual(findVariables(names, "ART"), [2, 3, 4, 1, 0]);
  assert.deepEqual(findVariables(names, "  "), []);
  assert.deepEqual(findVariables(names, "none"), []);
  assert.deepEqual(findVariables(["résumé"].map(folded), "resume"), [0]);
  assert.equal(findVariables(Array(50).fill("x"), "x").length, 12);
});

// Tables and weights

test("configurations count up with the last parent fastest", () => {
  assert.deepEqual(
    [0, 1, 2, 5].map((row) => configuration(row, [2, 3])),
    [
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 2],
    ],
  );
  assert.deepEqual(configuration(0, []), []);
});

test("a column of weights is shown when it says something", () => {
  const weights = (...rows: number[][]) => rows.map((weight) => ({ variable: 0, weight }));
  assert.deepEqual(informative([-1, 1], weights([-2, 2])), [1]);
  assert.deepEqual(informative([0, 1], weights([0, 2])), [1]);
  assert.deepEqual(informative([1, 1], weights([2, -1])), [0, 1]);
  assert.deepEqual(informative([1, 2, 3], weights([0, 0, 1])), [0, 1, 2]);
  assert.deepEqual(informative([0, 0], []), [1]);
});

test("a leaf shows the likeliest states, and the rest together", () => {
  const states = ["a", "b", "c", "d", "e", "f", "g"];
  const marginal = [0.05, 0.3, 0.05, 0.2, 0.1, 0.25, 0.05];
  const document = smallDocument({
    variables: Array.from({ length: 5 }, (_, i) => ({ name: `v${i}`, states, marginal, numeric: null })),
  });
  const nodes = [{ leaf: true as const, probs: marginal, cases: 1 }];
  const rows = rowsOf(document, 0, { type: "tree", root: 0, nodes, shown: 1, total: 1 });
  assert.deepEqual(
    rows.map((row) => row.label),
    ["b", "d", "e", "f", "3 others"],
  );
  assert.deepEqual(rows.flatMap((row) => row.states).sort(), [0, 1, 2, 3, 4, 5, 6]);
});

// Evidence

const found = (marginals: number[][]): Marginals => ({
  marginals,
  method: "exact",
  converged: true,
  error: null,
  note: "",
});

test("how far a variable moved", () => {
  const { variables } = smallDocument();
  assert.equal(shift(variables[0], [0.75, 0.25]), 0);
  assert.equal(shift(variables[0], [0.25, 0.75]), 0.5);
  assert.equal(shift(variables[0], undefined), 0);
  const number = { name: "x", states: [], marginal: null, numeric: { mean: 2, deviation: 4 } };
  assert.equal(shift(number, [3, 1]), 0.25);
  assert.equal(shift(number, [99, 1]), 1);
  const marginals = [
    [0.75, 0.25],
    [0, 1],
    [0.5, 0.5],
    [0.7, 0.3],
    [0.75, 0.25],
  ];
  assert.deepEqual(mostChanged(shifts(smallDocument(), found(marginals)), new Map([[1, 1]]), 5), [2, 3]);
  assert.equal(mostChangedState([0.2, 0.3, 0.5], [0.2, 0.6, 0.2]), 1);
});

test("only the answer to the latest question is told", async () => {
  const waiting: ((answer: Marginals) => void)[] = [];
  const source = { marginals: () => new Promise<Marginals>((resolve) => waiting.push(resolve)) } as unknown as Source;
  const told: Answer[] = [];
  const questions = new Questions(source, (answer) => told.push(answer));
  const first = questions.ask(new Map([[0, 0]]));
  const second = questions.ask(new Map([[0, 1]]));
  waiting[1](found([[0, 1]]));
  waiting[0](found([[1, 0]]));
  await Promise.all([first, second]);
  assert.deepEqual(
    told.map((answer) => answer.state),
    ["asking", "asking", "found"],
  );
  assert.deepEqual(told[2].state === "found" && told[2].marginals.marginals, [[0, 1]]);
});

test("a question that was asked anew is given up", async () => {
  const signals: AbortSignal[] = [];
  const marginals = (_: unknown, signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<Marginals>(() => {});
  };
  const questions = new Questions({ marginals } as unknown as Source, () => {});
  void questions.ask(new Map([[0, 0]]));
  void questions.ask(new Map([[0, 1]]));
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false]); // prettier-ignore
  void questions.ask(new Map()); // nothing is given any more
  assert.equal(signals[1].aborted, true);
});

test("a refusal is told in its own words", async () => {
  const source = { marginals: () => Promise.reject(new Error("That cannot be.")) } as unknown as Source;
  const told: Answer[] = [];
  await new Questions(source, (answer) => told.push(answer)).ask(new Map([[0, 0]]));
  assert.deepEqual(told[1], { state: "refused", reason: "That cannot be." });
});

// Looks

const look = (document: ViewDocument, changes: object = {}) => {
  const network = new Network(document);
  const arcs = arcLook(network, LIGHT, null);
  const shown = network.arcCount;
  return lookOf({
    network,
    palette: LIGHT,
    arcs,
    shown,
    selected: null,
    evidence: new Map(),
    change: null,
    ...changes,
  });
};

test("a selected variable's neighbours take the colours of their roles, the rest fades", () => {
  const seen = look(smallDocument(), { selected: 1 });
  assert.equal(seen.nodeColor[1], LIGHT.ink);
  assert.equal(seen.nodeColor[2], LIGHT.roles.child);
  assert.equal(seen.nodeColor[0], LIGHT.roles.spouse);
  assert.deepEqual([...seen.faded], [0, 0, 0, 1, 1]);
  assert.deepEqual([...seen.named], [0, 1, 0, 0, 0]);
  assert.ok(seen.nodeAlpha[3] < 0.5 && seen.nodeAlpha[0] === 1);
  assert.ok(seen.fade < 1);
  const focus = Object.fromEntries([...seen.focus].map(([rank, { color }]) => [rank, color]));
  assert.deepEqual(focus, { 0: LIGHT.roles.spouse, 1: LIGHT.roles.child }); // the spouse's arc to the child, and its own
});

test("arcs beyond the slider are not in focus", () => {
  const arcs = { from: [0, 2], to: [2, 0], strength: [2, 1] };
  const ranks = (shown: number) => [...look(smallDocument({ kind: "dn", arcs }), { selected: 2, shown }).focus.keys()];
  assert.deepEqual([ranks(2), ranks(1), ranks(0)], [[0, 1], [0], []]);
});

test("nothing selected: nothing fades", () => {
  const seen = look(smallDocument());
  assert.equal(seen.fade, 1);
  assert.equal(seen.focus.size, 0);
  assert.deepEqual([...seen.faded], [0, 0, 0, 0, 0]);
});

test("evidence keeps its colour, and what it changed is warmer", () => {
  const seen = look(smallDocument(), { evidence: new Map([[0, 1]]), change: Float64Array.from([0.5, 0, 0.6, 0, 0]) });
  assert.equal(seen.nodeColor[0], LIGHT.evidence);
  assert.equal(seen.nodeColor[1], LIGHT.node);
  assert.notEqual(seen.nodeColor[2], LIGHT.node);
});

test("stronger arcs are wider, and compared arcs keep the colour of their side in focus", () => {
  const network = new Network(smallDocument());
  const arcs = arcLook(network, LIGHT, ["both", "first", "second", "first"]);
  assert.ok(arcs.width[0] > arcs.width[3] && arcs.alpha[0] > arcs.alpha[3]);
  assert.equal(arcs.color[1], LIGHT.sides.first);
  assert.equal(look(smallDocument(), { arcs, selected: 1 }).focus.get(1)!.color, LIGHT.sides.first);
});

test("a network of one variable, or of none, has a look", () => {
  const variable = { name: "only", states: ["a"], marginal: [1], numeric: null };
  const one = {
    variables: [variable],
    positions: [[0.5, 0.5]],
    arcs: { from: [], to: [], strength: [] },
    locals: null,
  };
  assert.ok(Number.isFinite(look(smallDocument(one), { selected: 0 }).nodeSize[0]));
  assert.equal(look(smallDocument({ ...one, variables: [], positions: [] })).nodeColor.length, 0);
});

test("the picture holds the shown arcs, and every variable in sight", () => {
  const network = new Network(smallDocument());
  const disc = (v: number) => ({
    x: 400 * network.document.positions[v][0],
    y: 300 * network.document.positions[v][1],
    r: 5,
  });
  const frame = { width: 400, height: 300, thickness: 1, disc, names: new Map([[2, { x: 1, y: 1 }]]) };
  const kinds = (shown: number, selected: number | null = null) =>
    networkScene(network, look(smallDocument(), { shown, selected }), shown, frame).shapes.map((shape) => shape.shape);
  assert.equal(kinds(4).filter((kind) => kind === "line").length, 4);
  assert.equal(kinds(4, 2).filter((kind) => kind === "line").length, 4);
  assert.equal(kinds(1).filter((kind) => kind === "path").length, 1);
  assert.equal(kinds(0).filter((kind) => kind === "group").length, 5);
  const far = { ...frame, disc: () => ({ x: -999, y: 0, r: 5 }) };
  assert.deepEqual(networkScene(network, look(smallDocument()), 4, far).shapes, []);
  assert.ok(arrowLength(3) > arrowLength(1));
});

test("the more arcs are shown, the thinner and fainter they are drawn", () => {
  const { arcs } = look(smallDocument());
  const pens = [10, 1000, 20_000].map((shown) => penFor(shown, arcs));
  assert.ok(pens[0].alpha > 0.6 && pens[0].width > 1.3);
  assert.ok(pens.every((pen, i) => i === 0 || (pen.alpha < pens[i - 1].alpha && pen.width < pens[i - 1].width)));
  assert.ok(pens[2].alpha > 0.2); // and can be seen
});

// Colours

test("words can be read on their ground, in light and in dark", () => {
  for (const palette of [LIGHT, DARK]) {
    for (const ground of [palette.ground, palette.surface]) {
      assert.ok(contrast(palette.ink, ground) > 7);
      assert.ok(contrast(palette.field, ground) > 3);
    }
    const { surface, ground, evidence, accent, alarm, muted } = palette;
    const grounds = [ground, surface, mix(surface, evidence, 0.08), mix(surface, evidence, 0.14)]; // as in app.css
    for (const color of [muted, alarm])
      for (const below of grounds) assert.ok(contrast(color, below) > 4.5, `${color} on ${below}`);
    assert.ok(contrast(palette.ink, mix(surface, accent, 0.14)) > 4.5);
    for (const color of Object.values(palette.roles)) assert.ok(contrast(color, palette.ground) > 3);
    assert.ok(contrast(palette.surface, palette.accent) > 4.5); // the main button
  }
});

test("colours can be told apart by the colour blind", () => {
  for (const palette of [LIGHT, DARK]) {
    const colors = [palette.roles.parent, palette.roles.child, palette.roles.spouse, palette.evidence, palette.ink];
    for (const [eye, matrix] of Object.entries(EYES)) {
      for (const [i, a] of colors.entries()) {
        for (const b of colors.slice(0, i)) assert.ok(distance(a, b, matrix) > 18, `${a} and ${b} to a ${eye} eye`);
      }
    }
  }
});

/** What an eye makes of linear RGB: Viénot, Brettel and Mollon (1999) without red or green cones; Machado (2009). */
const EYES = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.1124, 0.8876, 0],
    [0.1124, 0.8876, 0],
    [0.004, -0.004, 1],
  ],
  deutan: [
    [0.2928, 0.7072, 0],
    [0.2928, 0.7072, 0],
    [-0.0223, 0.0223, 1],
  ],
  tritan: [
    [1.01277, 0.13548, -0.14826],
    [-0.01243, 0.86812, 0.14431],
    [0.07589, 0.805, 0.11911],
  ],
};

/** Distance in CIE Lab. */
function distance(one: string, other: string, eye: number[][]): number {
  const times = (matrix: number[][], vector: number[]) =>
    matrix.map((row) => row.reduce((sum, x, i) => sum + x * vector[i], 0));
  const lab = (hex: string) => {
    const linear = channels(hex).map((c) => (c <= 10.31 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    const seen = times(eye, linear).map((x) => Math.min(1, Math.max(0, x)));
    const xyz = times(
      [
        [0.4124, 0.3576, 0.1805],
        [0.2126, 0.7152, 0.0722],
        [0.0193, 0.1192, 0.9505],
      ],
      seen,
    );
    const [x, y, z] = [xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089].map((t) =>
      t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116,
    );
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  const [a, b] = [lab(one), lab(other)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

test("colours are mixed and multiplied", () => {
  assert.equal(mix("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(premultiplied("#ff8000", 0.5), "rgba(128,64,0,0.5)");
  assert.deepEqual(channels("#0072b2"), [0, 114, 178]);
});

// Words, walks and curves

test("numbers and names are brief", () => {
  assert.deepEqual([0, 0.0001, 0.25, 0.99999, 1].map(percent), ["0.0%", "<0.1%", "25.0%", ">99.9%", "100.0%"]);
  assert.deepEqual([0.05678, -7.1, 1.234e-9].map(figure), ["0.05678", "-7.1", "1.234e-9"]);
  assert.deepEqual([0, 1234.56, 12.345, 0.1234, 1e-5, 5e7].map(figure), [
    "0",
    "1,235",
    "12.35",
    "0.1234",
    "1e-5",
    "5e7",
  ]);
  assert.equal(isolated("plain, 漢字"), "plain, 漢字");
  assert.equal(isolated("\u202egnp"), "\u2068\u202egnp\u2069");
  assert.equal(short("a\nb  c", 9), "a b c");
  assert.equal(short("x".repeat(10000), 5), "xxxx…");
  assert.equal(counted(1, "leaf", "leaves"), "1 leaf");
  assert.equal(counted(2000, "arc"), "2,000 arcs");
});

test("an arrow key leads to the nearest variable on that side", () => {
  const points = [
    [0, 0],
    [10, 1],
    [5, 20],
    [-9, 0],
    [0, -7],
  ].map(([x, y]) => ({ x, y }));
  const step = (from: number, way: "left" | "right" | "up" | "down") =>
    stepTo(from, way, points.length, (v) => points[v]);
  assert.deepEqual([step(0, "right"), step(0, "left"), step(0, "up"), step(0, "down")], [1, 3, 4, 2]);
  assert.equal(step(1, "right"), null);
});

test("the curve of strengths falls from one", () => {
  const widths = curve([100, 50, 10, 1, 0], 5);
  assert.equal(widths[0], 1);
  assert.ok(widths.every((w, i) => i === 0 || w <= widths[i - 1]));
  assert.deepEqual(curve([], 5), []);
  assert.ok(curve([3, 3, 3], 4).every((w) => w === 1));
});
