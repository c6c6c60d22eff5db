/**
 * The network drawn with WebGL, by sigma over a graphology graph.
 *
 * Arcs are handed over once, strongest first (`programs.ts` draws them): the slider only changes how many are drawn,
 * and a selection only how faint. So neither step reads the arcs again, however many there are.
 *
 * Sigma draws and keeps the camera; clicks, drags and names are our own (`pointer.ts`, `names.ts`).
 */

import Graph from "graphology";
import Sigma from "sigma";
import type { Settings } from "sigma/settings";
import type { NodeDisplayData } from "sigma/types";
import { short } from "./dom.ts";
import { HoverCard } from "./hover.ts";
import { type Look, penFor } from "./look.ts";
import { type Box, type Disc, placeNames } from "./names.ts";
import type { Network } from "./network.ts";
import { premultiplied } from "./palette.ts";
import { type Handled, listenToPointer } from "./pointer.ts";
import { type ArcData, arcProgram, discProgram, type Drawn, noProgram } from "./programs.ts";
import { paintShape, type Scene } from "./scene.ts";
import { arcsUnderNames, ASIDE, nameShape, nameWidth, networkScene, sizeOnScreen } from "./view.ts";
import type { NetworkView, Point, ViewHost } from "./view.ts";

export class GraphView implements NetworkView, Handled {
  readonly limits = null;
  private readonly sigma: Sigma;
  private readonly graph = new Graph({ type: "directed", multi: true, allowSelfLoops: true });
  private readonly drawn: Drawn;
  private readonly keys: string[] = [];
  /** Where each variable stands, in the units of the document: it may have been dragged. */
  private readonly x: Float64Array;
  private readonly y: Float64Array;
  private readonly variables: number[];
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  private readonly sizes: ResizeObserver;
  private readonly card: HoverCard;
  private readonly life = new AbortController();
  /** Radii are drawn at this scale: smaller on a small screen. */
  private screen: number;
  /** Names written in this frame. */
  private names = new Map<number, Point>();

  constructor(
    private readonly network: Network,
    private readonly container: HTMLElement,
    host: ViewHost,
    private look: Look,
    private shown: number,
  ) {
    const { positions } = network.document;
    this.x = Float64Array.from(positions, ([x]) => x);
    this.y = Float64Array.from(positions, ([, y]) => y);
    this.variables = positions.map((_, v) => v);
    this.screen = sizeOnScreen(container.offsetWidth, container.offsetHeight);
    const turn = new Int32Array(positions.length);
    this.drawn = { count: 0, fade: 1, width: 1, focus: [], turn, discs: () => {}, redraw: () => {} };
    this.fillGraph();
    this.chooseArcs();
    this.chooseTurns();
    this.sigma = new Sigma(this.graph, container, this.settings());
    this.sigma.getMouseCaptor().enabled = false;
    this.sigma.getTouchCaptor().enabled = false;
    this.hideLayers();
    this.sigma.on("afterRender", () => this.writeNames(host.covered()));
    this.sigma.scheduleRender(); // now with names: places were not known before
    this.card = new HoverCard(container);
    listenToPointer(container, this, host, this.life.signal);
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(container);
  }

  draw(look: Look, shown: number): void {
    const otherArcs = look.arcs !== this.look.arcs;
    this.look = look;
    this.shown = shown;
    this.chooseArcs();
    this.chooseTurns();
    if (otherArcs) this.sigma.refresh();
    else this.sigma.refresh({ partialGraph: { nodes: this.keys }, skipIndexation: true });
  }

  show(shown: number): void {
    this.shown = shown;
    this.chooseArcs();
    this.drawn.redraw();
  }

  reveal(variable: number): void {
    const [at, { width, height }] = [this.place(variable), this.sigma.getDimensions()];
    const margin = Math.min(40, width / 8);
    if (at.x > margin && at.y > margin && at.x < width - margin && at.y < height - margin) return;
    const { x, y } = this.sigma.getNodeDisplayData(this.keys[variable])!;
    this.move({ x, y, ratio: Math.min(this.sigma.getCamera().ratio, 1) });
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    this.move({ ratio: camera.getBoundedRatio(camera.ratio / factor) });
  }

  fit(): void {
    this.move({ x: 0.5, y: 0.5, ratio: 1 });
  }

  place(variable: number): Point {
    return this.sigma.graphToViewport({ x: this.x[variable], y: this.y[variable] });
  }

  scene(): Scene {
    const { width, height } = this.sigma.getDimensions();
    return networkScene(this.network, this.look, this.shown, {
      width,
      height,
      thickness: this.sigma.scaleSize(1),
      disc: this.discs(),
      names: this.names,
    });
  }

  kill(): void {
    this.life.abort();
    this.sizes.disconnect();
    this.sigma.kill();
  }

  // What a hand does

  variableAt(at: Point, reach: number): number | null {
    const [{ x, y }, unit] = [this.sigma.viewportToGraph(at), this.sigma.getGraphToViewportRatio()];
    const scale = this.sigma.scaleSize(this.screen);
    let [nearest, least]: [number | null, number] = [null, reach];
    for (const v of this.variables) {
      const gap = Math.hypot(this.x[v] - x, this.y[v] - y) * unit - this.look.nodeSize[v] * scale;
      if (gap <= least) [nearest, least] = [v, gap];
    }
    return nearest;
  }

  drag(variable: number, to: Point): void {
    if (!this.sigma.getCustomBBox()) this.sigma.setCustomBBox(this.sigma.getBBox()); // dragging must not rescale
    const { x, y } = this.sigma.viewportToGraph(to);
    [this.x[variable], this.y[variable]] = [x, y];
    const key = this.keys[variable];
    this.graph.mergeNodeAttributes(key, { x, y });
    this.sigma.refresh({
      partialGraph: { nodes: [key], edges: this.graph.edges(key) },
      skipIndexation: true,
      schedule: true,
    });
  }

  drop(): void {
    this.sigma.refresh({ schedule: true });
  }

  pan(dx: number, dy: number): void {
    const camera = this.sigma.getCamera();
    const [from, to] = [{ x: 0, y: 0 }, { x: dx, y: dy }].map((at) => this.sigma.viewportToFramedGraph(at));
    camera.setState({ x: camera.x + from.x - to.x, y: camera.y + from.y - to.y });
  }

  zoomAt(at: Point, factor: number): void {
    const camera = this.sigma.getCamera();
    camera.setState(this.sigma.getViewportZoomedState(at, camera.getBoundedRatio(camera.ratio / factor)));
  }

  hover(variable: number | null): void {
    this.container.style.cursor = variable === null ? "" : "pointer";
    if (variable === null) this.card.hide();
    else this.card.show(short(this.network.document.variables[variable].name, 200), this.disc(variable));
  }

  // What sigma draws

  /** The container has another size; the first report only tells the one we know. */
  private resized(): void {
    const { width, height } = this.sigma.getDimensions();
    const { offsetWidth, offsetHeight } = this.container;
    if (offsetWidth === width && offsetHeight === height) return;
    this.screen = sizeOnScreen(offsetWidth, offsetHeight);
    this.sigma.refresh({ schedule: true });
  }

  private move(target: { x?: number; y?: number; ratio?: number }): void {
    const camera = this.sigma.getCamera();
    if (this.calm) camera.setState(target);
    else void camera.animate(target, { duration: 220 });
  }

  private fillGraph(): void {
    const { from, to } = this.network.document.arcs;
    for (const v of this.variables) {
      this.keys.push(String(v));
      this.graph.addNode(this.keys[v], { x: this.x[v], y: this.y[v] });
    }
    for (let rank = 0; rank < from.length; rank++)
      this.graph.addDirectedEdgeWithKey(String(rank), this.keys[from[rank]], this.keys[to[rank]]);
  }

  private chooseArcs(): void {
    const { from, to } = this.network.document.arcs;
    const pen = penFor(this.shown, this.look.arcs);
    this.drawn.count = this.shown;
    this.drawn.fade = this.look.fade * pen.alpha;
    this.drawn.width = pen.width;
    this.drawn.focus = Array.from(this.look.focus, ([rank, { color, alpha, width }]) => ({
      ...this.arcData(rank),
      from: this.keys[from[rank]],
      to: this.keys[to[rank]],
      color: premultiplied(color, alpha),
      size: width,
    }));
  }

  /** Those that are faded lie under the rest. */
  private chooseTurns(): void {
    let turn = 0;
    for (const faded of [1, 0])
      for (const v of this.variables) if (this.look.faded[v] === faded) this.drawn.turn[v] = turn++;
  }

  /** Layers with nothing on them cost as much to lay over each other as those with something: they are left out. */
  private hideLayers(): void {
    const { edges, labels, ...empty } = this.sigma.getCanvases();
    for (const canvas of Object.values(empty)) canvas.style.display = "none";
  }

  private settings(): Partial<Settings> {
    return {
      edgeProgramClasses: { arc: arcProgram(this.network.document.directed, this.drawn) },
      defaultEdgeType: "arc",
      nodeProgramClasses: { circle: discProgram(this.drawn) },
      nodeHoverProgramClasses: { circle: noProgram },
      nodeReducer: (key) => this.nodeData(Number(key)),
      edgeReducer: (key) => this.arcData(Number(key)),
      minEdgeThickness: 0.7,
      antiAliasingFeather: 1,
      stagePadding: 48,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      renderLabels: false,
      allowInvalidContainer: true,
    };
  }

  private nodeData(v: number): Partial<NodeDisplayData> {
    const { nodeColor, nodeAlpha, nodeSize } = this.look;
    const color = premultiplied(nodeColor[v], nodeAlpha[v]);
    return { x: this.x[v], y: this.y[v], label: null, color, size: nodeSize[v] * this.screen };
  }

  private arcData(rank: number): ArcData {
    const { color, alpha, width, dashed, aside } = this.look.arcs;
    return {
      color: premultiplied(color[rank], Math.round(alpha[rank] * 50) / 50),
      size: width[rank],
      dashed: dashed[rank] === 1,
      aside: aside[rank] * ASIDE,
    };
  }

  private disc(v: number): Disc {
    return { ...this.place(v), r: this.sigma.scaleSize(this.look.nodeSize[v] * this.screen) };
  }

  /** All discs of this frame: places are the same stretch of the document's for each. */
  private discs(): (v: number) => Disc {
    const [origin, unit] = [{ x: 0, y: 0 }, { x: 1, y: 1 }].map((at) => this.sigma.graphToViewport(at));
    const [right, down, scale] = [unit.x - origin.x, unit.y - origin.y, this.sigma.scaleSize(this.screen)];
    return (v) => ({
      x: origin.x + right * this.x[v],
      y: origin.y + down * this.y[v],
      r: this.look.nodeSize[v] * scale,
    });
  }

  private writeNames(covered: readonly Box[]): void {
    const { network, look } = this;
    const { width, height } = this.sigma.getDimensions();
    const context = this.sigma.getCanvases().labels.getContext("2d")!;
    this.names = placeNames(network, look, network.byDegree, {
      width,
      height,
      covered,
      arcs: arcsUnderNames(look, this.shown),
      disc: this.discs(),
      widthOf: (v) => nameWidth(network, look, v),
    });
    for (const [v, at] of this.names) paintShape(context, nameShape(network, look, v, at));
  }
}

/** Can this browser draw with WebGL at all? */
export function hasWebGL(): boolean {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2") ?? canvas.getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}
