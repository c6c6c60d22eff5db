/**
 * The page: reads a document, holds the view state, and lets the parts follow it.
 *
 * Every change goes one way: an action updates the store, the store's listener decides what has to be drawn again,
 * and the parts draw it. The address is written from the same state, so that whatever is seen can be shared.
 */

import { Address } from "./address.ts";
import { type Comparison, compareDocuments } from "./compare.ts";
import { DistributionDialog } from "./dialog.ts";
import { clamp, DocumentError, type LocalDistribution, readDocument, type ViewDocument } from "./document.ts";
import { counted, element, fill, isolated, short } from "./dom.ts";
import { type Answer, answerInWords, Questions, shifts } from "./evidence.ts";
import { type PictureFormat, savePicture } from "./export.ts";
import { Frame } from "./frame.ts";
import { GraphView, hasWebGL } from "./graph.ts";
import { type Entry, legendEntries, updateLegend, withLegend } from "./legend.ts";
import { type ArcLook, arcLook, type Look, lookOf } from "./look.ts";
import { Network } from "./network.ts";
import { DARK, LIGHT, type Palette } from "./palette.ts";
import { Panel } from "./panel/panel.ts";
import { PlainView } from "./plain.ts";
import { rolesOf } from "./roles.ts";
import { Refused, type Source, type Which } from "./source.ts";
import { fitted, Store, type ViewState } from "./state.ts";
import type { NetworkView, Point, ViewHost } from "./view.ts";
import { type Direction, stepTo } from "./walk.ts";

const NO_PYTHON =
  "Probabilities given evidence are computed by Python, and this is a file: " +
  "open the model with 'quiltwork view' to set evidence.";

export class App {
  private readonly store: Store;
  private readonly frame: Frame;
  private readonly panel: Panel;
  private readonly dialog: DistributionDialog;
  private readonly questions: Questions;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private palette: Palette;
  private document!: ViewDocument;
  private other: ViewDocument | null = null;
  private comparison: Comparison | null = null;
  private network!: Network;
  private arcs!: ArcLook;
  private view!: NetworkView;
  private answer: Answer = { state: "none" };
  private waiting: "nothing" | "show" | "draw" = "nothing";
  private frameRequest = 0;
  private readonly life = new AbortController();
  private readonly address: Address;
  /** What went wrong beside the document, in a sentence. */
  private trouble: string | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly source: Source,
    private readonly ownsAddress: boolean,
  ) {
    this.palette = this.dark.matches ? DARK : LIGHT;
    this.address = new Address(ownsAddress, this.life.signal);
    this.store = new Store(this.address.read());
    this.panel = new Panel({
      select: (v) => this.select(v, true),
      open: (v) => this.open(v),
      give: (v, value) => this.give(v, value),
      forget: () => this.store.update({ evidence: new Map() }),
      show: (count) => this.show(count),
    });
    this.dialog = new DistributionDialog({
      document: () => this.network.document,
      palette: () => this.palette,
      models: () => this.comparison?.models ?? null,
      local: (v, of) => this.local(v, of),
      went: (v) => this.select(v, true),
      closed: () => this.frame.keepFocus(),
    });
    this.frame = new Frame(root, ownsAddress ? document : root, this.panel.root, this.dialog.root, {
      select: (v) => this.select(v, true),
      show: (count) => this.show(count),
      step: (by) => this.step(by),
      walk: (direction) => this.walk(direction),
      enter: () => this.store.state.variable !== null && this.open(this.store.state.variable),
      zoom: (factor) => this.view.zoom(factor),
      fit: () => this.view.fit(),
      compare: () => this.store.update({ compare: !this.store.state.compare, shown: null }),
      theme: () => this.setPalette(this.palette === DARK ? LIGHT : DARK),
      save: (format) => this.save(format),
    });
    this.questions = new Questions(source, (answer) => this.answered(answer));
    const { signal } = this.life;
    this.dark.addEventListener("change", () => this.setPalette(this.dark.matches ? DARK : LIGHT), { signal });
  }

  /** Read the document and show it; what is wrong with it is said in the page. */
  async start(): Promise<void> {
    this.frame.setPalette(this.palette, this.palette === DARK);
    try {
      const [raw] = await Promise.all([this.source.document(), painted()]);
      if (this.life.signal.aborted) return;
      this.document = readDocument(raw);
      this.store.update(this.fitted(this.store.state));
      this.useDocument(this.document);
    } catch (error) {
      this.frame.fail(error instanceof Error ? error.message : String(error));
      if (error instanceof DocumentError || error instanceof Refused) return;
      throw error; // a fault of this page: the console should have it too
    }
    this.follow();
    this.root.dataset.ready = "yes";
    performance.mark("quiltwork-ready");
    await this.readOther();
  }

  /** From now on every change of the state is shown, and changes of the address are heard. */
  private follow(): void {
    this.store.listen((now, before) => this.changed(now, before));
    this.address.listen(() => this.store.update(this.fitted(this.address.read())));
    if (this.store.state.evidence.size > 0) void this.questions.ask(this.store.state.evidence);
  }

  /** Where a variable stands on the page, for scripts and tests. */
  place(variable: number): Point {
    const { left, top } = this.frame.canvas.getBoundingClientRect();
    const at = this.view.place(variable);
    return { x: left + at.x, y: top + at.y };
  }

  kill(): void {
    this.life.abort();
    cancelAnimationFrame(this.frameRequest);
    this.view?.kill();
    this.root.replaceChildren();
  }

  /** What the document can have of a state that came from an address. */
  private fitted(state: ViewState): ViewState {
    const counts = this.document.variables.map((variable) => variable.states.length);
    return fitted(state, counts, this.network?.size ?? counts.length);
  }

  // Actions

  private select(variable: number | null, reveal = false): void {
    if (variable !== this.store.state.variable) this.store.update({ variable });
    if (reveal && variable !== null) this.view.reveal(variable);
  }

  private show(count: number): void {
    this.store.update({ shown: clamp(Math.round(count) || 0, 0, this.network.arcCount) });
  }

  private open(variable: number): void {
    this.select(variable);
    void this.dialog.open(variable);
  }

  private give(variable: number, value: number | null): void {
    const evidence = new Map(this.store.state.evidence);
    if (value === null) evidence.delete(variable);
    else evidence.set(variable, value);
    this.store.update({ evidence });
  }

  /** Slide by a fiftieth of all arcs, or by one when there are few. */
  private step(by: -1 | 1): void {
    const size = Math.max(1, Math.round(this.network.arcCount / 50));
    this.show(this.shown() + by * size);
  }

  private walk(direction: Direction): void {
    const { variable } = this.store.state;
    if (this.network.size === 0) return;
    if (variable === null) return this.select(this.network.arcCount > 0 ? this.network.document.arcs.from[0] : 0, true);
    const next = stepTo(variable, direction, this.network.size, (v) => this.view.place(v));
    if (next !== null) this.select(next, true);
  }

  private save(format: PictureFormat): void {
    const scene = withLegend(this.view.scene(), this.legend(), this.palette);
    savePicture(scene, format, "network").catch((error: Error) => {
      this.trouble = error.message;
      this.showNotes();
    });
  }

  private setPalette(palette: Palette): void {
    this.palette = palette;
    this.frame.setPalette(palette, palette === DARK);
    if (!this.network) return;
    this.arcs = arcLook(this.network, palette, this.comparison?.sides ?? null);
    this.dialog.refresh();
    this.drawLater("draw");
    this.updatePanel();
  }

  // What follows a change

  private changed(now: ViewState, before: ViewState): void {
    if (now.compare !== before.compare) this.useDocument(this.document);
    if (now.evidence !== before.evidence) void this.questions.ask(now.evidence);
    if (now.variable !== before.variable || now.evidence !== before.evidence || now.compare !== before.compare) {
      this.drawLater("draw");
      this.updatePanel();
      this.announce(now);
    } else if (now.shown !== before.shown) {
      this.drawLater("show");
      if (now.variable !== null) this.updatePanel(); // it tells how many of its arcs are shown
    }
    this.frame.slider.set(this.shown());
    this.address.write(now);
  }

  private answered(answer: Answer): void {
    this.answer = answer;
    this.drawLater("draw");
    this.updatePanel();
    if (answer.state !== "found") return;
    this.frame.say(answerInWords(this.network.document, this.store.state.evidence, answer.marginals));
  }

  /** One drawing for all changes until the next frame. */
  private drawLater(what: "show" | "draw"): void {
    if (this.life.signal.aborted) return;
    if (this.waiting === "nothing") this.frameRequest = requestAnimationFrame(() => this.drawNow());
    if (this.waiting !== "draw") this.waiting = what;
  }

  private drawNow(): void {
    const all = this.waiting === "draw" || this.store.state.variable !== null; // roles follow the slider
    this.waiting = "nothing";
    if (all) updateLegend(this.frame.legend, this.legend()); // before names are placed, which keep clear of it
    if (all) this.view.draw(this.look(), this.shown());
    else this.view.show(this.shown());
    if (all || this.view.limits !== null) this.showNotes();
  }

  private showNotes(): void {
    this.frame.setNotes([...this.network.document.notes, this.trouble, this.view.limits]);
  }

  private legend(): Entry[] {
    const { variable, evidence } = this.store.state;
    const { kind, directed } = this.network.document;
    return legendEntries({
      palette: this.palette,
      kind,
      directed,
      selected: variable !== null,
      comparison: this.comparison,
      evidence: evidence.size > 0,
    });
  }

  private look(): Look {
    const { variable, evidence } = this.store.state;
    const change = this.answer.state === "found" ? shifts(this.network.document, this.answer.marginals) : null;
    return lookOf({
      network: this.network,
      palette: this.palette,
      arcs: this.arcs,
      shown: this.shown(),
      selected: variable,
      evidence,
      change,
    });
  }

  private shown(): number {
    return clamp(this.store.state.shown ?? this.network.document.sliderStart, 0, this.network.arcCount);
  }

  private updatePanel(): void {
    const { variable, evidence } = this.store.state;
    this.panel.update({
      network: this.network,
      palette: this.palette,
      selected: variable,
      shown: this.shown(),
      evidence,
      answer: this.answer,
      comparison: this.comparison,
      canAsk: !this.document.evidence ? "no" : this.source.marginals === null ? NO_PYTHON : "yes",
    });
  }

  private announce({ variable }: ViewState): void {
    if (variable === null) return this.frame.say("Nothing selected");
    const { name } = this.network.document.variables[variable];
    const count = rolesOf(this.network, variable, this.shown()).size;
    this.frame.say(`${isolated(short(name, 80))} selected, ${counted(count, "neighbour")} shown`);
  }

  // Documents

  /** Show a document, or the two laid over each other. */
  private useDocument(first: ViewDocument): void {
    this.comparison = this.store.state.compare && this.other !== null ? compareDocuments(first, this.other) : null;
    this.network = new Network(this.comparison?.document ?? first);
    this.arcs = arcLook(this.network, this.palette, this.comparison?.sides ?? null);
    const { variable } = this.store.state;
    if (variable !== null && variable >= this.network.size) this.store.update({ variable: null });
    this.frame.setDocument(this.network.document, this.other !== null, this.comparison !== null);
    const { name, title } = this.network.document;
    if (this.ownsAddress) document.title = [name, short(title, 80), "Quiltwork"].filter(Boolean).join(" · ");
    this.frame.slider.set(this.shown());
    updateLegend(this.frame.legend, this.legend());
    this.makeView();
    this.updatePanel();
  }

  /** With WebGL, or the plain way where there is a reason to. */
  private makeView(plainly: string | null = null): void {
    this.view?.kill();
    const host: ViewHost = {
      select: (v) => this.select(v),
      open: (v) => this.open(v),
      covered: () => this.frame.covered(),
    };
    const canvas = element("div", { class: "drawn" });
    fill(this.frame.canvas, canvas);
    const lost = () => this.makeView("The browser took WebGL away from this page");
    canvas.addEventListener("webglcontextlost", lost, { capture: true, once: true, signal: this.life.signal });
    const plain = (why: string) => new PlainView(this.network, canvas, host, this.look(), this.shown(), why);
    try {
      this.view =
        plainly === null ? new GraphView(this.network, canvas, host, this.look(), this.shown()) : plain(plainly);
    } catch (error) {
      if (hasWebGL()) throw error; // asked only now: a context to try costs as much as one to draw with
      canvas.replaceChildren();
      this.view = plain("This browser has no WebGL");
    }
    this.showNotes();
  }

  private async readOther(): Promise<void> {
    try {
      const raw = await this.source.other();
      if (raw === null || this.life.signal.aborted) return;
      this.other = readDocument(raw);
    } catch (error) {
      this.trouble = `The second model cannot be shown: ${(error as Error).message}`;
      return this.showNotes();
    }
    if (this.store.state.compare) this.useDocument(this.document);
    else this.frame.setDocument(this.document, true, false);
  }

  private async local(variable: number, of: Which): Promise<LocalDistribution> {
    const document = of === "first" ? this.document : this.other;
    return document?.locals?.[variable] ?? this.source.local(variable, of);
  }
}

/** The frame of the page is on screen before the network is worked on; in a hidden tab nobody waits for it. */
function painted(): Promise<unknown> {
  const frame = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return Promise.race([frame, new Promise((done) => setTimeout(done, 100))]);
}
