/** The network as a whole: its numbers, its strongest arcs, what the strength means. */

import type { Comparison, Model } from "../compare.ts";
import { type Child, counted, element, isolated, lineWord, short, whole } from "../dom.ts";
import type { Network } from "../network.ts";
import type { PanelActions, PanelState } from "./panel.ts";
import { MOST_PARTNERS, remark, strengthBar, variableLink } from "./parts.ts";

export function overview({ network, comparison }: PanelState, actions: PanelActions): Child[] {
  const { directed, strength, summary } = network.document;
  const unit = strength.unit ? `, in ${strength.unit}` : "";
  const some = network.arcCount > 0;
  const line = lineWord(directed);
  const numbers = Object.entries(summary).map(([name, n]) => [name === "arcs" ? `${line}s` : name, n] as const);
  return [
    element("h2", { text: comparison === null ? "The network" : "Two networks" }),
    ...(comparison === null ? [facts(numbers)] : compared(comparison)),
    remark(`The strength of an ${line}: ${strength.name}${unit}.`),
    comparison && remark(`Two models' strengths have no common scale; of an ${line} in both the better place counts.`),
    some && element("h3", { text: `Strongest ${line}s` }),
    some && strongest(network, actions),
    element("h3", { text: "Using it" }),
    hints(line),
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

function compared({ models, counts, strangers }: Comparison): Child[] {
  const numbers = facts([
    ["in both", counts.both],
    [`only in ${models[0].called}`, counts.first],
    [`only in ${models[1].called}`, counts.second],
    ["turned round", counts.reversed || null],
  ]);
  const told = models.map(modelSentence);
  return [...told, numbers, strangers.length > 0 && strangersSentence(strangers)];
}

function modelSentence({ called, document }: Model): HTMLElement {
  const lines = counted(document.arcs.from.length, lineWord(document.directed));
  return element("p", { class: "model" }, element("b", { text: short(called, 64) }), `: ${document.title}, ${lines}`);
}

function strangersSentence(names: readonly string[]): HTMLElement {
  const some = names.slice(0, 5).map((name) => isolated(short(name, 40)));
  const end = names.length > 5 ? ", …" : ".";
  const these = counted(names.length, "variable is", "variables are");
  return element("p", { class: "refused", text: `${these} in only one of the two: ${some.join(", ")}${end}` });
}

/** The strongest arcs; two variables with an arc each way are told once. */
function strongest(network: Network, actions: PanelActions): HTMLElement {
  const { document: doc, arcCount, size } = network;
  const { from, to } = doc.arcs;
  const list = element("ol", { class: "partners pairs" });
  const told = new Set<number>();
  for (let rank = 0; rank < arcCount && told.size < MOST_PARTNERS; rank++) {
    const [a, b] = [from[rank], to[rank]];
    const pair = Math.min(a, b) * size + Math.max(a, b);
    if (told.has(pair)) continue;
    told.add(pair);
    const both = doc.directed && network.hasArc(b, a);
    const arrow = element("span", { class: "arrow", text: doc.directed ? (both ? "↔" : "→") : "–" });
    const ends = [variableLink(doc, a, actions), arrow, variableLink(doc, b, actions)];
    list.append(element("li", {}, element("span", { class: "pair" }, ...ends), strengthBar(doc, rank)));
  }
  return list;
}

function hints(line: string): HTMLElement {
  const key = (text: string) => element("kbd", { text });
  return element(
    "ul",
    { class: "hints" },
    element("li", { text: "Click a variable to see its neighbours; double-click it for its distribution." }),
    element("li", { text: `Move the slider up to add ${line}s, the strongest first.` }),
    element("li", {}, "Press ", key("/"), " to find a variable, ", key("?"), " for all keys."),
  );
}
