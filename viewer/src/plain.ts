/**
 * The network without WebGL: the strongest arcs and their variables as SVG, and a sentence that says so.
 *
 * An SVG of thousands of elements answers slowly, so less is drawn: at most 600 arcs with their variables, others up to
 * 300, and always the selected variable with what is lit around it.
 */

import { clamp } from "./document.ts";
import { lineWord, short, whole } from "./dom.ts";
import { HoverCard } from "./hover.ts";
import type { Look } from "./look.ts";
import { type Disc, placeNames } from "./names.ts";
import type { Network } from "./network.ts";
import { type Handled, listenToPointer } from "./pointer.ts";
import { type Scene, sceneElement } from "./scene.ts";
import { arcsUnderNames, nameWidth, networkScene, sizeOnScreen } from "./view.ts";
import type { NetworkView, Point, ViewHost } from "./view.ts";

const MOST_ARCS = 600;
const MOST_VARIABLES = 300;
const PADDING = 48;

export class PlainView implements NetworkView, Handled {
  private readonly centre = { x: 0.5, y: 0.5 };
  private ratio = 1;
  /** Where each variable stands, in the unit square from its upper left corner: it may have been dragged. */
  private readonly spots: Point[];
  private readonly picture = document.createElement("div");
  private readonly card: HoverCard;
  private readonly sizes: ResizeObserver;
  private readonly life = new AbortController();

  constructor(
    private readonly network: Network,
    private readonly container: HTMLElement,
    private readonly host: ViewHost,
    private look: Look,
    private shown: number,
    /** Why it is not WebGL that draws. */
    private readonly reason: string,
  ) {
    this.spots = network.document.positions.map(([x, y]) => ({ x, y: 1 - y }));
    container.append(this.picture);
    this.card = new HoverCard(container);
    this.sizes = new ResizeObserver(() => this.paint());
    this.sizes.observe(container);
    listenToPointer(container, this, host, this.life.signal);
    this.paint();
  }

  get limits(): string {
    const { size } = this.network;
    const less = size > MOST_VARIABLES || this.shown > MOST_ARCS;
    const line = lineWord(this.network.document.directed);
    const what = `up to ${whole(MOST_ARCS)} ${line}s, the strongest, and few variables that none of them joins`;
    return `${this.reason}, so the network is drawn the plain way` + (less ? `: ${what}.` : ".");
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
    Object.assign(this.centre, this.spots[variable]);
    this.paint();
  }

  zoom(factor: number): void {
    const { width, height } = this.frame();
    this.zoomAt({ x: width / 2, y: height / 2 }, factor);
  }

  fit(): void {
    Object.assign(this.centre, { x: 0.5, y: 0.5 });
    this.ratio = 1;
    this.paint();
  }

  place(variable: number): Point {
    const { width, height, span } = this.frame();
    const { x, y } = this.spots[variable];
    return { x: width / 2 + (x - this.centre.x) * span, y: height / 2 + (y - this.centre.y) * span };
  }

  scene(): Scene {
    const { width, height } = this.frame();
    const { network, look } = this;
    const drawn = this.drawnVariables();
    const disc = (v: number) => this.disc(v);
    const widthOf = (v: number) => nameWidth(network, look, v);
    const [covered, shown] = [this.host.covered(), Math.min(this.shown, MOST_ARCS)];
    const arcs = arcsUnderNames(look, shown);
    const variables = network.byDegree.filter((v) => drawn.has(v));
    const names = placeNames(network, look, variables, { width, height, covered, arcs, disc, widthOf });
    const full = networkScene(network, look, shown, { width, height, thickness: this.magnified(), disc, names });
    const shapes = full.shapes.filter((s) => s.shape !== "group" || s.variable === undefined || drawn.has(s.variable));
    return { ...full, shapes };
  }

  kill(): void {
    this.life.abort();
    this.sizes.disconnect();
    this.container.replaceChildren();
  }

  // What a hand does

  variableAt(at: Point, reach: number): number | null {
    let [nearest, least]: [number | null, number] = [null, reach];
    for (const v of this.drawnVariables()) {
      const { x, y, r } = this.disc(v);
      const gap = Math.hypot(x - at.x, y - at.y) - r;
      if (gap <= least) [nearest, least] = [v, gap];
    }
    return nearest;
  }

  drag(variable: number, to: Point): void {
    this.spots[variable] = this.spotAt(to);
    this.paint();
  }

  drop(): void {}

  pan(dx: number, dy: number): void {
    const { span } = this.frame();
    Object.assign(this.centre, { x: this.centre.x - dx / span, y: this.centre.y - dy / span });
    this.paint();
  }

  zoomAt(at: Point, factor: number): void {
    const before = this.spotAt(at);
    this.ratio = clamp(this.ratio * factor, 0.3, 40);
    const after = this.spotAt(at);
    this.centre.x += before.x - after.x;
    this.centre.y += before.y - after.y;
    this.paint();
  }

  hover(variable: number | null): void {
    if (variable === null) this.card.hide();
    else this.card.show(short(this.network.document.variables[variable].name, 200), this.disc(variable));
    this.container.style.cursor = variable === null ? "" : "pointer";
  }

  // What is drawn

  private frame(): { width: number; height: number; span: number } {
    const { clientWidth: width, clientHeight: height } = this.container;
    return { width, height, span: Math.max(50, Math.min(width, height) - 2 * PADDING) * this.ratio };
  }

  /** The spot of the unit square at a point of the view. */
  private spotAt({ x, y }: Point): Point {
    const { width, height, span } = this.frame();
    return { x: this.centre.x + (x - width / 2) / span, y: this.centre.y + (y - height / 2) / span };
  }

  private magnified(): number {
    return Math.min(1.6, Math.sqrt(this.ratio));
  }

  private disc(v: number): Disc {
    const { width, height } = this.frame();
    return { ...this.place(v), r: this.look.nodeSize[v] * this.magnified() * sizeOnScreen(width, height) };
  }

  private paint(): void {
    const picture = sceneElement(this.scene());
    picture.setAttribute("class", "plain");
    this.picture.replaceChildren(picture);
  }

  /** The ends of the arcs that are drawn and variables that must be named; then others by index, up to the limit. */
  private drawnVariables(): Set<number> {
    const { from, to } = this.network.document.arcs;
    const drawn = new Set<number>();
    for (let v = 0; v < this.network.size; v++) if (this.look.named[v]) drawn.add(v);
    for (const rank of this.look.focus.keys()) drawn.add(from[rank]).add(to[rank]);
    for (let rank = 0; rank < Math.min(this.shown, MOST_ARCS); rank++) drawn.add(from[rank]).add(to[rank]);
    for (let v = 0; v < this.network.size && drawn.size < MOST_VARIABLES; v++) drawn.add(v);
    return drawn;
  }
}
