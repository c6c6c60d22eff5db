/** The network as a whole: its numbers, its strongest arcs, what the strength means. */

import type { Comparison } from "../compare.ts";
import type { ViewDocument } from "../document.ts";
import { type Child, counted, element, short, whole } from "../dom.ts";
import type { PanelActions, PanelState } from "./panel.ts";
import { MOST_PARTNERS, remark, strengthBar, variableLink } from "./parts.ts";

export function overview({ network, comparison }: PanelState, actions: PanelActions): Child[] {
  const { directed, strength, summary } = network.document;
  const unit = strength.unit ? `, in ${strength.unit}` : "";
  const some = network.arcCount > 0;
  return [
    element("h2", { text: "The network" }),
    comparison === null ? facts(Object.entries(summary)) : comparisonFacts(comparison),
    comparison && comparison.strangers.length > 0 && strangers(comparison.strangers),
    remark(`The strength of ${directed ? "an arc" : "an edge"}: ${strength.name}${unit}.`),
    some && element("h3", { text: directed ? "Strongest arcs" : "Strongest edges" }),
    some && strongest(network.document, actions),
    element("h3", { text: "Using it" }),
    hints(),
  ];
}

function facts(numbers: readonly (readonly [string, number | null])[]): HTMLElement {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of numbers) {
    if (typeof value !== "number") continue;
    list.append(element("div", {}, element("dt", { text: short(name, 40) }), element("dd", { text: whole(value) })));
  }
  return list;
}

function comparisonFacts({ counts }: Comparison): HTMLElement {
  return facts([
    ["in both", counts.both],
    ["only in the first", counts.first],
    ["only in the second", counts.second],
    ["turned round", counts.reversed || null],
  ]);
}

function strangers(names: readonly string[]): HTMLElement {
  const some = names.slice(0, 5).map((name) => short(name, 40));
  const end = names.length > 5 ? ", …" : ".";
  const these = counted(names.length, "variable is", "variables are");
  return element("p", { class: "refused", text: `${these} in only one of the two: ${some.join(", ")}${end}` });
}

function strongest(doc: ViewDocument, actions: PanelActions): HTMLElement {
  const { from, to, strength } = doc.arcs;
  const list = element("ol", { class: "partners" });
  for (let rank = 0; rank < Math.min(MOST_PARTNERS, from.length); rank++) {
    const arrow = element("span", { class: "arrow", text: doc.directed ? "→" : "–" });
    const ends = [variableLink(doc, from[rank], actions), arrow, variableLink(doc, to[rank], actions)];
    list.append(
      element("li", {}, element("span", { class: "pair" }, ...ends), strengthBar(strength[rank], strength[0])),
    );
  }
  return list;
}

function hints(): HTMLElement {
  const key = (text: string) => element("kbd", { text });
  return element(
    "ul",
    { class: "hints" },
    element("li", { text: "Click a variable to see its neighbours; double-click it for its distribution." }),
    element("li", { text: "Move the slider up to add arcs, the strongest first." }),
    element("li", {}, "Press ", key("/"), " to find a variable, ", key("?"), " for all keys."),
  );
}
