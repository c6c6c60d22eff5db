/** What a drawn network can do, whether WebGL draws it (`graph.ts`) or plain SVG (`plain.ts`); and its picture. */

import { short } from "./dom.ts";
import { type ArcPaint, type Look, penFor } from "./look.ts";
import type { Box, Disc } from "./names.ts";
import type { Network } from "./network.ts";
import { type Scene, type Shape, textWidth } from "./scene.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface NetworkView {
  /** Other colours, sizes or names. */
  draw(look: Look, shown: number): void;
  /** The slider moved and nothing else. */
  show(shown: number): void;
  /** Bring a variable into sight. */
  reveal(variable: number): void;
  zoom(factor: number): void;
  fit(): void;
  /** Where a variable stands, in pixels from the corner of the view. */
  place(variable: number): Point;
  /** What is on screen, as shapes. */
  scene(): Scene;
  /** A sentence to show where less is drawn than was asked for. */
  readonly limits: string | null;
  kill(): void;
}

/** What a view tells, and asks. */
export interface ViewHost {
  select(variable: number | null): void;
  open(variable: number): void;
  /** What lies over the network, where no name should stand. */
  covered(): readonly Box[];
}

export interface Frame {
  readonly width: number;
  readonly height: number;
  /** Pixels per unit of the widths in a look. */
  readonly thickness: number;
  disc(variable: number): Disc;
  /** The names that are written, and where they begin. */
  readonly names: ReadonlyMap<number, Point>;
}

/** Pixels that an arc stands aside for another the other way. */
export const ASIDE = 3;
/** Of an arc that only the second of two models has. */
export const DASH = "5.4 3.6";

const NAME_LENGTH = 32;
const NAME_SIZE = 12;
const MOST_UNDER_NAMES = 300;

/** The scale of radii in a view of this size: on a small screen discs are smaller, and there is room between them. */
export function sizeOnScreen(width: number, height: number): number {
  return Math.sqrt(Math.min(1, Math.max(100, Math.min(width, height)) / 640));
}

/** The arcs that names keep clear of: those that are lit, or all that are shown; of many there is no keeping clear. */
export function arcsUnderNames(look: Look, shown: number): number[] {
  const count = look.selected !== null ? look.focus.size : shown;
  if (count > MOST_UNDER_NAMES) return [];
  return look.selected !== null ? [...look.focus.keys()] : Array.from({ length: count }, (_, rank) => rank);
}

/** The name of a variable as it stands on the network. */
export function nameOf(network: Network, v: number): string {
  return short(network.document.variables[v].name, NAME_LENGTH);
}

export function nameWidth(network: Network, look: Look, v: number): number {
  return textWidth(nameOf(network, v), NAME_SIZE, v === look.selected);
}

/** The network as shapes: arcs, above them those in focus, variables, names. */
export function networkScene(network: Network, look: Look, shown: number, frame: Frame): Scene {
  const shapes: Shape[] = [];
  const { color, alpha, width } = look.arcs;
  const pen = penFor(shown, look.arcs);
  for (let rank = Math.min(shown, network.arcCount) - 1; rank >= 0; rank--) {
    if (look.focus.has(rank)) continue;
    const paint = { color: color[rank], alpha: alpha[rank] * pen.alpha * look.fade, width: width[rank] * pen.width };
    shapes.push(...arcShapes(network, look, rank, paint, frame));
  }
  for (const [rank, paint] of look.focus) shapes.push(...arcShapes(network, look, rank, paint, frame));
  const inSight = (p: Point) => p.x > -20 && p.y > -20 && p.x < frame.width + 20 && p.y < frame.height + 20;
  const variables = Array.from({ length: network.size }, (_, v) => v).sort((a, b) => look.faded[b] - look.faded[a]);
  for (const v of variables) {
    const disc = frame.disc(v);
    if (!inSight(disc)) continue;
    const parts: Shape[] = [{ shape: "circle", ...disc, fill: look.nodeColor[v], alpha: look.nodeAlpha[v] }];
    const name = frame.names.get(v);
    if (name) parts.push(nameShape(network, look, v, name));
    shapes.push({ shape: "group", variable: v, label: short(network.document.variables[v].name, 200), shapes: parts });
  }
  return { width: frame.width, height: frame.height, ground: look.palette.ground, shapes };
}

export function nameShape(network: Network, look: Look, v: number, at: Point): Shape {
  const bold = v === look.selected;
  const { ink: fill, ground: halo } = look.palette;
  return { shape: "text", ...at, text: nameOf(network, v), size: NAME_SIZE, bold, fill, halo };
}

function arcShapes(network: Network, look: Look, rank: number, paint: ArcPaint, frame: Frame): Shape[] {
  const { arcs, directed } = network.document;
  let [from, to] = [frame.disc(arcs.from[rank]), frame.disc(arcs.to[rank])];
  if (look.arcs.aside[rank]) [from, to] = movedAside(from, to);
  const outside = (a: number, b: number, end: number) => (a < 0 && b < 0) || (a > end && b > end);
  if (outside(from.x, to.x, frame.width) || outside(from.y, to.y, frame.height)) return [];
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length <= to.r) return [];
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const width = Math.max(paint.width * frame.thickness, 0.6);
  const head = directed ? arrowLength(width) : 0;
  const tip = { x: to.x - dx * to.r, y: to.y - dy * to.r };
  const neck = { x: tip.x - dx * head, y: tip.y - dy * head };
  const { color, alpha } = paint;
  const dash = look.arcs.dashed[rank] === 1 ? DASH : undefined;
  const ends = { x1: from.x, y1: from.y, x2: neck.x, y2: neck.y };
  const line: Shape = { shape: "line", ...ends, stroke: color, width, alpha, dash };
  if (!directed) return [{ ...line, x2: to.x, y2: to.y }];
  const [sx, sy] = [-dy * head * 0.42, dx * head * 0.42];
  const point = (x: number, y: number) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const d = `M${point(tip.x, tip.y)} L${point(neck.x + sx, neck.y + sy)} L${point(neck.x - sx, neck.y - sy)} Z`;
  return [line, { shape: "path", d, fill: color, alpha }];
}

/** Both ends moved to the right of the arc, as the one the other way is moved to its own right. */
function movedAside(from: Disc, to: Disc): [Disc, Disc] {
  const length = Math.max(1e-9, Math.hypot(to.x - from.x, to.y - from.y));
  const [x, y] = [(ASIDE * (from.y - to.y)) / length, (ASIDE * (to.x - from.x)) / length];
  return [
    { ...from, x: from.x + x, y: from.y + y },
    { ...to, x: to.x + x, y: to.y + y },
  ];
}

/** Length of an arrowhead, in pixels, for an arc so wide. */
export function arrowLength(width: number): number {
  return 4 + 2.2 * width;
}
