/** What the colours mean: at the foot of the network, and under it in a picture that is saved. */

import type { Comparison } from "./compare.ts";
import { element, fill, short } from "./dom.ts";
import type { Palette } from "./palette.ts";
import { ROLE_NAMES, rolesOfKind } from "./roles.ts";
import { type Scene, type Shape, textWidth } from "./scene.ts";
import { DASH } from "./view.ts";

export interface LegendState {
  readonly palette: Palette;
  readonly kind: string;
  readonly directed: boolean;
  readonly selected: boolean;
  readonly comparison: Comparison | null;
  readonly evidence: boolean;
}

export interface Entry {
  readonly mark: "dot" | "dash" | "dash broken";
  readonly name: string;
  readonly color: string;
}

export function legendEntries({ palette, kind, directed, selected, comparison, evidence }: LegendState): Entry[] {
  const dot = (name: string, color: string): Entry => ({ mark: "dot", name, color });
  const entries: Entry[] = [];
  if (selected) {
    entries.push(dot("selected", palette.ink));
    for (const role of rolesOfKind(kind, directed)) entries.push(dot(ROLE_NAMES[role], palette.roles[role]));
  }
  if (evidence) {
    entries.push(dot("evidence", palette.evidence));
    if (!selected) entries.push(dot("changed by it", palette.changed));
  }
  if (comparison !== null) {
    const [first, second] = comparison.models.map(({ called }) => `only in ${short(called, 40)}`);
    entries.push({ mark: "dash", name: first, color: palette.sides.first });
    entries.push({ mark: "dash broken", name: second, color: palette.sides.second });
    entries.push({ mark: "dash", name: "in both", color: palette.sides.both });
  }
  return entries;
}

export function updateLegend(root: HTMLElement, entries: readonly Entry[]): void {
  const items = entries.map(({ mark, name, color }) => {
    const drawn = element("span", { class: mark, "aria-hidden": "true" });
    drawn.style.color = color;
    return element("li", {}, drawn, name);
  });
  fill(root, ...items);
  root.hidden = items.length === 0;
}

const [ROW, SIZE, MARK, GAP, MARGIN] = [20, 12, 20, 18, 14];

/** A picture with the legend under it, in as many rows as it needs. */
export function withLegend(scene: Scene, entries: readonly Entry[], palette: Palette): Scene {
  if (entries.length === 0) return scene;
  const shapes: Shape[] = [];
  let [x, y] = [MARGIN, scene.height + MARGIN];
  for (const { mark, name, color } of entries) {
    const width = MARK + 6 + textWidth(name, SIZE);
    if (x > MARGIN && x + width > scene.width - MARGIN) [x, y] = [MARGIN, y + ROW];
    const dash = mark === "dash broken" ? DASH : undefined;
    shapes.push(
      mark === "dot"
        ? { shape: "circle", x: x + MARK - 5, y, r: 5, fill: color }
        : { shape: "line", x1: x, y1: y, x2: x + MARK, y2: y, stroke: color, width: 3, dash },
      { shape: "text", x: x + MARK + 6, y: y + 4, text: name, size: SIZE, fill: palette.ink },
    );
    x += width + GAP;
  }
  const legend: Shape = { shape: "group", label: "What the colours mean", shapes };
  return { ...scene, height: y + ROW, shapes: [...scene.shapes, legend] };
}
