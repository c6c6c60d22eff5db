/**
 * What a hand does on the network, with a mouse, a pen or fingers: click, double-click, drag, pan, pinch, wheel, hover.
 *
 * No hand is still: a press that moves by a few pixels is a click all the same, and moves nothing. Which clicks make a
 * double click is the system's to say, for people set it to their own pace; here both must hit the same variable.
 */

import type { Point, ViewHost } from "./view.ts";

/** What can be done to a drawn network. */
export interface Handled {
  /** The variable at a point, or the nearest within so many pixels of it. */
  variableAt(at: Point, reach: number): number | null;
  /** A variable is dragged to a point. */
  drag(variable: number, to: Point): void;
  /** It stays there. */
  drop(): void;
  pan(dx: number, dy: number): void;
  zoomAt(at: Point, factor: number): void;
  hover(variable: number | null): void;
}

/** Pixels that a press may move and still be a click, and that it may miss a variable by. */
const HANDS = { mouse: { still: 4, reach: 2 }, touch: { still: 10, reach: 14 } } as const;

interface Press {
  readonly start: Point;
  readonly variable: number | null;
  /** It has moved too far for a click. */
  far: boolean;
}

export function listenToPointer(container: HTMLElement, network: Handled, host: ViewHost, signal: AbortSignal): void {
  const down = new Map<number, Point>();
  let press: Press | null = null;
  let clicks: [before: number | null, last: number | null] = [null, null];

  const point = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = container.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const hand = ({ pointerType }: PointerEvent) => HANDS[pointerType === "mouse" ? "mouse" : "touch"];
  const hit = (event: PointerEvent) => network.variableAt(point(event), hand(event).reach);

  const pressed = (event: PointerEvent) => {
    if (event.button !== 0) return;
    if (event.isPrimary) {
      down.clear();
      press = { start: point(event), variable: hit(event), far: false };
    } else if (press !== null) press = { ...press, variable: null, far: true }; // a second finger
    down.set(event.pointerId, point(event));
  };

  const moved = (event: PointerEvent) => {
    if (event.buttons === 0) released(event); // also where the release was not heard
    const [from, to] = [down.get(event.pointerId), point(event)];
    if (from === undefined || press === null) {
      if (event.pointerType === "mouse") network.hover(hit(event));
      return;
    }
    if (!press.far && distance(press.start, to) <= hand(event).still) return;
    press.far = true;
    container.setPointerCapture(event.pointerId);
    network.hover(null);
    const other = [...down].find(([id]) => id !== event.pointerId);
    if (other !== undefined) pinch(network, from, to, other[1]);
    else if (press.variable !== null) network.drag(press.variable, to);
    else network.pan(to.x - from.x, to.y - from.y);
    down.set(event.pointerId, to);
  };

  const released = (event: PointerEvent) => {
    if (down.delete(event.pointerId) && down.size === 0 && press?.far && press.variable !== null) network.drop();
  };

  const clicked = () => {
    if (press === null || press.far) return;
    clicks = [clicks[1], press.variable];
    host.select(press.variable);
  };

  const doubleClicked = (event: MouseEvent) => {
    const [before, last] = clicks;
    if (press?.far || before !== last) return;
    if (last !== null) host.open(last);
    else network.zoomAt(point(event), 1.6);
  };

  const wheeled = (event: WheelEvent) => {
    event.preventDefault();
    network.hover(null);
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : 33 * event.deltaY; // or lines
    network.zoomAt(point(event), Math.exp(-pixels / (event.ctrlKey ? 100 : 400))); // with Ctrl it is a trackpad's pinch
  };

  const options = { signal };
  container.addEventListener("pointerdown", pressed, options);
  container.addEventListener("pointermove", moved, options);
  container.addEventListener("pointerup", released, options);
  container.addEventListener("pointercancel", released, options);
  container.addEventListener("pointerleave", () => network.hover(null), options);
  container.addEventListener("click", clicked, options);
  container.addEventListener("dblclick", doubleClicked, options);
  container.addEventListener("wheel", wheeled, { signal, passive: false });
}

/** Two fingers: the network follows both, without turning. */
function pinch(network: Handled, from: Point, to: Point, other: Point): void {
  const middle = { x: (to.x + other.x) / 2, y: (to.y + other.y) / 2 };
  network.pan((to.x - from.x) / 2, (to.y - from.y) / 2);
  network.zoomAt(middle, distance(to, other) / Math.max(1, distance(from, other)));
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
