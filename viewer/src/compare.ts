/**
 * Two models of the same variables laid over each other: arcs only in one, only in the other, in both.
 *
 * Variables are matched by name. An arc is in both when both documents have it at all, wherever the slider stands;
 * the slider goes through all arcs in the order of their better rank.
 */

import type { Arcs, Variable, ViewDocument } from "./document.ts";

export type Side = "first" | "second" | "both";

export interface Comparison {
  /** The first document, with the variables and arcs that only the second has appended. */
  readonly document: ViewDocument;
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
  strength: number;
}

export function compareDocuments(first: ViewDocument, second: ViewDocument): Comparison {
  const { variables, positions, indexOfSecond, strangers } = joinedVariables(first, second);
  const directed = first.directed && second.directed;
  const key = (from: number, to: number) =>
    directed || from < to ? from * variables.length + to : to * variables.length + from;
  const joint = new Map<number, Joint>();
  const add = (from: number, to: number, side: Side, rank: number, strength: number) => {
    const known = joint.get(key(from, to));
    if (known === undefined) joint.set(key(from, to), { from, to, side, rank, strength });
    else {
      known.rank = Math.min(known.rank, rank);
      if (known.side !== side) known.side = "both";
    }
  };
  eachArc(first.arcs, (from, to, rank, strength) => add(from, to, "first", rank, strength));
  eachArc(second.arcs, (from, to, rank, strength) =>
    add(indexOfSecond[from], indexOfSecond[to], "second", rank, strength),
  );
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
      directed,
      variables,
      positions,
      arcs: { from: arcs.map((a) => a.from), to: arcs.map((a) => a.to), strength: arcs.map((a) => a.strength) },
      sliderStart: Math.max(sliderStart, Math.min(first.sliderStart, arcs.length)),
      blankets: first.blankets && padded(first.blankets, variables.length),
      relatives: first.relatives && padded(first.relatives, variables.length),
    },
    sides: arcs.map((a) => a.side),
    counts,
    strangers,
  };
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

function padded(sets: readonly (readonly number[])[], length: number): (readonly number[])[] {
  return Array.from({ length }, (_, v) => sets[v] ?? []);
}

function eachArc(arcs: Arcs, visit: (from: number, to: number, rank: number, strength: number) => void): void {
  for (let rank = 0; rank < arcs.from.length; rank++) visit(arcs.from[rank], arcs.to[rank], rank, arcs.strength[rank]);
}
