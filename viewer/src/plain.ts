/**
 * The network without WebGL: the strongest arcs and their variables as SVG, and a sentence that says so.
 *
 * An SVG of thousands of elements answers slowly, so less is drawn: at most 300 variables and 600 arcs, those of the
 * strongest arcs first, and the selected variable always.
 */

import { short, whole } from "./dom.ts";
import type { Look } from "./look.ts";
import { NamePlaces } from "./names.ts";
import type { Network } from "./network.ts";
import { type Scene, sceneElement } from "./scene.ts";
import { NAME_LENGTH, type NetworkView, networkScene, type Point, type ViewEvents } from "./view.ts";

const MOST_ARCS = 600;
const MOST_VARIABLES = 300;
const PADDING = 48;
const LETTER = 6.8; // the mean width of a letter

export class PlainView implements NetworkView {
  private readonly centre = { x: 0.5, y: 0.5 };
  private ratio = 1;
  private readonly sizes: ResizeObserver;

  constructor(
    private readonly network: Network,
    private readonly container: HTMLElement,
    private readonly events: ViewEvents,
    private look: Look,
    private shown: number,
  ) {
    this.sizes = new ResizeObserver(() => this.paint());
    this.sizes.observe(container);
    this.listen();
    this.paint();
  }

  get limits(): string {
    const { size } = this.network;
    const less = size > MOST_VARIABLES || this.shown > MOST_ARCS;
    const what = `up to ${whole(MOST_ARCS)} arcs and ${whole(MOST_VARIABLES)} variables`;
    return (
      "This browser has no WebGL, so the network is drawn the plain way" +
      (less ? `: only the strongest are shown, ${what}.` : ".")
    );
  }

  draw(look: Look, shown: number): void {
    this.look = look;
    this.show(shown);
  }

  show(shown: number): void {
    this.shown = shown;
    this.paint();
  }

  reveal(variable: number): void {
    const [at, { width, height }] = [this.place(variable), this.frame()];
    if (at.x > PADDING && at.y > PADDING && at.x < width - PADDING && at.y < height - PADDING) return;
    const [x, y] = this.network.document.positions[variable];
    Object.assign(this.centre, { x, y: 1 - y });
    this.paint();
  }

  zoom(factor: number): void {
    this.ratio = Math.min(40, Math.max(0.3, this.ratio * factor));
    this.paint();
  }

  fit(): void {
    Object.assign(this.centre, { x: 0.5, y: 0.5 });
    this.ratio = 1;
    this.paint();
  }

  place(variable: number): Point {
    const { width, height, span } = this.frame();
    const [x, y] = this.network.document.positions[variable];
    return { x: width / 2 + (x - this.centre.x) * span, y: height / 2 + (1 - y - this.centre.y) * span };
  }

  scene(): Scene {
    const { width, height } = this.frame();
    const drawn = this.drawnVariables();
    const scale = Math.min(1.6, Math.sqrt(this.ratio));
    const full = networkScene(this.network, this.look, Math.min(this.shown, MOST_ARCS), {
      width,
      height,
      scale,
      place: (v) => this.place(v),
      names: this.namePlaces(drawn, scale),
    });
    const shapes = full.shapes.filter((s) => s.shape !== "group" || s.variable === undefined || drawn.has(s.variable));
    return { ...full, shapes };
  }

  kill(): void {
    this.sizes.disconnect();
    this.container.replaceChildren();
  }

  private frame(): { width: number; height: number; span: number } {
    const { clientWidth: width, clientHeight: height } = this.container;
    return { width, height, span: Math.max(50, Math.min(width, height) - 2 * PADDING) * this.ratio };
  }

  private paint(): void {
    const picture = sceneElement(this.scene(), {
      click: (v) => this.events.select(v),
      doubleClick: (v) => this.events.open(v),
    });
    picture.setAttribute("class", "plain");
    const focused = this.container.contains(document.activeElement) && document.activeElement;
    const variable = focused ? focused.getAttribute("data-variable") : null;
    this.container.replaceChildren(picture);
    if (variable !== null) picture.querySelector<SVGElement>(`[data-variable="${Number(variable)}"]`)?.focus();
  }

  /** The ends of the strongest arcs, then variables by index, up to the limit; the selected one always. */
  private drawnVariables(): Set<number> {
    const { from, to } = this.network.document.arcs;
    const drawn = new Set<number>();
    if (this.look.selected !== null) drawn.add(this.look.selected);
    for (let rank = 0; rank < Math.min(this.shown, MOST_ARCS); rank++) drawn.add(from[rank]).add(to[rank]);
    for (let v = 0; v < this.network.size && drawn.size < MOST_VARIABLES; v++) drawn.add(v);
    return drawn;
  }

  /** Names that find room, those that must be written first. */
  private namePlaces(drawn: Set<number>, scale: number): ReadonlyMap<number, Point> {
    const { look, network } = this;
    const disc = (v: number) => ({ ...this.place(v), r: look.nodeSize[v] * scale });
    const names = new NamePlaces(this.frame().width, Array.from(drawn, disc));
    for (const v of [...drawn].sort((a, b) => look.named[b] - look.named[a] || look.nodeSize[b] - look.nodeSize[a])) {
      if (look.selected !== null && !look.named[v]) continue;
      const name = short(network.document.variables[v].name, NAME_LENGTH);
      names.place(v, disc(v), LETTER * name.length, look.named[v] === 1);
    }
    return names.places;
  }

  private listen(): void {
    this.container.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400));
    });
    let [x, y, down, far] = [0, 0, false, false];
    this.container.addEventListener("pointerdown", (event) => {
      [x, y, down, far] = [event.clientX, event.clientY, true, false];
    });
    this.container.addEventListener("pointermove", (event) => {
      if (!down || Math.hypot(event.clientX - x, event.clientY - y) < (far ? 0 : 4)) return;
      far = true;
      const { span } = this.frame();
      this.centre.x -= (event.clientX - x) / span;
      this.centre.y -= (event.clientY - y) / span;
      [x, y] = [event.clientX, event.clientY];
      this.paint();
    });
    this.container.addEventListener("pointerup", () => {
      down = false;
    });
    this.container.addEventListener("pointerleave", () => {
      down = false;
    });
    this.container.addEventListener("click", () => far || this.events.select(null));
  }
}
