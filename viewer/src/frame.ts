/** The frame of the page: bar, slider, network, panel; the keys that work everywhere; colours as CSS variables. */

import type { ViewDocument } from "./document.ts";
import { type Child, counted, element, fill, lineWord, short } from "./dom.ts";
import type { PictureFormat } from "./export.ts";
import { helpDialog } from "./help.ts";
import type { Box } from "./names.ts";
import type { Palette } from "./palette.ts";
import { SearchBox } from "./search.ts";
import { Slider } from "./slider.ts";
import type { Direction } from "./walk.ts";

export interface FrameActions {
  select(variable: number | null): void;
  show(count: number): void;
  step(by: -1 | 1): void;
  walk(direction: Direction): void;
  enter(): void;
  zoom(factor: number): void;
  fit(): void;
  compare(): void;
  theme(): void;
  save(format: PictureFormat): void;
}

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** Colours that the style sheet uses, as `--name`. */
const CSS_COLORS = [
  "ground",
  "surface",
  "ink",
  "muted",
  "line",
  "field",
  "accent",
  "evidence",
  "changed",
  "alarm",
] as const;

export class Frame {
  readonly canvas = element("div", { class: "canvas" });
  readonly legend = element("ul", { class: "legend", "aria-label": "What the colours mean" });
  readonly slider: Slider;
  private readonly search: SearchBox;
  private readonly network: HTMLElement;
  private readonly title = element("h1", { text: "Quiltwork" });
  private readonly summary = element("p", { class: "summary" });
  private readonly notes = element("div", { class: "notes", role: "note", hidden: "" });
  private readonly status = element("p", { class: "unseen", "aria-live": "polite" });
  private readonly compare: HTMLButtonElement;
  private readonly stage: HTMLElement;
  private readonly zoom = this.zoomButtons();
  private readonly help = helpDialog();
  private hushed = "";

  constructor(
    private readonly root: HTMLElement,
    /** Who hears the keys: the whole page where there is nothing else on it. */
    listens: EventTarget,
    panel: HTMLElement,
    dialog: HTMLElement,
    private readonly actions: FrameActions,
  ) {
    this.search = new SearchBox((v) => {
      actions.select(v);
      this.network.focus({ preventScroll: true });
    });
    this.slider = new Slider((count) => actions.show(count));
    this.compare = this.button("Compare", "Compare: lay the second model over the first", () => actions.compare());
    this.compare.hidden = true;
    this.network = element(
      "section",
      {
        class: "network",
        tabindex: "0",
        role: "application",
        "aria-label": "The network: arrow keys go from variable to variable, Enter opens one",
        onkeydown: (event) => this.networkKey(event),
      },
      this.canvas,
      this.legend,
      this.zoom,
    );
    this.stage = element("main", { class: "stage" }, this.slider.root, this.network, panel);
    root.classList.add("quiltwork");
    fill(root, this.bar(), this.notes, this.stage, this.status, dialog, this.help);
    listens.addEventListener("keydown", (event) => this.anyKey(event as KeyboardEvent));
  }

  setDocument(doc: ViewDocument, hasOther: boolean, compared: boolean): void {
    this.title.textContent = short(doc.title, 120);
    const { variables, arcs } = doc;
    this.summary.textContent = [
      doc.name,
      counted(variables.length, "variable"),
      counted(arcs.from.length, lineWord(doc.directed)),
      doc.summary.rows != null && `learned from ${counted(doc.summary.rows, "row")}`,
    ]
      .filter(Boolean)
      .join(" · ");
    this.search.setNames(variables.map((v) => v.name));
    this.slider.setDocument(doc);
    this.compare.hidden = !hasOther;
    this.compare.setAttribute("aria-pressed", String(compared));
  }

  setPalette(palette: Palette, dark: boolean): void {
    this.root.dataset.theme = dark ? "dark" : "light";
    for (const name of CSS_COLORS) this.root.style.setProperty(`--${name}`, palette[name]);
  }

  /** Sentences that a reader must see; nothing where there are none. */
  setNotes(sentences: readonly (string | null)[]): void {
    const said = sentences.filter((s): s is string => Boolean(s));
    this.notes.hidden = said.length === 0 || said.join("\n") === this.hushed;
    const hush = element("button", {
      type: "button",
      class: "quiet",
      "aria-label": "Hide these notes",
      text: "✕",
      onclick: () => {
        this.hushed = said.join("\n");
        this.notes.hidden = true;
        this.network.focus({ preventScroll: true });
      },
    });
    fill(this.notes, element("div", {}, ...said.map((text) => element("p", { text: short(text, 600) }))), hush);
  }

  /** What lies over the network, in pixels from its corner. */
  covered(): Box[] {
    const from = this.canvas.getBoundingClientRect();
    return [this.legend, this.zoom].map((part) => {
      const { left, top, right, bottom } = part.getBoundingClientRect(); // nothing where it is hidden
      return { left: left - from.left, top: top - from.top, right: right - from.left, bottom: bottom - from.top };
    });
  }

  /** Where what had the focus is gone, the network has it: keys are heard, and Tab goes on from there. */
  keepFocus(): void {
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body) this.network.focus({ preventScroll: true });
  }

  /** Tell those who listen instead of looking. */
  say(sentence: string): void {
    this.status.textContent = sentence;
  }

  /** There is nothing to show, and this is why. */
  fail(reason: string): void {
    fill(this.stage, element("p", { class: "failed", role: "alert", text: reason }));
  }

  private bar(): HTMLElement {
    const { actions } = this;
    const tools = element(
      "div",
      { class: "tools" },
      this.compare,
      this.button("SVG", "Save what is on screen as SVG", () => actions.save("svg")),
      this.button("PNG", "Save what is on screen as PNG", () => actions.save("png")),
      this.button("◐", "Light or dark", () => actions.theme()),
      this.button("?", "Keys", () => this.help.showModal()),
    );
    return element(
      "header",
      { class: "top" },
      quilt(),
      element("div", { class: "what" }, this.title, this.summary),
      this.search.root,
      tools,
    );
  }

  private zoomButtons(): HTMLElement {
    return element(
      "div",
      { class: "zoom" },
      this.button("+", "Zoom in", () => this.actions.zoom(1.5)),
      this.button("−", "Zoom out", () => this.actions.zoom(1 / 1.5)),
      this.button("⤢", "Fit the whole network", () => this.actions.fit()),
    );
  }

  private button(text: string, title: string, action: () => void): HTMLButtonElement {
    return element("button", { type: "button", text, title, "aria-label": title, onclick: action });
  }

  private networkKey(event: KeyboardEvent): void {
    if (event.target !== this.network && event.key !== "Escape") return;
    const act = (): boolean => {
      if (event.key in ARROWS) this.actions.walk(ARROWS[event.key]);
      else if (event.key === "Enter") this.actions.enter();
      else if (event.key === "Escape") this.actions.select(null);
      else return false;
      return true;
    };
    if (!event.ctrlKey && !event.metaKey && !event.altKey && act()) event.preventDefault();
  }

  private anyKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const typing = target instanceof HTMLInputElement && target.type !== "range";
    if (typing || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
    if (this.root.dataset.ready !== "yes") return;
    const keys: Record<string, () => void> = {
      "/": () => this.search.focus(),
      "?": () => this.help.showModal(),
      "[": () => this.actions.step(-1),
      "]": () => this.actions.step(1),
      "+": () => this.actions.zoom(1.5),
      "=": () => this.actions.zoom(1.5),
      "-": () => this.actions.zoom(1 / 1.5),
      "0": () => this.actions.fit(),
      Escape: () => this.actions.select(null),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }
}

/** Four patches of a quilt. */
function quilt(): HTMLElement {
  const patches: Child[] = ["a", "b", "c", "d"].map((patch) => element("span", { class: `patch ${patch}` }));
  return element("div", { class: "quilt", "aria-hidden": "true" }, ...patches);
}
