/** A conditional probability table: a row for every configuration of the parents, a bar for every state. */

import type { TableLocal, ViewDocument } from "../document.ts";
import { element, fill, link, percent, short, whole } from "../dom.ts";

const MOST_STATES = 24;

export function tableElement(local: TableLocal, child: number, document: ViewDocument, go: (v: number) => void): Node {
  const { states, marginal } = document.variables[child];
  const drawn = shownStates(states.length, marginal);
  const parents = local.parents.map((p) => document.variables[p]);
  const head = element("tr", {});
  for (const [i, p] of local.parents.entries()) {
    head.append(
      element(
        "th",
        { scope: "col", class: "parent" },
        link(parents[i].name, () => go(p), `Open ${parents[i].name}`),
      ),
    );
  }
  for (const s of drawn)
    head.append(element("th", { scope: "col", text: short(states[s], 24), title: short(states[s], 300) }));
  const body = element("tbody");
  const counts = parents.map((parent) => parent.states.length);
  for (const [row, probs] of local.rows.entries()) body.append(rowElement(row, probs, counts, parents, drawn));
  const table = element("table", { class: "cpt" }, element("thead", {}, head), body);
  return element("div", {}, table, remarks(local, states.length, drawn.length));
}

/** The states of the parents in a row: configurations count up with the last parent fastest. */
export function configuration(row: number, counts: readonly number[]): number[] {
  const states = new Array<number>(counts.length);
  for (let i = counts.length - 1; i >= 0; i--) {
    const count = Math.max(1, counts[i]);
    states[i] = row % count;
    row = Math.floor(row / count);
  }
  return states;
}

/** A bar whose length is a probability, with the number beside it. */
export function bar(p: number, className = "bar"): HTMLElement {
  const full = element("span", { class: "full" });
  full.style.width = `${100 * Math.min(1, Math.max(0, p))}%`;
  return element("span", { class: className }, full);
}

function rowElement(
  row: number,
  probs: readonly number[],
  counts: readonly number[],
  parents: readonly ViewDocument["variables"][number][],
  drawn: readonly number[],
): HTMLElement {
  const made = element("tr");
  for (const [i, s] of configuration(row, counts).entries()) {
    const state = parents[i].states[s] ?? String(s);
    made.append(element("th", { scope: "row", text: short(state, 30), title: short(state, 300) }));
  }
  for (const s of drawn) {
    made.append(element("td", {}, bar(probs[s]), element("span", { class: "number", text: percent(probs[s]) })));
  }
  return made;
}

function shownStates(count: number, marginal: readonly number[] | null): number[] {
  const all = Array.from({ length: count }, (_, s) => s);
  if (count <= MOST_STATES) return all;
  const likely = all.sort((a, b) => (marginal?.[b] ?? 0) - (marginal?.[a] ?? 0)).slice(0, MOST_STATES);
  return likely.sort((a, b) => a - b);
}

function remarks(local: TableLocal, nStates: number, nDrawn: number): HTMLElement {
  const said = element("p", { class: "remark" });
  const parts: string[] = [];
  if (local.parents.length === 0) parts.push("It has no parents: this is its marginal distribution.");
  if (local.rows.length < local.total) {
    parts.push(`The first ${whole(local.rows.length)} of ${whole(local.total)} configurations are shown.`);
  }
  if (nDrawn < nStates) parts.push(`The ${whole(nDrawn)} likeliest of ${whole(nStates)} states are shown.`);
  fill(said, parts.join(" "));
  return said;
}
