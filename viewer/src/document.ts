/**
 * The view document: one plain value that holds everything the page shows of a model.
 *
 * Python writes it (`quiltwork.view.document`); the page reads nothing else. A document is checked once, here, so
 * that no other module has to ask whether an index is in range.
 */

export const FORMAT = "quiltwork-view";
export const VERSION = 1;
/** The kind of a document that is two laid over each other. */
export const COMPARED = "comparison";

export interface Variable {
  readonly name: string;
  readonly states: readonly string[];
  /** P(state), in the order of `states`; null where the model does not say. */
  readonly marginal: readonly number[] | null;
  readonly numeric: { readonly mean: number; readonly deviation: number } | null;
}

/** Arcs as flat columns, strongest first: the slider shows the first k of them. */
export interface Arcs {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly strength: readonly number[];
}

export interface Split {
  readonly split: number;
  readonly state: number | null;
  readonly branches: readonly { readonly label: string; readonly to: number }[];
  readonly gain?: number | null;
}

export interface Leaf {
  readonly leaf: true;
  readonly probs: readonly number[];
  readonly cases: number | null;
  /** True where a part of the tree was left out: the node tells the mean of what lay below it. */
  readonly folded?: boolean;
}

export type TreeNode = Split | Leaf;

export interface Weight {
  readonly variable: number;
  readonly state?: number | null;
  readonly weight: readonly number[];
}

/** How many rows, leaves, weights or features there are here, and how many in the model. */
export interface Counted {
  readonly shown: number;
  readonly total: number;
}

export interface TableLocal extends Counted {
  readonly type: "table";
  readonly child?: number;
  readonly parents: readonly number[];
  readonly rows: readonly (readonly number[])[];
}

export interface TreeLocal extends Counted {
  readonly type: "tree" | "graph";
  readonly nodes: readonly TreeNode[];
  readonly root: number;
}

export interface LogisticLocal extends Counted {
  readonly type: "logistic";
  readonly intercept: readonly number[];
  readonly weights: readonly Weight[];
}

export interface BoostedLocal extends Counted {
  readonly type: "boosted";
  readonly intercept: readonly number[];
  readonly weights: readonly Weight[];
  readonly importance: readonly { readonly variable: number; readonly gain: number }[];
  /** How many variables the trees ask about. */
  readonly asked: number;
  readonly trees: number;
}

export interface GaussianLocal extends Counted {
  readonly type: "gaussian";
  readonly intercept: number;
  readonly weights: readonly { readonly variable: number; readonly weight: number }[];
  readonly deviation: number;
}

export interface Feature {
  readonly conditions: readonly { readonly variable: number; readonly state: number }[];
  readonly weight: number;
}

export interface FeaturesLocal extends Counted {
  readonly type: "features";
  readonly features: readonly Feature[];
}

export interface FieldLocal {
  readonly type: "field";
  readonly parents?: readonly number[];
  readonly families: readonly TableLocal[];
}

export interface NoLocal {
  readonly type: "none";
  readonly reason: string;
}

export type LocalDistribution =
  TableLocal | TreeLocal | LogisticLocal | BoostedLocal | GaussianLocal | FeaturesLocal | FieldLocal | NoLocal;

export interface ViewDocument {
  readonly kind: string;
  readonly title: string;
  /** Of the file it was read from; empty where that is not known. */
  readonly name: string;
  readonly directed: boolean;
  readonly summary: { readonly [name: string]: number | null };
  readonly strength: { readonly name: string; readonly unit: string };
  /** Is a strength a place in an order, 1 for the first? */
  readonly ranked: boolean;
  readonly notes: readonly string[];
  readonly variables: readonly Variable[];
  readonly positions: readonly (readonly [number, number])[];
  readonly arcs: Arcs;
  readonly sliderStart: number;
  readonly blankets: readonly (readonly number[])[] | null;
  /** The variables of each local network of a hybrid field; null for other kinds. */
  readonly relatives: readonly (readonly number[])[] | null;
  /** One per variable, or null where the server is asked for each. */
  readonly locals: readonly LocalDistribution[] | null;
  /** False where the model cannot be asked for probabilities given evidence. */
  readonly evidence: boolean;
}

/** What is wrong with a document, in one sentence that a person can read. */
export class DocumentError extends Error {}

export function isLeaf(node: TreeNode): node is Leaf {
  return (node as Leaf).leaf === true;
}

export function isTree(local: LocalDistribution): local is TreeLocal {
  return local.type === "tree" || local.type === "graph";
}

/** Check a parsed document and give it its type. */
export function readDocument(value: unknown): ViewDocument {
  const raw = asObject(value, "The document");
  if (raw.format !== FORMAT) {
    throw new DocumentError(`This is not a Quiltwork view: its format must be "${FORMAT}", not ${shown(raw.format)}.`);
  }
  if (raw.version !== VERSION) {
    throw new DocumentError(
      `This view has version ${shown(raw.version)} and this page reads version ${VERSION}: ` +
        "open it with the version of quiltwork that wrote it.",
    );
  }
  const variables = asArray(raw.variables, "variables").map(readVariable);
  const arcs = readArcs(raw.arcs, variables.length);
  const locals = raw.locals == null ? null : asArray(raw.locals, "locals");
  if (locals !== null && locals.length !== variables.length) {
    throw new DocumentError(`The document has ${variables.length} variables but ${locals.length} local distributions.`);
  }
  return {
    kind: String(raw.kind ?? ""),
    title: String(raw.title ?? "Network"),
    name: String(raw.name ?? ""),
    directed: raw.directed === true,
    summary: asObject(raw.summary ?? {}, "summary") as ViewDocument["summary"],
    strength: readStrength(raw.strength),
    ranked: false,
    notes: asArray(raw.notes ?? [], "notes").map(String),
    variables,
    positions: readPositions(raw.positions, variables.length),
    arcs,
    sliderStart: clamp(Math.round(Number(raw.slider_start ?? arcs.from.length)), 0, arcs.from.length),
    blankets: readSets(raw.blankets, variables.length, "blankets"),
    relatives: readSets(raw.relatives, variables.length, "relatives"),
    locals: locals as readonly LocalDistribution[] | null,
    evidence: raw.evidence !== false,
  };
}

function readVariable(value: unknown, index: number): Variable {
  const raw = asObject(value, `Variable ${index}`);
  const states = asArray(raw.states ?? [], `the states of variable ${index}`).map(String);
  const marginal = numbers(raw.marginal ?? [], `the marginal of variable ${index}`);
  if (marginal.length > 0 && states.length > 0 && marginal.length !== states.length) {
    throw new DocumentError(`Variable ${index} has ${states.length} states but ${marginal.length} probabilities.`);
  }
  const numeric = raw.numeric == null ? null : asObject(raw.numeric, `the moments of variable ${index}`);
  return {
    name: String(raw.name),
    states,
    marginal: marginal.length > 0 ? marginal : null,
    numeric: numeric && { mean: Number(numeric.mean), deviation: Number(numeric.deviation) },
  };
}

function readArcs(value: unknown, nVariables: number): Arcs {
  const raw = asObject(value, "The arcs");
  const [from, to] = [numbers(raw.from, "arcs.from"), numbers(raw.to, "arcs.to")];
  const strength = numbers(raw.strength, "arcs.strength");
  if (from.length !== to.length || from.length !== strength.length) {
    throw new DocumentError("The columns of the arcs must be equally long.");
  }
  for (const end of [from, to]) for (const v of end) checkIndex(v, nVariables, "An arc");
  return { from, to, strength };
}

function readPositions(value: unknown, nVariables: number): [number, number][] {
  const raw = asArray(value, "positions");
  if (raw.length !== nVariables) {
    throw new DocumentError(`The document has ${nVariables} variables but ${raw.length} positions.`);
  }
  return raw.map((pair, index) => {
    const [x, y] = numbers(pair, `the position of variable ${index}`);
    return [x, y];
  });
}

/** A set of variables for each variable. */
function readSets(value: unknown, nVariables: number, what: string): number[][] | null {
  if (value == null) return null;
  const sets = asArray(value, what).map((own) => numbers(own, what));
  if (sets.length !== nVariables) {
    throw new DocumentError(`The document has ${nVariables} variables but ${sets.length} ${what}.`);
  }
  for (const own of sets) for (const v of own) checkIndex(v, nVariables, `One of the ${what}`);
  return sets;
}

function readStrength(value: unknown): ViewDocument["strength"] {
  const raw = asObject(value ?? {}, "strength");
  return { name: String(raw.name ?? "strength"), unit: String(raw.unit ?? "") };
}

function checkIndex(v: number, nVariables: number, what: string): void {
  if (!Number.isInteger(v) || v < 0 || v >= nVariables) {
    throw new DocumentError(`${what} names variable ${v}, and there are ${nVariables}.`);
  }
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DocumentError(`${what} must be an object, not ${shown(value)}.`);
  }
  return value as Record<string, unknown>;
}

function asArray(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw new DocumentError(`The document's ${what} must be a list, not ${shown(value)}.`);
  return value;
}

function numbers(value: unknown, what: string): number[] {
  const list = asArray(value, what);
  for (const x of list) {
    if (typeof x !== "number" || !Number.isFinite(x)) {
      throw new DocumentError(`The document's ${what} must be numbers, not ${shown(x)}.`);
    }
  }
  return list as number[];
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 40);
}

export function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}
