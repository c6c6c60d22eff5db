/**
 * Where names stand: beside their variables, where they cover neither another name nor another variable.
 *
 * Four places are tried: right, left, below, above. In a small network a name that fits nowhere covers something
 * rather than being left out only if it must be written; in a large one the discs are too many to go round.
 */

import type { Point } from "./view.ts";

export interface Disc extends Point {
  readonly r: number;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Up to so many variables names keep clear of all discs. */
export const MOST_DISCS = 400;
const HEIGHT = 15;
const GAP = 4;

export class NamePlaces {
  /** Where each name that was placed begins: its left end, on its base line. */
  readonly places = new Map<number, Point>();
  private readonly boxes: Box[] = [];

  constructor(
    private readonly width: number,
    private readonly discs: readonly Disc[],
  ) {}

  /** The place of a name of this width beside its disc; null where it fits nowhere and need not be written. */
  place(v: number, disc: Disc, width: number, needed: boolean): Point | null {
    const choices = this.choices(disc, width);
    const beside = choices[nameLeft(disc, width, this.width) < disc.x ? 1 : 0];
    const box = choices.find((choice) => this.isFree(choice, disc)) ?? (needed ? beside : null);
    if (box === null) return null;
    this.boxes.push(box);
    const at = { x: box.left, y: box.bottom - GAP };
    this.places.set(v, at);
    return at;
  }

  private choices({ x, y, r }: Disc, width: number): Box[] {
    const box = (left: number, top: number): Box => ({ left, top, right: left + width + 3, bottom: top + HEIGHT });
    const middle = y - HEIGHT / 2 + 1;
    const right = box(x + r + GAP, middle);
    const left = box(x - r - GAP - width - 3, middle);
    return [right, left, box(x - width / 2, y + r + 1), box(x - width / 2, y - r - HEIGHT - 1)];
  }

  private isFree(box: Box, own: Disc): boolean {
    const overlaps = (other: Box) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
    if (box.left < 0 || box.right > this.width || this.boxes.some(overlaps)) return false;
    return this.discs.every((disc) => {
      if (disc.x === own.x && disc.y === own.y) return true;
      const nearest = { x: clampTo(disc.x, box.left, box.right), y: clampTo(disc.y, box.top, box.bottom) };
      return Math.hypot(disc.x - nearest.x, disc.y - nearest.y) >= disc.r;
    });
  }
}

/** The left end of a name right of its disc, or left of it where the view would cut it off. */
export function nameLeft({ x, r }: Disc, width: number, viewWidth: number): number {
  const [right, left] = [x + r + GAP, x - r - GAP - width];
  return right + width > viewWidth && left > 0 ? left : right;
}

function clampTo(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}
