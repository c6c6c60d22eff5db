/**
 * Two models of the same variables laid over each other: arcs only in one, only in the other, in both.
 *
 * Variables are matched by name. An arc is in both when both documents have it at all, wherever the slider stands.
 * Strengths of two models have no common scale, so an arc stands where it stands in the order of its own model: in the
 * better of its two places where both have it.
 */

import { type Arcs, COMPARED, type Variable, type ViewDocument } from "./document.ts";

export type Side = "first" | "second" | "both";

/** One of the two models, and its variables among those of both. */
export interface Model {
  /** Its file, or "the first", "the second". */
  readonly called: string;
  readonly document: ViewDocument;
  /** Of each of its variables, the one of the comparison. */
  readonly joint: readonly number[];
  /** Of each variable of the comparison, its own; undefined where it has none. */
  readonly own: readonly (number | undefined)[];
}

export interface Comparison {
  /** The variables of the first document and those that only the second has, and the arcs of both. */
  readonly document: ViewDocument;
  readonly models: readonly [Model, Model];
  /** Of each arc of `document`. */
  readonly sides: readonly Side[];
  readonly counts: Readonly<Record<Side | "reversed", number>>;
  /** Variables that only one of the two has, by name. */
  readonly strangers: readonly string[];
}

interface Joint {
  from: number;
  to: number;
  side: Side;
  rank: number;
}

export function compareDocuments(first: ViewDocument, second: ViewDocument): Comparison {
  const { variables, positions, indexOfSecond, strangers } = joinedVariables(first, second);
  const directed = first.directed && second.directed;
  const key = (from: number, to: number) =>
    directed || from < to ? from * variables.length + to : to * variables.length + from;
  const joint = new Map<number, Joint>();
  const add = (from: number, to: number, side: Side, rank: number) => {
    const known = joint.get(key(from, to));
    if (known === undefined) joint.set(key(from, to), { from, to, side, rank });
    else {
      known.rank = Math.min(known.rank, rank);
      if (known.side !== side) known.side = "both";
    }
  };
  eachArc(first.arcs, (from, to, rank) => add(from, to, "first", rank));
  eachArc(second.arcs, (from, to, rank) => add(indexOfSecond[from], indexOfSecond[to], "second", rank));
  const arcs = [...joint.values()].sort((a, b) => a.rank - b.rank || key(a.from, a.to) - key(b.from, b.to));
  const counts = { first: 0, second: 0, both: 0, reversed: 0 };
  for (const arc of arcs) {
    counts[arc.side]++;
    if (arc.side === "first" && joint.get(key(arc.to, arc.from))?.side === "second") counts.reversed++;
  }
  const sliderStart = Math.min(arcs.length, first.sliderStart + second.sliderStart - counts.both);
  return {
    document: {
      ...first,
      kind: COMPARED,
      title: titleOf(first, second),
      name: "",
      directed,
      summary: {},
      strength: { name: "place among the arcs of its model", unit: "" },
      ranked: true,
      variables,
      positions,
      arcs: { from: arcs.map((a) => a.from), to: arcs.map((a) => a.to), strength: arcs.map((a) => a.rank + 1) },
      sliderStart: Math.max(sliderStart, Math.min(first.sliderStart, arcs.length)),
      blankets: null,
      relatives: null,
      locals: null,
    },
    models: modelsOf(first, second, indexOfSecond, variables.length),
    sides: arcs.map((a) => a.side),
    counts,
    strangers,
  };
}

function titleOf(first: ViewDocument, second: ViewDocument): string {
  const named = first.name !== "" && second.name !== "";
  const [one, other] = named ? [first.name, second.name] : [first.title, second.title];
  return one === other ? `Two models: ${one}` : `${one} beside ${other}`;
}

function modelsOf(first: ViewDocument, second: ViewDocument, joint: readonly number[], size: number): [Model, Model] {
  const own: (number | undefined)[] = new Array(size).fill(undefined);
  for (const [v, place] of joint.entries()) own[place] = v;
  const all = Array.from({ length: size }, (_, v) => v);
  const known = first.variables.length;
  const files = first.name !== second.name && first.name !== "" && second.name !== "";
  const called = files ? [first.name, second.name] : ["the first", "the second"];
  return [
    { called: called[0], document: first, joint: all, own: all.map((v) => (v < known ? v : undefined)) },
    { called: called[1], document: second, joint, own },
  ];
}

function joinedVariables(first: ViewDocument, second: ViewDocument) {
  const same = (v: Variable, i: number) => second.variables[i]?.name === v.name;
  if (first.variables.length === second.variables.length && first.variables.every(same)) {
    const { variables, positions } = first; // also where long names were cut to the same beginning
    return { variables, positions, indexOfSecond: variables.map((_, i) => i), strangers: [] };
  }
  const variables: Variable[] = [...first.variables];
  const positions = [...first.positions];
  const indexOf = new Map(variables.map((v, i) => [v.name, i]));
  const indexOfSecond = second.variables.map((variable, i) => {
    const known = indexOf.get(variable.name);
    if (known !== undefined) return known;
    variables.push(variable);
    positions.push(second.positions[i]);
    return variables.length - 1;
  });
  const inSecond = new Set(second.variables.map((v) => v.name));
  const strangers = [
    ...first.variables.filter((v) => !inSecond.has(v.name)).map((v) => v.name),
    ...variables.slice(first.variables.length).map((v) => v.name),
  ];
  return { variables, positions, indexOfSecond, strangers };
}

function eachArc(arcs: Arcs, visit: (from: number, to: number, rank: number) => void): void {
  for (let rank = 0; rank < arcs.from.length; rank++) visit(arcs.from[rank], arcs.to[rank], rank);
}
