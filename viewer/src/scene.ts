/**
 * A picture as a list of shapes, drawn as SVG elements, as an SVG file, or on a canvas.
 *
 * Everything that can be exported is described here first: the network on screen, decision trees and graphs. The
 * plain view without WebGL is the same list as SVG.
 */

export interface Style {
  readonly fill?: string;
  readonly stroke?: string;
  readonly width?: number;
  readonly alpha?: number;
  /** Lengths of line and gap: "5 3". */
  readonly dash?: string;
}

export type Shape = Style &
  (
    | { readonly shape: "line"; readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number }
    | { readonly shape: "path"; readonly d: string }
    | { readonly shape: "circle"; readonly x: number; readonly y: number; readonly r: number }
    | {
        readonly shape: "rect";
        readonly x: number;
        readonly y: number;
        readonly w: number;
        readonly h: number;
        readonly r?: number;
      }
    | {
        readonly shape: "text";
        readonly x: number;
        readonly y: number;
        readonly text: string;
        readonly size: number;
        readonly anchor?: "start" | "middle" | "end";
        readonly bold?: boolean;
        readonly halo?: string;
      }
    | Group
  );

/** Shapes that belong together; with a variable or a node of a tree, a click leads there. */
export interface Group {
  readonly shape: "group";
  readonly shapes: readonly Shape[];
  readonly variable?: number;
  readonly node?: number;
  readonly label?: string;
}

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly ground: string;
  readonly shapes: readonly Shape[];
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif';
const SVG = "http://www.w3.org/2000/svg";

export interface SvgActions {
  click?(variable: number): void;
  doubleClick?(variable: number): void;
  unfold?(node: number): void;
}

/** The scene as an SVG element; groups with a variable become buttons. */
export function sceneElement(scene: Scene, actions: SvgActions = {}): SVGSVGElement {
  const root = svg("svg", { viewBox: `0 0 ${scene.width} ${scene.height}`, width: scene.width, height: scene.height });
  root.setAttribute("font-family", FONT);
  root.append(svg("rect", { width: scene.width, height: scene.height, fill: scene.ground }));
  for (const shape of scene.shapes) root.append(shapeElement(shape, actions));
  return root;
}

/** The scene as the text of an SVG file. */
export function sceneFile(scene: Scene): string {
  return new XMLSerializer().serializeToString(sceneElement(scene));
}

function shapeElement(shape: Shape, actions: SvgActions): SVGElement {
  const { fill = "none", stroke, width, alpha, dash } = shape;
  const paint = { fill, stroke, "stroke-width": width, opacity: alpha, "stroke-dasharray": dash };
  switch (shape.shape) {
    case "line":
      return svg("line", { x1: shape.x1, y1: shape.y1, x2: shape.x2, y2: shape.y2, ...paint });
    case "path":
      return svg("path", { d: shape.d, ...paint });
    case "circle":
      return svg("circle", { cx: shape.x, cy: shape.y, r: shape.r, ...paint });
    case "rect":
      return svg("rect", { x: shape.x, y: shape.y, width: shape.w, height: shape.h, rx: shape.r, ...paint });
    case "text":
      return textElement(shape, paint);
    case "group":
      return groupElement(shape, actions);
  }
}

function textElement(shape: Extract<Shape, { shape: "text" }>, paint: Record<string, unknown>): SVGElement {
  const made = svg("text", {
    x: shape.x,
    y: shape.y,
    ...paint,
    "font-size": shape.size,
    "font-weight": shape.bold ? 600 : undefined,
    "text-anchor": shape.anchor,
    ...(shape.halo
      ? { stroke: shape.halo, "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round" }
      : {}),
  });
  made.textContent = printable(shape.text);
  return made;
}

function groupElement(group: Group, actions: SvgActions): SVGElement {
  const made = svg("g", {});
  if (group.label !== undefined) {
    const title = svg("title", {});
    title.textContent = printable(group.label);
    made.append(title);
  }
  for (const shape of group.shapes) made.append(shapeElement(shape, actions));
  const { variable, node } = group;
  const { click, doubleClick, unfold } = actions;
  if (variable !== undefined && click) leads(made, () => click(variable), doubleClick && (() => doubleClick(variable)));
  if (variable !== undefined) made.setAttribute("data-variable", String(variable));
  if (node !== undefined && unfold) leads(made, () => unfold(node));
  return made;
}

/** Make a group a button: a click or a key does what it is for. */
function leads(made: SVGElement, once: () => void, twice?: () => void): void {
  made.setAttribute("role", "button");
  made.setAttribute("tabindex", "0");
  made.setAttribute("class", "leads");
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    once();
  });
  if (twice) made.addEventListener("dblclick", twice);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter" && twice) twice();
    else once();
  });
}

/** XML has no control characters, not even escaped: an exported file with one would not open. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function svg(tag: string, attributes: Record<string, unknown>): SVGElement & SVGSVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) made.setAttribute(name, String(value));
  return made as SVGElement & SVGSVGElement;
}

/** The scene on a canvas, `scale` device pixels to a unit. */
export function sceneCanvas(scene: Scene, scale: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(scene.width * scale);
  canvas.height = Math.round(scene.height * scale);
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  context.fillStyle = scene.ground;
  context.fillRect(0, 0, scene.width, scene.height);
  for (const shape of scene.shapes) paintShape(context, shape);
  return canvas;
}

/** One shape on a canvas. */
export function paintShape(context: CanvasRenderingContext2D, shape: Shape): void {
  if (shape.shape === "group") {
    for (const part of shape.shapes) paintShape(context, part);
    return;
  }
  context.globalAlpha = shape.alpha ?? 1;
  if (shape.shape === "text") paintText(context, shape);
  else {
    const path = outline(shape);
    if (shape.fill) {
      context.fillStyle = shape.fill;
      context.fill(path);
    }
    if (shape.stroke) {
      context.strokeStyle = shape.stroke;
      context.lineWidth = shape.width ?? 1;
      context.setLineDash(shape.dash?.split(" ").map(Number) ?? []);
      context.stroke(path);
      context.setLineDash([]);
    }
  }
  context.globalAlpha = 1;
}

function outline(shape: Exclude<Shape, { shape: "text" | "group" }>): Path2D {
  if (shape.shape === "path") return new Path2D(shape.d);
  const path = new Path2D();
  if (shape.shape === "line") {
    path.moveTo(shape.x1, shape.y1);
    path.lineTo(shape.x2, shape.y2);
  } else if (shape.shape === "circle") path.arc(shape.x, shape.y, shape.r, 0, 2 * Math.PI);
  else path.roundRect(shape.x, shape.y, shape.w, shape.h, shape.r ?? 0);
  return path;
}

function paintText(context: CanvasRenderingContext2D, shape: Extract<Shape, { shape: "text" }>): void {
  context.font = font(shape.size, shape.bold);
  context.textAlign = shape.anchor === "middle" ? "center" : (shape.anchor ?? "start");
  if (shape.halo) {
    context.strokeStyle = shape.halo;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(shape.text, shape.x, shape.y);
  }
  context.fillStyle = shape.fill ?? "#000";
  context.fillText(shape.text, shape.x, shape.y);
}

function font(size: number, bold = false): string {
  return `${bold ? 600 : 400} ${size}px ${FONT}`;
}

const measured = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null = null;

/** How long a text is, in pixels; each is measured once. */
export function textWidth(text: string, size: number, bold = false): number {
  const key = `${font(size, bold)} ${text}`;
  let width = measured.get(key);
  if (width === undefined) {
    ruler ??= document.createElement("canvas").getContext("2d")!;
    ruler.font = font(size, bold);
    width = ruler.measureText(text).width;
    measured.set(key, width);
  }
  return width;
}
