/** Local distributions made of signed numbers: logistic and boosted weights, a linear formula, Markov features. */

import type { BoostedLocal, FeaturesLocal, GaussianLocal, LogisticLocal, ViewDocument, Weight } from "../document.ts";
import { type Child, counted, element, figure, isolated, link, short, whole } from "../dom.ts";
import { bar } from "./table.ts";

type Go = (variable: number) => void;
const MOST_ROWS = 200;
/** Terms of a formula; a longer one is not read. */
const MOST_TERMS = 12;

export function logisticElement(
  local: LogisticLocal | BoostedLocal,
  child: number,
  document: ViewDocument,
  go: Go,
): Node {
  const made = element("div");
  if (local.type === "boosted") {
    made.append(element("p", { class: "remark", text: `A sum of ${counted(local.trees, "small tree")}.` }));
    if (local.importance.length > 0) made.append(importanceElement(local, document, go));
  }
  if (local.weights.length > 0 || local.type === "logistic") {
    made.append(element("h3", { text: "Weights on the log odds" }), weightTable(local, child, document, go));
  }
  return made;
}

export function gaussianElement(local: GaussianLocal, child: number, document: ViewDocument, go: Go): Node {
  const name = (v: number) => document.variables[v].name;
  const formula = element("p", { class: "formula" });
  formula.append(`${isolated(short(name(child), 60))} = ${figure(local.intercept)}`);
  const terms = local.weights.slice(0, MOST_TERMS);
  for (const { variable, weight } of terms) {
    formula.append(
      ` ${weight < 0 ? "−" : "+"} ${figure(Math.abs(weight))} · `,
      link(name(variable), () => go(variable)),
    );
  }
  const smaller = local.total - terms.length;
  if (smaller > 0) formula.append(` … and ${counted(smaller, "smaller term")}`);
  formula.append(` + ε,  ε ~ N(0, ${figure(local.deviation)}²)`);
  const rows = local.weights.map(({ variable, weight }): SignedRow => ({
    label: [link(name(variable), () => go(variable))],
    values: [weight],
  }));
  return element("div", {}, formula, rows.length > 0 && signedTable(["weight"], rows, local.total, "weight"));
}

export function featuresElement(local: FeaturesLocal, child: number, document: ViewDocument, go: Go): Node {
  const rows = local.features.map(({ conditions, weight }): SignedRow => {
    const label: (Node | string)[] = [];
    for (const { variable, state } of conditions) {
      if (label.length > 0) label.push(" ∧ ");
      const { name, states } = document.variables[variable];
      label.push(variable === child ? isolated(short(name, 40)) : link(name, () => go(variable)));
      label.push(` = ${isolated(short(states[state] ?? String(state), 24))}`);
    }
    return { label, values: [weight] };
  });
  const said = local.total === 0 ? "No feature mentions it." : "The features that mention it.";
  return element(
    "div",
    {},
    element("p", { class: "remark", text: said }),
    rows.length > 0 && signedTable(["weight"], rows, local.total, "feature"),
  );
}

function importanceElement(local: BoostedLocal, document: ViewDocument, go: Go): Node {
  const rows = local.importance.map(({ variable, gain }): SignedRow => {
    const { name } = document.variables[variable];
    return { label: [link(name, () => go(variable))], values: [gain] };
  });
  const table = signedTable(["gain"], rows, local.asked, "variable", null, bar); // none is negative
  return element("div", {}, element("h3", { text: "Gain by variable" }), table);
}

function weightTable(local: LogisticLocal | BoostedLocal, child: number, document: ViewDocument, go: Go): Node {
  const columns = informative(local.intercept, local.weights);
  const states = document.variables[child].states;
  const names = columns.map((s) => states[s] ?? String(s));
  const rows = local.weights.map(({ variable, state, weight }): SignedRow => {
    const { name, states: own } = document.variables[variable];
    const label: (Node | string)[] = [link(name, () => go(variable))];
    if (state != null) label.push(` = ${isolated(short(own[state] ?? String(state), 24))}`);
    return { label, values: columns.map((s) => weight[s]) };
  });
  const first: SignedRow = { label: ["intercept"], values: columns.map((s) => local.intercept[s]) };
  return signedTable(names, rows, local.total, "weight", first);
}

/** The states whose column says something: one of two that are opposite, and none that is all zero. */
export function informative(intercept: readonly number[], weights: readonly Weight[]): number[] {
  const rows = [intercept, ...weights.map((w) => w.weight)];
  const states = intercept.map((_, s) => s).filter((s) => rows.some((row) => row[s] !== 0));
  const opposite = states.length === 2 && rows.every((row) => Math.abs(row[states[0]] + row[states[1]]) < 1e-9);
  if (states.length === 0) return [intercept.length - 1];
  return opposite ? [states[1]] : states;
}

interface SignedRow {
  readonly label: readonly (Node | string)[];
  readonly values: readonly number[];
}

/**
 * Rows of bars that grow to the right from the middle when positive and to the left when negative.
 *
 * The rows come largest first, and a sentence counts those of the `total` that are left out.
 */
function signedTable(
  columns: readonly string[],
  rows: readonly SignedRow[],
  total: number,
  what: string,
  first: SignedRow | null = null,
  drawn: (share: number) => HTMLElement = signedBar,
): HTMLElement {
  const told = rows.slice(0, MOST_ROWS);
  const all = first === null ? told : [first, ...told];
  const most = Math.max(1e-12, ...all.flatMap((row) => row.values.map(Math.abs)));
  const head = element("tr", {}, element("th", { scope: "col", text: "" }));
  for (const name of columns)
    head.append(element("th", { scope: "col", text: short(name, 24), title: short(name, 300) }));
  const body = element("tbody");
  for (const { label, values } of all) {
    const cells: Child[] = values.map((value) =>
      element("td", {}, drawn(value / most), element("span", { class: "number", text: figure(value) })),
    );
    body.append(element("tr", {}, element("th", { scope: "row" }, ...label), ...cells));
  }
  const table = element("table", { class: "cpt signed" }, element("thead", {}, head), body);
  const said = `The ${whole(told.length)} largest of ${counted(total, what)} are shown.`;
  return element("div", {}, table, told.length < total && element("p", { class: "remark", text: said }));
}

function signedBar(share: number): HTMLElement {
  const full = element("span", { class: share < 0 ? "full minus" : "full plus" });
  full.style.width = `${50 * Math.abs(share)}%`;
  full.style[share < 0 ? "right" : "left"] = "50%";
  return element("span", { class: "bar both" }, full);
}
