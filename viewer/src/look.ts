/**
 * How every variable and arc looks in the present state: colour, width, fading, whose name must be written.
 *
 * One pure function decides; the WebGL view, the plain view and the exported picture all draw what it says.
 */

import type { Side } from "./compare.ts";
import type { Network } from "./network.ts";
import { mix, type Palette } from "./palette.ts";
import { type Role, rolesOf } from "./roles.ts";

export interface Look {
  readonly palette: Palette;
  readonly selected: number | null;
  /** Of each variable. */
  readonly nodeColor: readonly string[];
  readonly nodeAlpha: Float32Array;
  readonly nodeSize: Float32Array;
  /** Whose name must be written, whatever it covers. */
  readonly named: Uint8Array;
  readonly faded: Uint8Array;
  /** Of all arcs, whatever is selected and however many are shown. */
  readonly arcs: ArcLook;
  /** How much of their alpha the arcs keep beside a selected variable's own. */
  readonly fade: number;
  /** Arcs drawn above the rest, by rank. */
  readonly focus: ReadonlyMap<number, ArcPaint>;
}

/** By rank; the pen multiplies alpha and width. */
export interface ArcLook {
  readonly color: readonly string[];
  readonly alpha: Float32Array;
  readonly width: Float32Array;
  /** Which of them are dashed, and which are moved to their right, for the arc the other way is of the other model. */
  readonly dashed: Uint8Array;
  readonly aside: Uint8Array;
  /** Do the colours tell two models apart? */
  readonly compared: boolean;
}

/** Where many arcs are shown all are thinner and fainter, so that their sum can be read. */
export interface Pen {
  readonly alpha: number;
  readonly width: number;
}

export interface ArcPaint {
  readonly color: string;
  readonly alpha: number;
  readonly width: number;
}

export interface Situation {
  readonly network: Network;
  readonly palette: Palette;
  /** As `arcLook` made it, once for a network and a palette. */
  readonly arcs: ArcLook;
  readonly shown: number;
  readonly selected: number | null;
  readonly evidence: ReadonlyMap<number, number>;
  /** From 0 to 1: how far the evidence moved each variable; null without evidence. */
  readonly change: Float64Array | null;
}

/** What a faded variable keeps of its colour: the lit arcs behind it are seen through it. */
const FAINT = 0.28;

/** Stronger arcs are wider and darker. */
export function arcLook(network: Network, palette: Palette, sides: readonly Side[] | null): ArcLook {
  const n = network.arcCount;
  const [alpha, width] = [new Float32Array(n), new Float32Array(n)];
  const [dashed, aside] = [new Uint8Array(n), new Uint8Array(n)];
  const color: string[] = new Array(n);
  for (let rank = 0; rank < n; rank++) {
    const weight = (1 - rank / n) ** 2;
    color[rank] = sides === null ? palette.arc : palette.sides[sides[rank]];
    width[rank] = 1 + 1.5 * weight;
    alpha[rank] = 0.65 + 0.35 * weight;
    if (sides !== null) dashed[rank] = sides[rank] === "second" ? 1 : 0;
  }
  if (sides !== null) for (const rank of turnedRound(network, sides)) aside[rank] = 1;
  return { color, alpha, width, dashed, aside, compared: sides !== null };
}

/** Arcs that one model has one way and the other the other way. */
function turnedRound({ document: { arcs }, size }: Network, sides: readonly Side[]): number[] {
  const key = (from: number, to: number) => from * size + to;
  const sideOf = new Map(sides.map((side, rank) => [key(arcs.from[rank], arcs.to[rank]), side]));
  return [...sides.keys()].filter((rank) => {
    const other = sideOf.get(key(arcs.to[rank], arcs.from[rank]));
    return other !== undefined && other !== sides[rank];
  });
}

export function penFor(shown: number, { compared }: ArcLook): Pen {
  const crowd = 1 / (1 + shown / 4000);
  return { alpha: Math.min(1, 0.14 + 0.52 * crowd + (compared ? 0.25 : 0)), width: 0.6 + 0.8 * crowd };
}

export function lookOf(situation: Situation): Look {
  const { network, palette, arcs, selected, shown } = situation;
  const roles = selected === null ? null : rolesOf(network, selected, shown);
  const focus = roles === null ? new Map() : focusOf(situation, selected!, roles);
  return { palette, selected, ...nodesLook(situation, roles), arcs, fade: roles === null ? 1 : 0.3, focus };
}

function nodesLook({ network, palette, selected, evidence, change }: Situation, roles: Map<number, Role> | null) {
  const n = network.size;
  const nodeSize = nodeSizes(network);
  const nodeColor: string[] = new Array(n);
  const nodeAlpha = new Float32Array(n).fill(1);
  const [named, faded] = [new Uint8Array(n), new Uint8Array(n)];
  for (let v = 0; v < n; v++) {
    const role = roles?.get(v);
    if (v === selected) nodeColor[v] = palette.ink;
    else if (role !== undefined) nodeColor[v] = palette.roles[role];
    else if (roles === null && change !== null)
      nodeColor[v] = mix(palette.node, palette.changed, Math.sqrt(Math.min(1, change[v] * 1.5)));
    else nodeColor[v] = palette.node;
    if (evidence.has(v)) nodeColor[v] = palette.evidence;
    if (roles === null || v === selected || role !== undefined || evidence.has(v)) continue;
    faded[v] = 1;
    nodeAlpha[v] = FAINT;
  }
  if (selected !== null) {
    named[selected] = 1;
    nodeSize[selected] *= 1.35;
  }
  for (const v of evidence.keys()) if (v < n) named[v] = 1;
  return { nodeColor, nodeAlpha, nodeSize, named, faded };
}

/** The shown arcs of a variable in the colours of their roles, and those from its spouses to its children. */
function focusOf(situation: Situation, selected: number, roles: Map<number, Role>): Map<number, ArcPaint> {
  const { network, palette, shown, arcs } = situation;
  const focus = new Map<number, ArcPaint>();
  const add = (rank: number, role: Role) => {
    const weight = (1 - rank / network.arcCount) ** 2;
    const [alpha, width] = role === "spouse" ? [0.6, 1.2] : [0.95, 1.9];
    const color = arcs.compared ? arcs.color[rank] : palette.roles[role];
    focus.set(rank, { color, alpha, width: width + 1.4 * weight });
  };
  for (const { variable, rank, direction } of network.partners(selected, shown)) {
    const role = roles.get(variable);
    if (role !== undefined) add(rank, role);
    if (role !== "child" || direction !== "out") continue;
    for (const other of network.partners(variable, shown)) {
      if (other.direction === "in" && roles.get(other.variable) === "spouse") add(other.rank, "spouse");
    }
  }
  return focus;
}

/** Radii in pixels: smaller in larger networks, larger for variables with more arcs. */
export function nodeSizes(network: Network): Float32Array {
  const sizes = new Float32Array(network.size);
  const base = Math.min(11, Math.max(2.6, 15 - 3.7 * Math.log10(Math.max(network.size, 1))));
  let most = 1;
  for (let v = 0; v < network.size; v++) most = Math.max(most, network.degree(v));
  for (let v = 0; v < network.size; v++) sizes[v] = base * (0.7 + 0.6 * Math.sqrt(network.degree(v) / most));
  return sizes;
}
