/** Small parts that every section of the panel uses. */

import { bar } from "../distributions/table.ts";
import type { ViewDocument } from "../document.ts";
import { type Child, element, figure, link, short, whole } from "../dom.ts";
import type { Palette } from "../palette.ts";
import type { Role } from "../roles.ts";
import type { PanelActions } from "./panel.ts";

export const MOST_PARTNERS = 8;

export function remark(...content: Child[]): HTMLElement {
  return element("p", { class: "remark" }, ...content);
}

export function variableLink(doc: ViewDocument, v: number, { select }: PanelActions, role = ""): HTMLElement {
  const { name } = doc.variables[v];
  return link(name, () => select(v), role ? `${short(name, 300)}: ${role}` : short(name, 300));
}

/** The strength of an arc as a number, and as a bar beside the strongest, which comes first. */
export function strengthBar({ arcs, ranked }: ViewDocument, rank: number, first = 0): HTMLElement {
  const [strength, top] = [arcs.strength[rank], arcs.strength[first]];
  const share = ranked ? 1 - (strength - 1) / arcs.strength[arcs.strength.length - 1] : top > 0 ? strength / top : 0;
  const number = element("span", { class: "number", text: ranked ? `#${whole(strength)}` : figure(strength) });
  return element("span", { class: "strength" }, bar(share, "bar thin"), number);
}

export function roleDot(palette: Palette, role: Role | undefined): HTMLElement {
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  dot.style.color = role ? palette.roles[role] : palette.muted;
  return dot;
}
