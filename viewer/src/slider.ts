/**
 * The slider: from the strongest arcs at its foot to all of them at its head, as in DNViewer.
 *
 * Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), "Dependency networks", section 5. Beside it stands a curve
 * of the strengths, so that one sees where they fall off.
 */

import type { ViewDocument } from "./document.ts";
import { counted, element, figure, lineWord, whole } from "./dom.ts";

const SVG = "http://www.w3.org/2000/svg";

export class Slider {
  readonly root: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly number: HTMLInputElement;
  private readonly said = element("p", { class: "weakest" });
  private readonly all = element("span", { class: "end" });
  private readonly curve = document.createElementNS(SVG, "svg");
  private strengths: readonly number[] = [];
  private ranked = false;
  private unit = "";
  private line = "";

  constructor(change: (shown: number) => void) {
    const input = (event: Event) => {
      const { value } = event.target as HTMLInputElement;
      if (value !== "") change(Number(value));
      else this.number.value = this.range.value; // emptied, and left
    };
    this.range = element("input", {
      type: "range",
      min: "0",
      step: "1",
      oninput: input,
    });
    this.number = element("input", {
      type: "number",
      min: "0",
      step: "1",
      onchange: input,
    });
    this.curve.setAttribute("class", "curve");
    this.curve.setAttribute("viewBox", "0 0 100 100");
    this.curve.setAttribute("preserveAspectRatio", "none");
    this.curve.setAttribute("aria-hidden", "true");
    const track = element("div", { class: "track" }, this.curve, this.range);
    const strongest = element("span", { class: "end foot", text: "strongest" });
    this.root = element(
      "section",
      { class: "slider", "aria-label": "How much is shown" },
      this.all,
      track,
      strongest,
      this.number,
      this.said,
    );
  }

  setDocument({ arcs, strength, directed, ranked }: ViewDocument): void {
    this.strengths = arcs.strength;
    this.ranked = ranked;
    this.unit = strength.unit;
    this.line = lineWord(directed);
    this.range.setAttribute("aria-label", `${this.line}s shown, strongest first`);
    this.number.setAttribute("aria-label", `Number of ${this.line}s shown`);
    this.range.max = this.number.max = String(arcs.strength.length);
    this.all.textContent = `all ${whole(arcs.strength.length)}`;
    this.all.title = `All ${counted(arcs.strength.length, this.line)}`;
    this.said.title = `Strength: ${strength.name}`;
    this.curve.replaceChildren(curvePath(ranked ? [] : arcs.strength));
  }

  set(shown: number): void {
    this.range.value = this.number.value = String(shown);
    this.range.style.setProperty("--share", `${this.strengths.length ? (100 * shown) / this.strengths.length : 0}%`);
    const weakest = shown > 0 ? this.strengths[Math.min(shown, this.strengths.length) - 1] : null;
    this.said.textContent = weakest == null ? `no ${this.line}s` : this.weakest(weakest);
    this.range.setAttribute("aria-valuetext", `${whole(shown)} of ${whole(this.strengths.length)} ${this.line}s`);
  }

  private weakest(strength: number): string {
    return this.ranked ? `to place ${whole(strength)}` : `≥ ${figure(strength)} ${this.unit}`;
  }
}

/** The strengths from foot to head, as a filled curve that bulges where they are large. */
function curvePath(strengths: readonly number[]): SVGPathElement {
  const widths = curve(strengths, 60);
  const points = widths.map(
    (w, i) => `${(100 * (1 - w)).toFixed(1)} ${(100 * (1 - i / (widths.length - 1))).toFixed(1)}`,
  );
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", widths.length > 1 ? `M100 100 L${points.join(" L")} L100 0 Z` : "");
  return path;
}

/** Strengths at evenly spaced ranks, on a logarithmic scale from 0 to 1. */
export function curve(strengths: readonly number[], steps: number): number[] {
  if (strengths.length === 0) return [];
  const floor = strengths[strengths.length - 1];
  const most = Math.log1p(Math.max(0, strengths[0] - floor));
  return Array.from({ length: steps }, (_, i) => {
    const rank = Math.round((i / (steps - 1)) * (strengths.length - 1));
    const share = most > 0 ? Math.log1p(Math.max(0, strengths[rank] - floor)) / most : 1;
    return 0.08 + 0.92 * share;
  });
}
