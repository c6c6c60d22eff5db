/**
 * The view state, and the address that carries it: `#v=3&k=74&e=1:0,5:2&c=1`.
 *
 * What is in the address can be shared, bookmarked and reloaded. Defaults are left out, so a fresh page has a clean
 * address; what cannot be read is ignored, for an address is typed and cut short by people.
 */

export interface ViewState {
  /** The selected variable. */
  readonly variable: number | null;
  /** How many of the strongest arcs are shown; null for the document's own start. */
  readonly shown: number | null;
  /** Variable → state index, or a number where the variable is numeric. */
  readonly evidence: ReadonlyMap<number, number>;
  /** Is the second document laid over the first? */
  readonly compare: boolean;
}

export const EMPTY: ViewState = { variable: null, shown: null, evidence: new Map(), compare: false };

export function readAddress(hash: string): ViewState {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    variable: index(fields.get("v")),
    shown: index(fields.get("k")),
    evidence: readEvidence(fields.get("e")),
    compare: fields.get("c") === "1",
  };
}

export function writeAddress(state: ViewState): string {
  const fields: string[] = [];
  if (state.variable !== null) fields.push(`v=${state.variable}`);
  if (state.shown !== null) fields.push(`k=${state.shown}`);
  if (state.evidence.size > 0) fields.push(`e=${[...state.evidence].map(([v, s]) => `${v}:${s}`).join(",")}`);
  if (state.compare) fields.push("c=1");
  return fields.length > 0 ? `#${fields.join("&")}` : "";
}

/** Drop what a document of so many variables and states cannot have. */
export function fitted(state: ViewState, stateCounts: readonly number[], nVariables: number): ViewState {
  const known = ([v, s]: [number, number]) =>
    v < stateCounts.length && (stateCounts[v] === 0 || (Number.isInteger(s) && s >= 0 && s < stateCounts[v]));
  const variable = state.variable !== null && state.variable < nVariables ? state.variable : null;
  return { ...state, variable, evidence: new Map([...state.evidence].filter(known)) };
}

function readEvidence(text: string | null): Map<number, number> {
  const found = new Map<number, number>();
  for (const part of (text ?? "").split(",")) {
    const [v, value] = part.split(":", 2);
    const [variable, number] = [index(v), Number(value)];
    if (variable !== null && value !== undefined && value !== "" && Number.isFinite(number))
      found.set(variable, number);
  }
  return found;
}

function index(text: string | null | undefined): number | null {
  return text != null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Holds the state and tells those who listen what it was and what it is. */
export class Store {
  private listeners: ((now: ViewState, before: ViewState) => void)[] = [];

  constructor(private current: ViewState) {}

  get state(): ViewState {
    return this.current;
  }

  update(change: Partial<ViewState>): void {
    const before = this.current;
    this.current = { ...before, ...change };
    for (const listener of this.listeners) listener(this.current, before);
  }

  listen(listener: (now: ViewState, before: ViewState) => void): void {
    this.listeners.push(listener);
  }
}
