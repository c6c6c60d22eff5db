/**
 * The network drawn with WebGL, by sigma over a graphology graph.
 *
 * Arcs are handed over once, strongest first (`programs.ts` draws them): the slider only changes how many are drawn,
 * and a selection only how faint. So neither step reads the arcs again, however many there are.
 */

import Graph from "graphology";
import Sigma from "sigma";
import type { Settings } from "sigma/settings";
import type { NodeDisplayData, PartialButFor } from "sigma/types";
import { short } from "./dom.ts";
import type { Look } from "./look.ts";
import { type Disc, MOST_DISCS, nameLeft, NamePlaces } from "./names.ts";
import type { Network } from "./network.ts";
import { premultiplied } from "./palette.ts";
import { arcProgram, discProgram, type DrawnArcs } from "./programs.ts";
import { FONT, type Scene } from "./scene.ts";
import { NAME_LENGTH, type NetworkView, networkScene, type Point, type ViewEvents } from "./view.ts";

export class GraphView implements NetworkView {
  readonly limits = null;
  private readonly sigma: Sigma;
  private readonly graph = new Graph({ type: "directed", multi: true, allowSelfLoops: true });
  private readonly drawn: DrawnArcs = { count: 0, fade: 1, focus: [], redraw: () => {} };
  private readonly keys: string[] = [];
  private hovered = -1;
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  private readonly sizes: ResizeObserver;
  /** Names written in this frame. */
  private names: NamePlaces | null = null;
  private readonly widths = new Map<string, number>();

  constructor(
    private readonly network: Network,
    private readonly container: HTMLElement,
    events: ViewEvents,
    private look: Look,
    private shown: number,
  ) {
    this.fillGraph();
    this.chooseArcs();
    this.sigma = new Sigma(this.graph, container, this.settings());
    this.listen(events);
    this.chooseLayers();
    this.sigma.on("beforeRender", () => {
      this.names = null;
    });
    this.sigma.scheduleRender(); // now with names: places were not known before
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(container);
  }

  draw(look: Look, shown: number): void {
    const otherArcs = look.arcs !== this.look.arcs;
    this.look = look;
    this.shown = shown;
    this.chooseArcs();
    this.chooseLayers();
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
    const data = this.sigma.getNodeDisplayData(String(variable))!;
    const ratio = Math.min(this.sigma.getCamera().ratio, 1);
    this.move({ x: data.x, y: data.y, ratio });
  }

  zoom(factor: number): void {
    const camera = this.sigma.getCamera();
    this.move({ ratio: camera.getBoundedRatio(camera.ratio / factor) });
  }

  fit(): void {
    this.move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  place(variable: number): Point {
    return this.sigma.framedGraphToViewport(this.sigma.getNodeDisplayData(String(variable))!);
  }

  scene(): Scene {
    const { width, height } = this.sigma.getDimensions();
    return networkScene(this.network, this.look, this.shown, {
      width,
      height,
      scale: this.sigma.scaleSize(1),
      place: (v) => this.place(v),
      names: this.names?.places ?? new Map(),
    });
  }

  kill(): void {
    this.sizes.disconnect();
    this.sigma.kill();
  }

  /** The container has another size; the first report only tells the one we know. */
  private resized(): void {
    const { width, height } = this.sigma.getDimensions();
    const { offsetWidth, offsetHeight } = this.container;
    if (offsetWidth !== width || offsetHeight !== height) this.sigma.refresh({ schedule: true });
  }

  private move(target: { x?: number; y?: number; ratio?: number; angle?: number }): void {
    const camera = this.sigma.getCamera();
    if (this.calm) camera.setState(target);
    else void camera.animate(target, { duration: 220 });
  }

  private fillGraph(): void {
    const { variables, positions, arcs } = this.network.document;
    for (let v = 0; v < variables.length; v++) {
      this.keys.push(String(v));
      this.graph.addNode(this.keys[v], {
        x: positions[v][0],
        y: positions[v][1],
        label: short(variables[v].name, NAME_LENGTH),
      });
    }
    for (let rank = 0; rank < arcs.from.length; rank++) {
      this.graph.addDirectedEdgeWithKey(String(rank), String(arcs.from[rank]), String(arcs.to[rank]));
    }
  }

  private chooseArcs(): void {
    const { from, to } = this.network.document.arcs;
    this.drawn.count = this.shown;
    this.drawn.fade = this.look.fade;
    this.drawn.focus = Array.from(this.look.focus, ([rank, { color, alpha, width }]) => ({
      from: String(from[rank]),
      to: String(to[rank]),
      color: premultiplied(color, alpha),
      size: width,
    }));
  }

  /** Layers with nothing on them cost as much to lay over each other as those with something: they are left out. */
  private chooseLayers(): void {
    const { edgeLabels, hovers, hoverNodes } = this.sigma.getCanvases();
    const raised = this.hovered >= 0 || this.look.selected !== null;
    edgeLabels.style.display = "none";
    for (const layer of [hovers, hoverNodes]) layer.style.display = raised ? "" : "none";
  }

  private settings(): Partial<Settings> {
    const { directed } = this.network.document;
    const small = this.network.size <= 80;
    return {
      edgeProgramClasses: { arc: arcProgram(directed, this.drawn) },
      defaultEdgeType: "arc",
      nodeProgramClasses: { circle: discProgram },
      nodeReducer: (key) => this.nodeData(Number(key)),
      edgeReducer: (key) => this.arcData(Number(key)),
      minEdgeThickness: 0.7,
      antiAliasingFeather: 1,
      stagePadding: 48,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      labelFont: FONT,
      labelSize: 12,
      labelRenderedSizeThreshold: small ? 0 : 2,
      labelDensity: small ? 8 : 2,
      labelGridCellSize: 100,
      defaultDrawNodeLabel: (context, data) => this.drawName(context, data),
      defaultDrawNodeHover: (context, data) => this.drawHover(context, data),
      doubleClickZoomingRatio: 1.6,
      allowInvalidContainer: true,
    };
  }

  private nodeData(v: number): Partial<NodeDisplayData> {
    const { x, y, label } = this.graph.getNodeAttributes(this.keys[v]);
    const { nodeColor, nodeSize, named, faded, selected } = this.look;
    const highlighted = selected !== null && !faded[v]; // drawn above the rest
    return { x, y, label, color: nodeColor[v], size: nodeSize[v], forceLabel: named[v] === 1, highlighted };
  }

  private arcData(rank: number) {
    const { color, alpha, width } = this.look.arcs;
    return { color: premultiplied(color[rank], Math.round(alpha[rank] * 50) / 50), size: width[rank] };
  }

  private drawName(
    context: CanvasRenderingContext2D,
    data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label">,
  ) {
    const v = Number((data as unknown as { key: string }).key);
    const { palette, faded, selected, named } = this.look;
    if (!this.sigma || !data.label) return;
    if (faded[v] && selected !== null) return; // while one is selected only its own neighbours speak
    context.font = `${v === selected ? 650 : 450} 12px ${FONT}`;
    this.names ??= new NamePlaces(this.container.offsetWidth, this.discs());
    const disc = { x: data.x, y: data.y, r: data.size };
    const at = this.names.place(v, disc, this.widthOf(context, data.label), named[v] === 1);
    if (at === null) return;
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = palette.ground;
    context.strokeText(data.label, at.x, at.y);
    context.fillStyle = palette.ink;
    context.fillText(data.label, at.x, at.y);
  }

  /** The variables as they stand on screen, unless they are too many for names to keep clear of them. */
  private discs(): Disc[] {
    if (this.keys.length > MOST_DISCS) return [];
    return this.keys.map((_, v) => ({ ...this.place(v), r: this.sigma.scaleSize(this.look.nodeSize[v]) }));
  }

  private widthOf(context: CanvasRenderingContext2D, name: string): number {
    const known = this.widths.get(name) ?? context.measureText(name).width;
    this.widths.set(name, known);
    return known;
  }

  /** The variable under the pointer: its name on a small card. */
  private drawHover(
    context: CanvasRenderingContext2D,
    data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label">,
  ) {
    if (Number((data as unknown as { key: string }).key) !== this.hovered) return; // highlighted, but not under it
    const { palette } = this.look;
    context.font = `600 12px ${FONT}`;
    const width = context.measureText(data.label ?? "").width;
    const left = nameLeft({ x: data.x, y: data.y, r: data.size }, width, this.container.offsetWidth);
    const start = Math.min(left, data.x - data.size) - 6;
    context.fillStyle = palette.surface;
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.shadowColor = "rgba(0,0,0,0.18)";
    context.shadowBlur = 8;
    context.beginPath();
    context.roundRect(start, data.y - 12, 2 * data.size + width + 18, 24, 12);
    context.fill();
    context.shadowBlur = 0;
    context.stroke();
    context.fillStyle = palette.ink;
    context.fillText(data.label ?? "", left, data.y + 4);
  }

  private listen(events: ViewEvents): void {
    let dragged: string | null = null;
    let moved = false;
    let clicked: string | null = null;
    const select = (node: string | null) => events.select((clicked = node) === null ? null : Number(node));
    this.sigma.on("clickNode", ({ node }) => moved || select(node));
    this.sigma.on("clickStage", () => select(null));
    // Sigma calls any two quick clicks a double click, also when they hit different things.
    this.sigma.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      if (node === clicked) events.open(Number(node));
      else select(node);
    });
    this.sigma.on("doubleClickStage", ({ preventSigmaDefault }) => {
      if (clicked === null) return;
      preventSigmaDefault();
      select(null);
    });
    this.sigma.on("downNode", ({ node }) => {
      [dragged, moved] = [node, false];
      if (!this.sigma.getCustomBBox()) this.sigma.setCustomBBox(this.sigma.getBBox()); // dragging must not rescale
    });
    this.sigma.on("moveBody", ({ event }) => {
      if (dragged === null) return;
      moved = true;
      Object.assign(this.graph.getNodeAttributes(dragged), this.sigma.viewportToGraph(event));
      this.sigma.refresh({
        partialGraph: { nodes: [dragged], edges: this.graph.edges(dragged) },
        skipIndexation: true,
        schedule: true,
      });
      event.preventSigmaDefault();
      event.original.preventDefault();
      event.original.stopPropagation();
    });
    const drop = () => {
      if (dragged !== null && moved) this.sigma.refresh({ schedule: true }); // names are placed anew
      dragged = null;
    };
    this.sigma.on("upNode", drop);
    this.sigma.on("upStage", drop);
    const hover = (v: number) => {
      this.hovered = v;
      this.chooseLayers();
      this.container.style.cursor = v < 0 ? "" : "pointer";
    };
    this.sigma.on("enterNode", ({ node }) => hover(Number(node)));
    this.sigma.on("leaveNode", () => hover(-1));
  }
}

/** Can this browser draw with WebGL at all? */
export function hasWebGL(): boolean {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2") ?? canvas.getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
}
