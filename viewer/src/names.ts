/**
 * Where names stand: beside their variables, where they cover neither another name nor another variable, and few arcs.
 *
 * The selected variable's name finds its place first, then those of the evidence, then the rest, those with the most
 * arcs first. A name without a free place may cover smaller variables, for in the middle of a large network every place
 * is taken and it is the hubs there that a reader looks for. Else it is left out, unless it must be written.
 */

import { clamp } from "./document.ts";
import type { Look } from "./look.ts";
import type { Network } from "./network.ts";
import type { Point } from "./view.ts";

export interface Disc extends Point {
  readonly r: number;
}

type Line = readonly [Point, Point];

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** What names stand on. */
export interface Stage {
  readonly width: number;
  readonly height: number;
  /** What lies over the network: the legend, the buttons. */
  readonly covered: readonly Box[];
  /** Arcs to keep clear of, by rank. */
  readonly arcs: readonly number[];
  disc(v: number): Disc;
  /** Of the name of a variable, in pixels. */
  widthOf(v: number): number;
}

const HEIGHT = 15;
const GAP = 4;
/** Square pixels to each name, at the least: more names than that are a heap. */
const ROOM_FOR_ONE = 6000;
/** A name covers variables up to this share of its own one's radius. */
const SMALLER = 0.85;
/** Pixels between a name and other variables, where there is room: it is read as the nearest one's. */
const CLEAR = 5;
/** Less than any room. */
const [COVERS, NONE] = [-1, -2];

/** Where each name that is written begins: its left end, on its base line. The variables come with the most arcs first. */
export function placeNames(
  network: Network,
  look: Look,
  variables: readonly number[],
  stage: Stage,
): Map<number, Point> {
  const { named, faded, selected } = look;
  const speakers = new Map<number, Disc>();
  for (const v of variables) {
    if (faded[v] && !named[v]) continue;
    const disc = stage.disc(v);
    if (disc.x >= 0 && disc.y >= 0 && disc.x <= stage.width && disc.y <= stage.height) speakers.set(v, disc);
  }
  const { from, to } = network.document.arcs;
  const lines = stage.arcs.map((rank): Line => [stage.disc(from[rank]), stage.disc(to[rank])]);
  const room = new Room(stage, [...speakers.values()], lines);
  const places = new Map<number, Point>();
  let left = (stage.width * stage.height) / ROOM_FOR_ONE;
  const place = (v: number) => {
    const at = room.take(speakers.get(v)!, stage.widthOf(v), named[v] === 1);
    if (at === null) return;
    places.set(v, at);
    left--;
  };
  if (selected !== null && speakers.has(selected)) place(selected);
  for (const v of speakers.keys()) if (named[v] && v !== selected) place(v);
  for (const v of speakers.keys()) {
    if (left <= 0) break;
    if (!named[v]) place(v);
  }
  return places;
}

/** What is taken of the view: by variables, by names, and by what lies over it. */
export class Room {
  private readonly taken: Box[];
  /** Discs by the cells of a grid that their centres lie in. */
  private readonly cells = new Map<number, Disc[]>();
  private readonly cell = 32;
  private largest = 0;

  constructor(
    private readonly view: Pick<Stage, "width" | "height" | "covered">,
    discs: readonly Disc[],
    private readonly lines: readonly Line[] = [],
  ) {
    this.taken = [...view.covered];
    for (const disc of discs) {
      this.largest = Math.max(this.largest, disc.r);
      const key = this.key(Math.floor(disc.x / this.cell), Math.floor(disc.y / this.cell));
      const own = this.cells.get(key);
      if (own === undefined) this.cells.set(key, [disc]);
      else own.push(disc);
    }
  }

  /** Room for a name of this width beside its disc; null where there is none and it need not be written. */
  take(own: Disc, width: number, needed: boolean): Point | null {
    const boxes = this.choices(own, width);
    const best = (least: number, room: readonly number[]) =>
      this.leastCrossed(boxes.filter((_, i) => room[i] >= least));
    const room = boxes.map((box) => this.room(box, own, SMALLER * own.r));
    let box = best(CLEAR, room) ?? best(0, room) ?? best(COVERS, room);
    if (needed && box === undefined) {
      const anywhere = boxes.map((other) => this.room(other, own, Infinity));
      box = best(COVERS, anywhere) ?? this.inside(boxes[0]);
    }
    if (box === undefined) return null;
    this.taken.push(box);
    return { x: box.left, y: box.bottom - GAP };
  }

  /** Right, left, below, above, and between them. */
  private choices({ x, y, r }: Disc, width: number): Box[] {
    const box = (left: number, top: number): Box => ({ left, top, right: left + width + 3, bottom: top + HEIGHT });
    const [middle, corner] = [y - HEIGHT / 2 + 1, 0.75 * r];
    const beside = [box(x + r + GAP, middle), box(x - r - GAP - width - 3, middle)];
    const [below, above] = [y + r + 1, y - r - HEIGHT - 1].map((top) => box(x - width / 2, top));
    const between = [y + corner, y - corner - HEIGHT].flatMap((top) => [
      box(x + corner, top),
      box(x - corner - width - 3, top),
    ]);
    return [...beside, below, above, ...between];
  }

  /** Pixels to the next disc, up to CLEAR; COVERS where it lies on discs up to this radius; NONE on larger ones, on
   * a name, or out of the view. */
  private room(box: Box, own: Disc, smaller: number): number {
    const { width, height } = this.view;
    if (box.left < 0 || box.top < 0 || box.right > width || box.bottom > height) return NONE;
    for (const other of this.taken)
      if (box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
        return NONE;
    const column = (x: number) => Math.floor(x / this.cell);
    const reach = this.largest + CLEAR;
    const [bottom, right] = [column(box.bottom + reach), column(box.right + reach)];
    let room = CLEAR;
    for (let i = column(box.left - reach); i <= right; i++) {
      for (let j = column(box.top - reach); j <= bottom; j++) {
        const here = this.cells.get(this.key(i, j));
        if (here === undefined) continue;
        for (const disc of here) {
          if (disc === own) continue;
          const gap = distance(box, disc) - disc.r;
          if (gap >= 0) room = Math.min(room, gap);
          else if (disc.r > smaller) return NONE;
          else room = COVERS;
        }
      }
    }
    return room;
  }

  /** The first of the boxes that the fewest arcs go through. */
  private leastCrossed(boxes: readonly Box[]): Box | undefined {
    if (boxes.length < 2) return boxes[0];
    const crossings = boxes.map((box) => this.lines.reduce((sum, line) => sum + (crosses(line, box) ? 1 : 0), 0));
    return boxes[crossings.indexOf(Math.min(...crossings))];
  }

  private inside(box: Box): Box {
    const across = clamp(0, -box.left, this.view.width - box.right);
    const along = clamp(0, -box.top, this.view.height - box.bottom);
    const { left, right, top, bottom } = box;
    return { left: left + across, right: right + across, top: top + along, bottom: bottom + along };
  }

  private key(i: number, j: number): number {
    return (i + 1000) * 100_000 + j + 1000;
  }
}

/** Does any of the line lie in the box? It is cut off at each of the four sides in turn. */
function crosses([a, b]: Line, box: Box): boolean {
  let [first, last] = [0, 1];
  const sides = [
    [a.x - b.x, a.x - box.left],
    [b.x - a.x, box.right - a.x],
    [a.y - b.y, a.y - box.top],
    [b.y - a.y, box.bottom - a.y],
  ];
  for (const [step, room] of sides) {
    if (step === 0 && room < 0) return false;
    if (step < 0) first = Math.max(first, room / step);
    if (step > 0) last = Math.min(last, room / step);
  }
  return first <= last;
}

function distance(box: Box, { x, y }: Disc): number {
  const dx = Math.max(box.left - x, 0, x - box.right);
  const dy = Math.max(box.top - y, 0, y - box.bottom);
  return Math.sqrt(dx * dx + dy * dy); // Math.hypot takes ten times as long
}
