/** The evidence that is set, how the answer was found, and what changed most. */

import type { ViewDocument } from "../document.ts";
import { element, figure, isolated, link, percent, short } from "../dom.ts";
import { type Answer, mostChanged, mostChangedState, shifts } from "../evidence.ts";
import type { Marginals } from "../source.ts";
import type { PanelActions, PanelState } from "./panel.ts";
import { remark, variableLink } from "./parts.ts";

const MOST_CHANGED = 6;

export function evidenceSection({ network, evidence, answer, canAsk }: PanelState, actions: PanelActions): Node | null {
  if (evidence.size === 0) return null;
  const { document: doc } = network;
  const chips = element("ul", { class: "chips" });
  for (const [v, value] of evidence) chips.append(chip(doc, v, value, actions));
  const clear = link("Clear all", () => actions.forget());
  return element(
    "section",
    { class: "evidence", "aria-label": "Evidence" },
    element("header", {}, element("h2", { text: "Evidence" }), clear),
    chips,
    canAsk === "yes" ? answered(doc, evidence, answer, actions) : remark(canAsk === "no" ? "" : canAsk),
  );
}

function chip(doc: ViewDocument, v: number, value: number, actions: PanelActions): HTMLElement {
  const { name, states } = doc.variables[v];
  const is = states.length > 0 ? isolated(short(states[value], 30)) : figure(value);
  const said = `${isolated(short(name, 40))} = ${is}`;
  const takeBack = () => actions.give(v, null);
  return element(
    "li",
    {},
    link(said, () => actions.select(v)),
    element("button", {
      type: "button",
      class: "quiet",
      "aria-label": `Take back ${said}`,
      text: "✕",
      onclick: takeBack,
    }),
  );
}

function answered(
  doc: ViewDocument,
  evidence: ReadonlyMap<number, number>,
  answer: Answer,
  actions: PanelActions,
): Node {
  if (answer.state === "refused") return element("p", { class: "refused", role: "alert", text: answer.reason });
  if (answer.state !== "found") return remark("Computing…");
  const { marginals } = answer;
  const list = element("ul", { class: "changed" });
  for (const v of mostChanged(shifts(doc, marginals), evidence, MOST_CHANGED)) {
    const change = element("span", { class: "number", text: changeOf(doc, v, marginals.marginals[v]) });
    list.append(element("li", {}, variableLink(doc, v, actions), change));
  }
  const how = element("p", { class: marginals.converged ? "remark" : "refused", text: methodSentence(marginals) });
  const some = list.childElementCount > 0;
  return element(
    "div",
    {},
    how,
    some ? element("h3", { text: "Changed most" }) : remark("Nothing else changed."),
    list,
  );
}

function changeOf(doc: ViewDocument, v: number, now: readonly number[]): string {
  const { marginal, states, numeric } = doc.variables[v];
  if (marginal !== null && states.length > 0) {
    const s = mostChangedState(marginal, now);
    return `= ${isolated(short(states[s], 16))}: ${percent(marginal[s])} → ${percent(now[s])}`;
  }
  return numeric ? `mean ${figure(numeric.mean)} → ${figure(now[0])}` : "";
}

function methodSentence({ method, converged, error, note }: Marginals): string {
  if (note) return note;
  if (method === "exact") return "Exact.";
  const how = `By ${method === "gibbs" ? "Gibbs sampling" : method}${error == null ? "" : `, ± ${figure(error)}`}.`;
  return converged ? how : `${how} It has not converged: read these with care.`;
}
