/**
 * The WebGL programs that draw arcs and variables.
 *
 * Arcs: as many as the slider shows, as faint as a selection leaves them, and those of the selected variable once more
 * above the rest. The count is an argument of the draw call and the fading a factor in the shader, so that neither
 * needs the arcs to be read or sent again.
 *
 * Sigma's own programs draw instances: one triangle, many times. A graphics card does not care, but software WebGL
 * takes some 20 µs for each instance, which is 0.4 s for 20,000 arcs; here every corner is a vertex of one plain draw.
 *
 * Variables stand on the arcs' canvas, and those that are lit above those that are faded. Sigma has a canvas for each
 * of the three; but without a graphics card a canvas takes longer to lay over the page than to draw.
 */

import type Sigma from "sigma";
import {
  EdgeProgram,
  type EdgeProgramType,
  NodeCircleProgram,
  type NodeProgramType,
  type ProgramInfo,
} from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData, RenderParams } from "sigma/types";
import { floatColor } from "sigma/utils";

/** What to draw; read at every frame. */
export interface Drawn {
  /** So many of the strongest arcs. */
  count: number;
  /** From 0 to 1: how much of their alpha they keep. */
  fade: number;
  /** What their widths are multiplied by. */
  width: number;
  /** Arcs drawn above them. */
  focus: readonly (ArcData & { readonly from: string; readonly to: string })[];
  /** Each variable's turn: what is drawn later lies above. */
  readonly turn: Int32Array;
  /** Draw the variables; set by their program, for that of the arcs. */
  discs(params: RenderParams): void;
  /** Draw arcs and variables anew and nothing else; set by the arcs' program. */
  redraw(): void;
}

/** What an arc looks like. */
export interface ArcData {
  readonly color: string;
  readonly size: number;
  /** Drawn with gaps. */
  readonly dashed: boolean;
  /** Pixels that it is moved to its right. */
  readonly aside: number;
}

const [FLOAT, UNSIGNED_BYTE, TRIANGLES] = [0x1406, 0x1401, 4]; // WebGL's own numbers

/*
 * Corners of an arc: (side, end). Side -1 and 1 are the borders of the line, -2 and 2 those of the arrowhead;
 * end 0 is where the arc begins, 1 the neck of the arrowhead, 2 its tip.
 */
const LINE = [[-1, 0], [1, 0], [-1, 1], [-1, 1], [1, 0], [1, 1]]; // prettier-ignore
const HEAD = [[-2, 1], [2, 1], [0, 2]]; // prettier-ignore

const VERTEX_SHADER = `
attribute vec2 a_position;
attribute vec2 a_normal;
attribute vec2 a_reach;  // length of the arc; radius of the variable it leads to
attribute vec2 a_corner;
attribute vec2 a_style;  // pixels to the right; 1 where it is dashed
attribute vec4 a_color;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_minEdgeThickness;
uniform float u_head;
uniform float u_width;

varying vec4 v_color;
varying float v_across;
varying float v_half;
varying float v_dashes;  // counted from the beginning of the line; -1 where there are none

const float bias = 255.0 / 254.0;

void main() {
  float pixel = 2.0 * u_correctionRatio;  // in the units of positions
  vec2 normal = normalize(a_normal);
  vec2 along = vec2(normal.y, -normal.x);
  float thickness = max(length(a_normal) * u_width / u_sizeRatio, u_minEdgeThickness);
  float head = u_head * (4.0 + 2.2 * thickness);
  float radius = u_head * a_reach.y / u_sizeRatio;

  float back = a_corner.y == 0.0 ? 0.0 : (a_corner.y == 1.0 ? radius + head : radius);
  float aside = abs(a_corner.x) == 2.0 ? 0.42 * head : 0.5 * thickness + 0.5;
  float across = sign(a_corner.x) * aside - a_style.x;
  vec2 place = a_position - along * min(back * pixel, a_reach.x) + normal * across * pixel;
  gl_Position = vec4((u_matrix * vec3(place, 1)).xy, 0, 1);

  v_half = 0.5 * thickness;
  v_across = abs(a_corner.x) == 1.0 ? a_corner.x * aside : 0.0;
  float from = a_corner.y == 0.0 ? 0.0 : max(a_reach.x / pixel - back, 0.0);
  v_dashes = a_style.y == 1.0 && abs(a_corner.x) == 1.0 ? from / 9.0 : -1.0;
  v_color = a_color;
  v_color.a *= bias;
}
`;

const FRAGMENT_SHADER = `
#ifdef GL_FRAGMENT_PRECISION_HIGH
precision highp float;
#else
precision mediump float;
#endif

varying vec4 v_color;
varying float v_across;
varying float v_half;
varying float v_dashes;

uniform float u_fade;

void main(void) {
  if (v_dashes >= 0.0 && fract(v_dashes) > 0.6) discard;
  gl_FragColor = v_color * clamp(v_half + 0.5 - abs(v_across), 0.0, 1.0) * u_fade;
}
`;

const UNIFORMS = [
  "u_matrix",
  "u_sizeRatio",
  "u_correctionRatio",
  "u_minEdgeThickness",
  "u_head",
  "u_width",
  "u_fade",
] as const;

/** How arcs are drawn at the next frame: so many, with this share of their alpha, so much wider. */
interface Drawing {
  count(): number;
  fade(): number;
  width(): number;
}

const PLAINLY = { fade: () => 1, width: () => 1 };

/** Arcs from one buffer, of which the first `count()` are drawn. */
class ArcBatch extends EdgeProgram<(typeof UNIFORMS)[number]> {
  private readonly sent = new WeakSet<ProgramInfo>();

  constructor(
    gl: WebGLRenderingContext,
    renderer: Sigma,
    private readonly directed: boolean,
    private readonly drawing: Drawing,
  ) {
    super(gl, null, renderer);
  }

  getDefinition() {
    return {
      VERTICES: LINE.length + HEAD.length,
      VERTEX_SHADER_SOURCE: VERTEX_SHADER,
      FRAGMENT_SHADER_SOURCE: FRAGMENT_SHADER,
      METHOD: TRIANGLES as WebGLRenderingContext["TRIANGLES"],
      UNIFORMS,
      ATTRIBUTES: [
        { name: "a_position", size: 2, type: FLOAT },
        { name: "a_normal", size: 2, type: FLOAT },
        { name: "a_reach", size: 2, type: FLOAT },
        { name: "a_corner", size: 2, type: FLOAT },
        { name: "a_style", size: 2, type: FLOAT },
        { name: "a_color", size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
    };
  }

  override process(...given: Parameters<EdgeProgram["process"]>): void {
    this.sent.delete(this.normalProgram);
    super.process(...given);
  }

  processVisibleItem(
    _: number,
    start: number,
    from: NodeDisplayData,
    to: NodeDisplayData,
    data: EdgeDisplayData,
  ): void {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy);
    const [nx, ny] = length > 0 ? [(-dy / length) * data.size, (dx / length) * data.size] : [0, data.size];
    const color = floatColor(data.color);
    const { aside, dashed } = data as EdgeDisplayData & ArcData;
    const { array } = this;
    for (const [side, end] of [...LINE, ...HEAD]) {
      const at = end === 0 ? from : to;
      array[start++] = at.x;
      array[start++] = at.y;
      array[start++] = nx;
      array[start++] = ny;
      array[start++] = length;
      array[start++] = to.size;
      array[start++] = side;
      array[start++] = end;
      array[start++] = aside;
      array[start++] = dashed ? 1 : 0;
      array[start++] = color;
    }
  }

  setUniforms(params: RenderParams, { gl, uniformLocations }: ProgramInfo): void {
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, params.matrix);
    gl.uniform1f(uniformLocations.u_sizeRatio, params.sizeRatio);
    gl.uniform1f(uniformLocations.u_correctionRatio, params.correctionRatio);
    gl.uniform1f(uniformLocations.u_minEdgeThickness, params.minEdgeThickness);
    gl.uniform1f(uniformLocations.u_head, this.directed ? 1 : 0);
    gl.uniform1f(uniformLocations.u_width, this.drawing.width());
    gl.uniform1f(uniformLocations.u_fade, this.drawing.fade());
  }

  /** As sigma binds, but arcs that were sent already are not sent again. */
  protected override bindProgram(info: ProgramInfo): void {
    const { gl, buffer } = info;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    let offset = 0;
    for (const attribute of this.ATTRIBUTES) offset += this.bindAttribute(attribute, info, offset);
    if (!this.sent.has(info)) gl.bufferData(gl.ARRAY_BUFFER, this.array, gl.DYNAMIC_DRAW);
    this.sent.add(info);
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
  }

  override drawWebGL(method: number, { gl, frameBuffer }: ProgramInfo): void {
    gl.bindFramebuffer(gl.FRAMEBUFFER, frameBuffer);
    gl.drawArrays(method, 0, this.VERTICES * Math.min(this.drawing.count(), this.capacity));
  }
}

/** The arcs that are shown, above them those in focus, and above all the variables. */
export function arcProgram(directed: boolean, drawn: Drawn): EdgeProgramType {
  class ArcProgram {
    readonly drawLabel = undefined;
    private readonly plain: ArcBatch;
    private readonly focus: ArcBatch;

    constructor(
      gl: WebGLRenderingContext,
      _: WebGLFramebuffer | null,
      private readonly renderer: Sigma,
    ) {
      drawn.redraw = () => {
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.clear(gl.COLOR_BUFFER_BIT);
        this.render(renderer.getRenderParams());
      };
      const drawing = { count: () => drawn.count, fade: () => drawn.fade, width: () => drawn.width };
      this.plain = new ArcBatch(gl, renderer, directed, drawing);
      this.focus = new ArcBatch(gl, renderer, directed, { ...PLAINLY, count: () => drawn.focus.length });
    }

    reallocate(capacity: number): void {
      this.plain.reallocate(capacity);
    }

    process(...given: Parameters<EdgeProgram["process"]>): void {
      this.plain.process(...given);
    }

    render(params: RenderParams): void {
      this.plain.render(params);
      this.focus.reallocate(drawn.focus.length);
      for (const [offset, arc] of drawn.focus.entries()) {
        const [from, to] = [this.renderer.getNodeDisplayData(arc.from), this.renderer.getNodeDisplayData(arc.to)];
        this.focus.process(0, offset, from!, to!, arc as unknown as EdgeDisplayData);
      }
      this.focus.render(params);
      drawn.discs(params);
    }

    kill(): void {
      this.plain.kill();
      this.focus.kill();
    }
  }

  return ArcProgram as unknown as EdgeProgramType;
}

/** Sigma's discs without instances: the angle of each of the three corners stands beside the rest. */
export function discProgram(drawn: Drawn): NodeProgramType {
  class DiscProgram extends NodeCircleProgram {
    constructor(_: WebGLRenderingContext, __: WebGLFramebuffer | null, renderer: Sigma) {
      const { edges } = renderer.getCanvases();
      const gl = edges.getContext("webgl2") ?? edges.getContext("webgl");
      super(gl as WebGLRenderingContext, null, renderer);
      drawn.discs = (params) => super.render(params);
    }

    override getDefinition() {
      const { CONSTANT_ATTRIBUTES, CONSTANT_DATA: _, ...definition } = super.getDefinition();
      const ATTRIBUTES = [...definition.ATTRIBUTES, ...CONSTANT_ATTRIBUTES];
      return { ...definition, ATTRIBUTES } as unknown as ReturnType<NodeCircleProgram["getDefinition"]>;
    }

    override process(index: number, variable: number, data: NodeDisplayData): void {
      super.process(index, drawn.turn[variable], data);
    }

    override processVisibleItem(index: number, start: number, data: NodeDisplayData): void {
      for (const angle of [NodeCircleProgram.ANGLE_1, NodeCircleProgram.ANGLE_2, NodeCircleProgram.ANGLE_3]) {
        super.processVisibleItem(index, start, data);
        start += this.ATTRIBUTES_ITEMS_COUNT;
        this.array[start - 1] = angle;
      }
    }

    /** The arcs come first. */
    override render(): void {}
  }

  return DiscProgram as unknown as NodeProgramType;
}

/** For a layer that stays empty. */
class NoProgram {
  reallocate(): void {}
  process(): void {}
  render(): void {}
  kill(): void {}
}

export const noProgram = NoProgram as unknown as NodeProgramType;
