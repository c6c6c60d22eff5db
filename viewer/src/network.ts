/** Who is joined to whom, by rank of strength: the questions the page asks about arcs, answered from flat arrays. */

import { COMPARED, type ViewDocument } from "./document.ts";

/** One arc seen from one of its ends. */
export interface Partner {
  readonly variable: number;
  readonly rank: number;
  readonly direction: "in" | "out";
}

/** A variable joined to another, by the stronger of their arcs where there is one each way. */
export interface Joined {
  readonly variable: number;
  readonly rank: number;
  readonly direction: "in" | "out" | "both";
}

export class Network {
  readonly size: number;
  readonly arcCount: number;
  /** All variables, those with the most arcs first. */
  readonly byDegree: readonly number[];
  /** Arcs at variable v are `at[start[v]] .. at[start[v + 1]]`, as ranks, strongest first. */
  private readonly start: Int32Array;
  private readonly at: Int32Array;

  constructor(readonly document: ViewDocument) {
    const { from, to } = document.arcs;
    this.size = document.variables.length;
    this.arcCount = from.length;
    this.start = new Int32Array(this.size + 1);
    for (const end of [from, to]) for (const v of end) this.start[v + 1]++;
    for (let v = 0; v < this.size; v++) this.start[v + 1] += this.start[v];
    this.at = new Int32Array(2 * from.length);
    const next = this.start.slice();
    for (let rank = 0; rank < from.length; rank++) {
      this.at[next[from[rank]]++] = rank;
      this.at[next[to[rank]]++] = rank;
    }
    const all = Array.from({ length: this.size }, (_, v) => v);
    this.byDegree = all.sort((a, b) => this.degree(b) - this.degree(a) || a - b);
  }

  /** The arc from one variable to another, if there is one. */
  hasArc(from: number, to: number): boolean {
    return this.partners(from).some(({ variable, direction }) => variable === to && direction === "out");
  }

  /** Arcs of a variable, strongest first; only those among the first `shown` arcs. */
  partners(v: number, shown = this.arcCount): Partner[] {
    const { from, to } = this.document.arcs;
    const found: Partner[] = [];
    for (let i = this.start[v]; i < this.start[v + 1] && this.at[i] < shown; i++) {
      const rank = this.at[i];
      if (to[rank] === v && from[rank] !== v) found.push({ variable: from[rank], rank, direction: "in" });
      if (from[rank] === v && to[rank] !== v) found.push({ variable: to[rank], rank, direction: "out" });
    }
    return found;
  }

  /** The variables joined to one, the strongest first. */
  joined(v: number): Joined[] {
    const found = new Map<number, Joined>();
    for (const partner of this.partners(v)) {
      const known = found.get(partner.variable);
      if (known === undefined) found.set(partner.variable, partner);
      else if (known.direction !== partner.direction) found.set(partner.variable, { ...known, direction: "both" });
    }
    return [...found.values()];
  }

  degree(v: number): number {
    return this.start[v + 1] - this.start[v];
  }

  /** The Markov blanket, by index: as the document says, or from the arcs; null where they do not tell. */
  blanket(v: number): number[] | null {
    const { blankets, kind, directed, summary } = this.document;
    if (blankets !== null) return [...blankets[v]].sort((a, b) => a - b);
    if (!BLANKET_FROM_ARCS.has(kind) || (summary.arcs ?? 0) > this.arcCount) return null;
    const members = new Set<number>();
    for (const partner of this.partners(v)) {
      if (kind === "dn" && partner.direction === "out") continue; // a dependency network's parents are its blanket
      members.add(partner.variable);
      if (!hasSpouses(kind, directed) || partner.direction !== "out") continue;
      for (const other of this.partners(partner.variable)) if (other.direction === "in") members.add(other.variable);
    }
    members.delete(v);
    return [...members].sort((a, b) => a - b);
  }
}

/** Kinds whose arcs tell all that a variable depends on: not those that show the strongest few of many relations. */
const BLANKET_FROM_ARCS: ReadonlySet<string> = new Set(["bn", "gbn", "dn", "mn", "tree", "gaussian-tree"]);

/** Do the parents of a variable's children belong to its blanket? */
export function hasSpouses(kind: string, directed: boolean): boolean {
  return directed && kind !== "dn" && kind !== COMPARED && !isField(kind);
}

/** A hybrid random field, alone or averaged. */
export function isField(kind: string): boolean {
  return kind.startsWith("hrf");
}
