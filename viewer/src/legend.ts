/** What the colours mean, at the foot of the network. */

import { element, fill } from "./dom.ts";
import type { Palette } from "./palette.ts";
import { ROLE_NAMES, rolesOfKind } from "./roles.ts";

export interface LegendState {
  readonly palette: Palette;
  readonly kind: string;
  readonly directed: boolean;
  readonly selected: boolean;
  readonly compared: boolean;
  readonly evidence: boolean;
}

export function updateLegend(
  root: HTMLElement,
  { palette, kind, directed, selected, compared, evidence }: LegendState,
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
  const lines: [string, string][] = compared
    ? [
        ["only in the first", palette.sides.first],
        ["only in the second", palette.sides.second],
        ["in both", palette.sides.both],
      ]
    : [];
  const entry =
    (shape: string) =>
    ([name, color]: [string, string]) => {
      const mark = element("span", { class: shape, "aria-hidden": "true" });
      mark.style.background = color;
      return element("li", {}, mark, name);
    };
  fill(root, ...entries.map(entry("dot")), ...lines.map(entry("dash")));
  root.hidden = entries.length + lines.length === 0;
}
