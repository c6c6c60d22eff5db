/** The selected variable: its states and their probabilities, its strongest partners, its Markov blanket. */

import { bar } from "../distributions/table.ts";
import type { Variable } from "../document.ts";
import { type Child, counted, element, figure, lineWord, link, percent, short, whole } from "../dom.ts";
import { ROLE_NAMES, type Role, rolesOf } from "../roles.ts";
import type { PanelActions, PanelState } from "./panel.ts";
import { MOST_PARTNERS, remark, roleDot, strengthBar, variableLink } from "./parts.ts";

const ARROWS = { in: "←", out: "→", both: "↔" } as const;
const MOST_STATES = 12;
const MOST_EXPANDED = 1000;
const MOST_MEMBERS = 60;

export function aboutVariable(
  state: PanelState,
  v: number,
  actions: PanelActions,
  allStates: boolean,
  expand: () => void,
): Child[] {
  const { network } = state;
  const variable = network.document.variables[v];
  const discrete = variable.states.length > 0;
  const roles = rolesOf(network, v, state.shown);
  const kind = discrete ? counted(variable.states.length, "state") : "numeric";
  const line = lineWord(network.document.directed);
  const open = () => actions.open(v);
  const by = state.comparison === null ? "" : ` by ${state.comparison.models[0].called}`;
  return [
    heading(variable, actions),
    remark(`${kind} · ${counted(network.degree(v), line)}`, ...hiddenArcs(state, v, actions)),
    element("button", {
      type: "button",
      class: "primary",
      "data-key": "open",
      text: "Show its distribution",
      onclick: open,
    }),
    element("h3", { text: `${discrete ? "Probabilities" : "Distribution"}${by}` }),
    ...(discrete ? states(state, v, variable, actions, allStates, expand) : [moments(state, v, variable, actions)]),
    element("h3", { text: "Strongest partners" }),
    partners(state, v, roles, actions, line),
    ...blanket(state, v, roles, actions),
  ];
}

/** How many of its arcs the slider leaves out, and a way to move it to the last of them. */
function hiddenArcs({ network, shown }: PanelState, v: number, actions: PanelActions): Child[] {
  const all = network.partners(v);
  const drawn = all.filter(({ rank }) => rank < shown).length;
  if (drawn === all.length) return [];
  const show = link("show all", () => actions.show(all[all.length - 1].rank + 1));
  show.setAttribute("data-key", "show-arcs");
  return [`, ${whole(drawn)} shown: `, show];
}

function heading(variable: Variable, actions: PanelActions): HTMLElement {
  const clear = element("button", {
    type: "button",
    class: "quiet",
    "aria-label": "Clear the selection",
    title: "Clear (Esc)",
    text: "✕",
    onclick: () => actions.select(null),
  });
  const name = element("h2", { text: short(variable.name, 120), title: short(variable.name, 400) });
  return element("header", { class: "chosen" }, name, clear);
}

function states(
  { answer, evidence, canAsk }: PanelState,
  v: number,
  variable: Variable,
  actions: PanelActions,
  all: boolean,
  expand: () => void,
): Child[] {
  const now = answer.state === "found" ? answer.marginals.marginals[v] : undefined;
  const list = element("ul", { class: now ? "states compared" : "states" });
  const order = statesByProbability(variable, now, all ? MOST_EXPANDED : MOST_STATES);
  for (const s of order) {
    const given = evidence.get(v) === s;
    const row = stateRow(variable, s, now);
    const title = short(variable.states[s], 400);
    if (canAsk !== "yes") list.append(element("li", { class: "state", title }, ...row));
    else
      list.append(
        element(
          "li",
          {},
          stateButton(s, title, given, row, () => actions.give(v, given ? null : s)),
        ),
      );
  }
  const count = Math.min(variable.states.length, MOST_EXPANDED);
  const hint = canAsk === "yes" ? "Click a state to set it as evidence." : canAsk === "no" ? "" : canAsk;
  return [list, count > order.length && link(`Show ${whole(count)} states`, expand), remark(hint)];
}

function stateRow(variable: Variable, s: number, now: readonly number[] | undefined): Child[] {
  const before = variable.marginal?.[s];
  const number = element("span", { class: "number" });
  const bars = element("span", { class: "bars" });
  if (before !== undefined) {
    bars.append(bar(before, "bar old"));
    number.append(element("span", { class: now ? "was" : "", text: percent(before) }));
  }
  if (now !== undefined) {
    bars.append(bar(now[s], "bar new"));
    number.append(element("span", { class: "is", text: percent(now[s]) }));
  }
  return [element("span", { class: "name", text: short(variable.states[s], 60) }), bars, number];
}

function stateButton(s: number, title: string, given: boolean, row: Child[], action: () => void): HTMLElement {
  const properties = {
    type: "button",
    class: "state",
    "aria-pressed": String(given),
    "data-key": `state-${s}`,
  } as const;
  return element(
    "button",
    { ...properties, title: `${given ? "Take back" : "Set as evidence"}: ${title}`, onclick: action },
    ...row,
  );
}

function statesByProbability(variable: Variable, now: readonly number[] | undefined, most: number): number[] {
  const all = variable.states.map((_, s) => s);
  if (all.length <= most) return all;
  const p = now ?? variable.marginal;
  return all.sort((a, b) => (p?.[b] ?? 0) - (p?.[a] ?? 0) || a - b).slice(0, most);
}

function moments({ answer, evidence, canAsk }: PanelState, v: number, variable: Variable, actions: PanelActions) {
  const told = (mean: number, deviation: number) => `mean ${figure(mean)}, deviation ${figure(deviation)}`;
  const now = answer.state === "found" ? answer.marginals.marginals[v] : undefined;
  const made = element("div", { class: "moments" });
  if (variable.numeric) made.append(element("p", { text: told(variable.numeric.mean, variable.numeric.deviation) }));
  if (now && now.length >= 2) made.append(element("p", { class: "is", text: `now ${told(now[0], now[1])}` }));
  if (canAsk === "yes") {
    const given = evidence.get(v);
    const change = (event: Event) => {
      const { value } = event.target as HTMLInputElement;
      actions.give(v, value === "" ? null : Number(value));
    };
    const value = given === undefined ? "" : String(given);
    const input = element("input", { type: "number", step: "any", value, "data-key": "number", onchange: change });
    made.append(element("label", { class: "give" }, "Evidence ", input));
  } else if (canAsk !== "no") made.append(remark(canAsk));
  return made;
}

function partners(
  { network, palette }: PanelState,
  v: number,
  roles: Map<number, Role>,
  actions: PanelActions,
  line: string,
): Node {
  const joined = network.joined(v).slice(0, MOST_PARTNERS);
  if (joined.length === 0) return remark(`None: no ${line} touches it.`);
  const { document: doc } = network;
  const list = element("ol", { class: "partners" });
  for (const { variable, rank, direction } of joined) {
    const arrow = element("span", { class: "arrow", text: doc.directed ? ARROWS[direction] : "–" });
    const pair = [roleDot(palette, roles.get(variable)), arrow, variableLink(doc, variable, actions)];
    list.append(element("li", {}, element("span", { class: "pair" }, ...pair), strengthBar(doc, rank, joined[0].rank)));
  }
  return list;
}

function blanket(state: PanelState, v: number, roles: Map<number, Role>, actions: PanelActions): Child[] {
  const { network, palette } = state;
  const members = network.blanket(v);
  if (members === null || members.length === 0) return [];
  const list = element("ul", { class: "members" });
  for (const member of members.slice(0, MOST_MEMBERS)) {
    const role = roles.get(member);
    const name = variableLink(network.document, member, actions, role && ROLE_NAMES[role]);
    list.append(element("li", {}, roleDot(palette, role), name));
  }
  const rest = members.length - MOST_MEMBERS;
  return [
    element("h3", {}, "Markov blanket ", element("span", { class: "count", text: whole(members.length) })),
    list,
    rest > 0 && remark(`and ${whole(rest)} more.`),
  ];
}
