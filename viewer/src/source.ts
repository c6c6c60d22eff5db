/**
 * Where documents and answers come from: the page's server, the file itself, or a notebook's kernel.
 *
 * The rest of the page does not know which. Only a source with Python behind it can be asked for probabilities
 * given evidence.
 */

import type { LocalDistribution } from "./document.ts";

/** Which of two models is asked; there may be only the first. */
export type Which = "first" | "second";

/** Probabilities given evidence, and how they were found. */
export interface Marginals {
  /** Of each variable: P(state), or mean and deviation where it is numeric. */
  readonly marginals: readonly (readonly number[])[];
  readonly method: string;
  readonly converged: boolean;
  readonly error: number | null;
  readonly note: string;
}

export interface Source {
  document(): Promise<unknown>;
  /** The second model's document; null where there is none. */
  other(): Promise<unknown>;
  /** One local distribution of a document that left them out. */
  local(variable: number, of: Which): Promise<LocalDistribution>;
  /** Null where there is nobody to ask; the signal says that nobody waits for the answer any more. */
  readonly marginals: ((evidence: ReadonlyMap<number, number>, signal: AbortSignal) => Promise<Marginals>) | null;
}

/** Why a question was refused, in the sentence that Python wrote. */
export class Refused extends Error {}

/** The page's own server, reached with the cookie it set. */
export function serverSource(): Source {
  return {
    document: () => getJson("/api/document"),
    other: () => getJson("/api/other"),
    local: (variable, of) =>
      getJson(`/api/${of === "first" ? "local" : "other"}/${variable}`) as Promise<LocalDistribution>,
    marginals: async (evidence, signal) => {
      const body = JSON.stringify({ evidence: Object.fromEntries(evidence) });
      const headers = { "Content-Type": "application/json" };
      return (await answer(await reach("/api/marginals", { method: "POST", headers, body, signal }))) as Marginals;
    },
  };
}

/** A self-contained file: documents stand in the page as JSON, and there is nobody to ask. */
export function fileSource(page: Document): Source | null {
  const read = (id: string) => {
    const text = page.getElementById(id)?.textContent;
    return text ? (JSON.parse(text) as unknown) : null;
  };
  if (page.getElementById("quiltwork-document") === null) return null;
  return {
    document: async () => read("quiltwork-document"),
    other: async () => read("quiltwork-other"),
    local: async () => ({
      type: "none",
      reason: "This file leaves the local distributions out, for it would be too large.",
    }),
    marginals: null,
  };
}

/** What anywidget hands to `render`: the Python object's traits and its messages. */
export interface WidgetModel {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, listener: (content: { id?: number } & Record<string, unknown>) => void): void;
  off(event: string, listener: (content: { id?: number } & Record<string, unknown>) => void): void;
}

/** A notebook: documents are traits; questions are messages to the kernel, matched by number. */
export function widgetSource(model: WidgetModel): Source {
  let count = 0;
  const ask = (question: Record<string, unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++count;
      const listener = (content: { id?: number } & Record<string, unknown>) => {
        if (content.id !== id) return;
        model.off("msg:custom", listener);
        clearTimeout(timer);
        if (typeof content.error === "string") reject(new Refused(content.error));
        else resolve(content.answer);
      };
      const timer = setTimeout(() => {
        model.off("msg:custom", listener);
        reject(new Refused("The notebook's kernel did not answer within a minute: is it still running?"));
      }, 60_000);
      model.on("msg:custom", listener);
      model.send({ id, ...question });
    });
  return {
    document: async () => model.get("document"),
    other: async () => model.get("other") ?? null,
    local: (variable, of) =>
      ask({ ask: of === "first" ? "local" : "other", variable }) as Promise<LocalDistribution>,
    marginals: (evidence) => ask({ ask: "marginals", evidence: Object.fromEntries(evidence) }) as Promise<Marginals>,
  };
}

async function getJson(path: string): Promise<unknown> {
  return answer(await reach(path));
}

async function reach(path: string, request: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", ...request });
  } catch {
    throw new Refused("The server does not answer: was it stopped? Start it again, and open the address it prints.");
  }
}

async function answer(response: Response): Promise<unknown> {
  if (response.ok) return response.json();
  const said = (await response.json().catch(() => null)) as { error?: unknown } | null;
  if (response.status === 401)
    throw new Refused("The key of this page is old: open the address that was printed when the viewer started last.");
  throw new Refused(
    typeof said?.error === "string" ? said.error : `The server answered with status ${response.status}.`,
  );
}
