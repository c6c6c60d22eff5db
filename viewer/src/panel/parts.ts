/** Small parts that every section of the panel uses. */

import { bar } from "../distributions/table.ts";
import type { ViewDocument } from "../document.ts";
import { element, figure, link, short } from "../dom.ts";
import type { Palette } from "../palette.ts";
import type { Role } from "../roles.ts";
import type { PanelActions } from "./panel.ts";

export const MOST_PARTNERS = 8;

export function remark(text: string): HTMLElement {
  return element("p", { class: "remark", text });
}

export function variableLink(doc: ViewDocument, v: number, { select }: PanelActions, role = ""): HTMLElement {
  const { name } = doc.variables[v];
  return link(name, () => select(v), role ? `${short(name, 300)}: ${role}` : short(name, 300));
}

/** A strength as a number, and as a bar beside the strongest. */
export function strengthBar(strength: number, top: number): HTMLElement {
  const length = bar(top > 0 ? strength / top : 0, "bar thin");
  return element("span", { class: "strength" }, length, element("span", { class: "number", text: figure(strength) }));
}

export function roleDot(palette: Palette, role: Role | undefined): HTMLElement {
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = role ? palette.roles[role] : palette.muted;
  return dot;
}
