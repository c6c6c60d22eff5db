/**
 * Who lights up, and as what, when a variable is selected.
 *
 * A dependency network shows what predicts it, what it predicts, and what does both; a Bayesian network parents,
 * children and spouses; an undirected one neighbours; a hybrid field its blanket, and relatives outside it. Two models
 * laid over each other give the same arc two meanings, so all that are joined to it are neighbours.
 */

import { COMPARED } from "./document.ts";
import { hasSpouses, isField, type Network } from "./network.ts";

export type Role =
  | "predicts"
  | "predicted"
  | "both"
  | "parent"
  | "child"
  | "spouse"
  | "neighbour"
  | "blanket"
  | "relative"
  | "joined";

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  predicts: "predicts it",
  predicted: "predicted by it",
  both: "both",
  parent: "parent",
  child: "child",
  spouse: "spouse",
  neighbour: "neighbour",
  blanket: "in its blanket",
  relative: "relative",
  joined: "neighbour",
};

/** The roles that a kind of model can have, in the order of the legend. */
export function rolesOfKind(kind: string, directed: boolean): readonly Role[] {
  if (isField(kind)) return ["blanket", "relative"];
  if (kind === COMPARED) return ["joined"];
  if (!directed) return ["neighbour"];
  return kind === "dn" ? ["predicts", "predicted", "both"] : ["parent", "child", "spouse"];
}

/** The role of every variable that has one towards `v`, over the first `shown` arcs. */
export function rolesOf(network: Network, v: number, shown: number): Map<number, Role> {
  const { kind, directed, relatives } = network.document;
  const roles = new Map<number, Role>();
  if (isField(kind)) {
    for (const relative of relatives?.[v] ?? []) roles.set(relative, "relative");
    for (const member of network.blanket(v) ?? []) roles.set(member, "blanket");
    return roles;
  }
  for (const { variable, direction } of network.partners(v, shown)) {
    roles.set(variable, joined(roles.get(variable), directRole(kind, directed, direction)));
  }
  if (hasSpouses(kind, directed)) {
    for (const spouse of spouses(network, v, shown)) if (!roles.has(spouse)) roles.set(spouse, "spouse");
  }
  return roles;
}

function directRole(kind: string, directed: boolean, direction: "in" | "out"): Role {
  if (kind === COMPARED) return "joined";
  if (!directed) return "neighbour";
  if (kind === "dn") return direction === "in" ? "predicts" : "predicted";
  return direction === "in" ? "parent" : "child";
}

function joined(before: Role | undefined, now: Role): Role {
  const opposite = (before === "predicts" && now === "predicted") || (before === "predicted" && now === "predicts");
  return before === "both" || opposite ? "both" : now;
}

function spouses(network: Network, v: number, shown: number): Set<number> {
  const found = new Set<number>();
  for (const child of network.partners(v, shown)) {
    if (child.direction !== "out") continue;
    for (const other of network.partners(child.variable, shown))
      if (other.direction === "in") found.add(other.variable);
  }
  found.delete(v);
  return found;
}
