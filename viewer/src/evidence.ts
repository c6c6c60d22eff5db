/** Evidence and its answers: how far each variable moved, and asking without answers that cross each other. */

import type { Variable, ViewDocument } from "./document.ts";
import { isolated, short } from "./dom.ts";
import type { Marginals, Source } from "./source.ts";

/** From 0 to 1: total variation between two distributions, or the shift of a mean in deviations, at most 1. */
export function shift(variable: Variable, now: readonly number[] | undefined): number {
  if (now === undefined || now.length === 0) return 0;
  if (variable.numeric !== null && variable.states.length === 0) {
    const { mean, deviation } = variable.numeric;
    return deviation > 0 ? Math.min(1, Math.abs(now[0] - mean) / deviation) : 0;
  }
  const before = variable.marginal;
  if (before === null || before.length !== now.length) return 0;
  return before.reduce((sum, p, s) => sum + Math.abs(p - now[s]), 0) / 2;
}

export function shifts(document: ViewDocument, answer: Marginals): Float64Array {
  return Float64Array.from(document.variables, (variable, v) => shift(variable, answer.marginals[v]));
}

/** The variables that moved most, those given left out. */
export function mostChanged(change: Float64Array, evidence: ReadonlyMap<number, number>, most: number): number[] {
  const others = Array.from(change.keys()).filter((v) => !evidence.has(v) && change[v] > 5e-4);
  return others.sort((a, b) => change[b] - change[a] || a - b).slice(0, most);
}

/** The state whose probability changed most. */
export function mostChangedState(before: readonly number[], now: readonly number[]): number {
  let best = 0;
  for (let s = 1; s < now.length; s++) if (Math.abs(now[s] - before[s]) > Math.abs(now[best] - before[best])) best = s;
  return best;
}

export type Answer =
  | { readonly state: "none" }
  | { readonly state: "asking" }
  | { readonly state: "found"; readonly marginals: Marginals }
  | { readonly state: "refused"; readonly reason: string };

/** What a found answer says first, for those who listen instead of looking. */
export function answerInWords(
  document: ViewDocument,
  evidence: ReadonlyMap<number, number>,
  marginals: Marginals,
): string {
  const changed = mostChanged(shifts(document, marginals), evidence, 3);
  if (changed.length === 0) return "Nothing else changed";
  return `Changed most: ${changed.map((v) => isolated(short(document.variables[v].name, 60))).join(", ")}`;
}

/** Asks for the latest evidence only: older questions are given up, and their answers dropped. */
export class Questions {
  private latest = new AbortController();

  constructor(
    private readonly source: Source,
    private readonly tell: (answer: Answer) => void,
  ) {}

  async ask(evidence: ReadonlyMap<number, number>): Promise<void> {
    this.latest.abort();
    const { signal } = (this.latest = new AbortController());
    const tell = (answer: Answer) => signal.aborted || this.tell(answer);
    if (evidence.size === 0 || this.source.marginals === null) return void tell({ state: "none" });
    tell({ state: "asking" });
    try {
      tell({ state: "found", marginals: await this.source.marginals(evidence, signal) });
    } catch (error) {
      tell({ state: "refused", reason: error instanceof Error ? error.message : String(error) });
    }
  }
}
