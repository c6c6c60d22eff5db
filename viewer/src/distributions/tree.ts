/** A decision tree or decision graph as a picture: the split on each node, a histogram and its cases on each leaf. */

import { clamp, isLeaf, type Leaf, type Split, type TreeLocal, type ViewDocument } from "../document.ts";
import { counted, figure, percent, short, whole } from "../dom.ts";
import { mix, type Palette } from "../palette.ts";
import { type Group, type Scene, type Shape, textWidth } from "../scene.ts";
import { type Box, type Branch, layoutOf, leavesBelow, openedSplits, type Sizes } from "./layout.ts";

/** Splits drawn at first; deeper ones are unfolded by a click. */
export const FIRST_SPLITS = 40;
const MOST_STATES = 5;
const ROW = 17;
const SPLIT = 156;
/** Characters of the label on a branch. */
const LABEL = 32;

/** The picture, and the height at which its root stands. */
export function treePicture(
  local: TreeLocal,
  child: number,
  document: ViewDocument,
  palette: Palette,
  unfolded: ReadonlySet<number>,
): { scene: Scene; begins: number } {
  const rows = rowsOf(document, child, local);
  const names = clamp(Math.max(0, ...rows.map((row) => textWidth(row.label, 11))), 30, 100);
  const opened = openedSplits(local, FIRST_SPLITS, unfolded);
  const column = columnFor(local, opened);
  const sizes: Sizes = { split: [SPLIT, 40], leaf: [136 + names, rows.length * ROW + 30], column, gap: 14, margin: 20 };
  const layout = layoutOf(local, opened, sizes);
  const most = Math.max(1, ...local.nodes.map((node) => (isLeaf(node) ? (node.cases ?? 0) : 0)));
  const shapes = [
    ...layout.branches.flatMap((branch) => branchShapes(branch, palette)),
    ...layout.boxes.map((box): Shape => {
      const node = local.nodes[box.id];
      if (box.kind === "fold") return foldGroup(box, leavesBelow(local, box.id), palette);
      return isLeaf(node) ? leafGroup(box, node, rows, names, most, palette) : splitGroup(box, node, document, palette);
    }),
  ];
  const { width, height, boxes } = layout;
  const begins = boxes.find((box) => box.id === local.root)!.y;
  return { scene: { width, height, ground: palette.surface, shapes }, begins };
}

/** As much room between two columns as the longest label on a branch there takes. */
function columnFor(local: TreeLocal, opened: ReadonlySet<number>): number {
  let longest = 0;
  for (const id of opened) {
    const node = local.nodes[id];
    if (isLeaf(node)) continue;
    for (const { label } of node.branches) longest = Math.max(longest, textWidth(short(label, LABEL), 11));
  }
  return clamp(longest + 40, 90, 220);
}

/** A row of a leaf's histogram: one state, or all that are not shown. */
interface Row {
  readonly label: string;
  readonly states: readonly number[];
}

/** The same rows on every leaf: all states, or the likeliest few and the rest together. */
export function rowsOf(document: ViewDocument, child: number, local: TreeLocal): Row[] {
  const { states, marginal } = document.variables[child];
  const leaf = local.nodes.find(isLeaf);
  const count = states.length || (leaf?.probs.length ?? 0);
  const all = Array.from({ length: count }, (_, s) => s);
  const row = (s: number): Row => ({ label: states[s] ?? String(s), states: [s] });
  if (count <= MOST_STATES) return all.map(row);
  const likely = [...all].sort((a, b) => (marginal?.[b] ?? 0) - (marginal?.[a] ?? 0)).slice(0, MOST_STATES - 1);
  const rest = all.filter((s) => !likely.includes(s));
  return [...likely.sort((a, b) => a - b).map(row), { label: `${whole(rest.length)} others`, states: rest }];
}

function splitGroup(box: Box, node: Split, document: ViewDocument, palette: Palette): Group {
  const { name } = document.variables[node.split];
  const y = box.y - box.h / 2;
  const shapes: Shape[] = [
    {
      shape: "rect",
      x: box.x,
      y,
      w: box.w,
      h: box.h,
      r: 9,
      fill: mix(palette.surface, palette.accent, 0.12),
      stroke: palette.accent,
      width: 1,
    },
    {
      shape: "text",
      x: box.x + box.w / 2,
      y: box.y + (node.gain == null ? 4 : -1),
      text: fitting(name, SPLIT - 16, 12.5, true),
      size: 12.5,
      bold: true,
      anchor: "middle",
      fill: palette.ink,
    },
  ];
  if (node.gain != null) {
    shapes.push({
      shape: "text",
      x: box.x + box.w / 2,
      y: box.y + 13,
      text: `gain ${figure(node.gain)}`,
      size: 10,
      anchor: "middle",
      fill: palette.muted,
    });
  }
  return { shape: "group", variable: node.split, label: `Open ${short(name, 300)}`, shapes };
}

function leafGroup(
  box: Box,
  leaf: Leaf,
  rows: readonly Row[],
  names: number,
  most: number,
  palette: Palette,
): Group {
  const top = box.y - box.h / 2;
  const shapes: Shape[] = [
    {
      shape: "rect",
      x: box.x,
      y: top,
      w: box.w,
      h: box.h,
      r: 9,
      fill: palette.surface,
      stroke: leaf.folded ? palette.muted : palette.line,
      width: 1,
    },
  ];
  for (const [i, row] of rows.entries()) {
    const p = rowShare(leaf, row);
    const y = top + 8 + i * ROW;
    const [label, left] = [fitting(row.label, names, 11, false), box.x + 16 + names];
    shapes.push(
      { shape: "text", x: box.x + 10, y: y + 11, text: label, size: 11, fill: palette.ink },
      { shape: "rect", x: left, y: y + 3, w: 62, h: 9, r: 2, fill: mix(palette.surface, palette.muted, 0.14) },
      {
        shape: "rect",
        x: left,
        y: y + 3,
        w: Math.max(0.5, 62 * Math.min(1, p)),
        h: 9,
        r: 2,
        fill: palette.accent,
      },
      {
        shape: "text",
        x: box.x + box.w - 9,
        y: y + 11,
        text: percent(p),
        size: 10.5,
        anchor: "end",
        fill: palette.muted,
      },
    );
  }
  const told = leaf.folded ? ["A part of the tree is left out here: this is the mean of what lies below."] : [];
  for (const row of rows) told.push(`${short(row.label, 60)}: ${percent(rowShare(leaf, row))}`);
  if (leaf.cases != null) {
    const cases = counted(Math.round(leaf.cases), "case") + (leaf.folded ? " · folded" : "");
    told.push(cases);
    const share = (box.w - 20) * (leaf.cases / most);
    shapes.push(
      { shape: "text", x: box.x + 10, y: top + box.h - 9, text: cases, size: 10, fill: palette.muted },
      {
        shape: "rect",
        x: box.x + 10,
        y: top + box.h - 4,
        w: Math.max(1, share),
        h: 1.5,
        fill: palette.muted,
        alpha: 0.6,
      },
    );
  }
  return { shape: "group", label: told.join("\n"), shapes };
}

function rowShare(leaf: Leaf, row: Row): number {
  return row.states.reduce((sum, s) => sum + (leaf.probs[s] ?? 0), 0);
}

function foldGroup(box: Box, leaves: number, palette: Palette): Group {
  const text = `… ${counted(leaves, "more leaf", "more leaves")}`;
  return {
    shape: "group",
    node: box.id,
    label: "Unfold",
    shapes: [
      {
        shape: "rect",
        x: box.x,
        y: box.y - box.h / 2,
        w: box.w,
        h: box.h,
        r: 9,
        fill: palette.ground,
        stroke: palette.line,
        width: 1,
      },
      { shape: "text", x: box.x + box.w / 2, y: box.y + 4, text, size: 11.5, anchor: "middle", fill: palette.muted },
    ],
  };
}

function branchShapes({ points, label }: Branch, palette: Palette): Shape[] {
  let d = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const middle = (a.x + b.x) / 2;
    d += ` C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`;
  }
  const [a, b] = points;
  const text = short(label, LABEL);
  return [
    { shape: "path", d, stroke: mix(palette.surface, palette.muted, 0.55), width: 1.3 },
    {
      shape: "group",
      label: short(label, 300),
      shapes: [
        {
          shape: "text",
          x: (a.x + b.x) / 2,
          y: a.y * 0.4 + b.y * 0.6 + 3,
          text,
          size: 11,
          anchor: "middle",
          fill: palette.ink,
          halo: palette.surface,
        },
      ],
    },
  ];
}

/** As much of a name as there is room for. */
function fitting(name: string, width: number, size: number, bold: boolean): string {
  let length = Math.min(name.length, 40);
  while (length > 1 && textWidth(short(name, length), size, bold) > width) length--;
  return short(name, length);
}
