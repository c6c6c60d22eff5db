/** What the colours mean, at the foot of the network. */

import type { Comparison } from "./compare.ts";
import { element, fill, short } from "./dom.ts";
import type { Palette } from "./palette.ts";
import { ROLE_NAMES, rolesOfKind } from "./roles.ts";

export interface LegendState {
  readonly palette: Palette;
  readonly kind: string;
  readonly directed: boolean;
  readonly selected: boolean;
  readonly comparison: Comparison | null;
  readonly evidence: boolean;
}

export function updateLegend(
  root: HTMLElement,
  { palette, kind, directed, selected, comparison, evidence }: LegendState,
): void {
  const entries: [string, string][] = [];
  if (selected) {
    entries.push(["selected", palette.ink]);
    for (const role of rolesOfKind(kind, directed)) entries.push([ROLE_NAMES[role], palette.roles[role]]);
  }
  if (evidence) {
    entries.push(["evidence", palette.evidence]);
    if (!selected) entries.push(["changed by it", palette.changed]);
  }
  const entry = (shape: string, name: string, color: string) => {
    const mark = element("span", { class: shape, "aria-hidden": "true" });
    mark.style.color = color;
    return element("li", {}, mark, short(name, 40));
  };
  const items = entries.map(([name, color]) => entry("dot", name, color));
  if (comparison !== null) {
    const [first, second] = comparison.models;
    items.push(entry("dash", `only in ${first.called}`, palette.sides.first));
    items.push(entry("dash broken", `only in ${second.called}`, palette.sides.second));
    items.push(entry("dash", "in both", palette.sides.both));
  }
  fill(root, ...items);
  root.hidden = items.length === 0;
}
