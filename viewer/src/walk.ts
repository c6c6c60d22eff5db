/** Walking through the network with the arrow keys: the nearest variable in a direction. */

import type { Point } from "./view.ts";

export type Direction = "left" | "right" | "up" | "down";

const UNIT: Readonly<Record<Direction, readonly [number, number]>> = {
  left: [-1, 0],
  right: [1, 0],
  up: [0, -1],
  down: [0, 1],
};

/** The variable that a step from `from` leads to; null where none stands in that direction. */
export function stepTo(from: number, direction: Direction, count: number, place: (v: number) => Point): number | null {
  const [dx, dy] = UNIT[direction];
  const start = place(from);
  let [best, least]: [number | null, number] = [null, Infinity];
  for (let v = 0; v < count; v++) {
    if (v === from) continue;
    const at = place(v);
    const along = (at.x - start.x) * dx + (at.y - start.y) * dy;
    const aside = Math.abs((at.x - start.x) * dy) + Math.abs((at.y - start.y) * dx);
    if (along <= 0 || aside > 2 * along) continue;
    const far = along + 2 * aside;
    if (far < least) [best, least] = [v, far];
  }
  return best;
}
