/** The dialog that shows a variable's local distribution; its split variables lead on to theirs, and back. */

import type { Model } from "./compare.ts";
import { distributionName, showDistribution, type Shown } from "./distributions/show.ts";
import { openedSplits } from "./distributions/layout.ts";
import type { LocalDistribution, TreeLocal, ViewDocument } from "./document.ts";
import { element, fill, short } from "./dom.ts";
import { type PictureFormat, savePicture } from "./export.ts";
import type { Palette } from "./palette.ts";
import type { Which } from "./source.ts";

const WHICH: readonly Which[] = ["first", "second"];

export interface DialogHost {
  document(): ViewDocument;
  palette(): Palette;
  /** The two models that are compared; null where there is one. */
  models(): readonly [Model, Model] | null;
  /** The local distribution of a variable of a document. */
  local(variable: number, of: Which): Promise<LocalDistribution>;
  /** The reader went to a variable: the network follows. */
  went(variable: number): void;
  /** It is closed, by whatever way. */
  closed(): void;
}

export class DistributionDialog {
  readonly root: HTMLDialogElement;
  private readonly name = element("h2");
  private readonly kind = element("p", { class: "remark" });
  private readonly body = element("div", { class: "body", tabindex: "-1" });
  private readonly back: HTMLButtonElement;
  private readonly pictures: HTMLElement;
  private readonly whole: HTMLButtonElement;
  private trail: number[] = [];
  private unfolded = new Set<number>();
  private current: { variable: number; local: LocalDistribution; shown: Shown } | null = null;
  /** Whose distributions are shown where two models are compared. */
  private of: Which = "first";
  private readonly choice = element("div", { class: "choice", role: "group", "aria-label": "Model" });
  private fitted = false;
  /** The number of the last request: answers to older ones come too late. */
  private latest = 0;

  constructor(private readonly host: DialogHost) {
    const button = (text: string, title: string, action: () => void) =>
      element("button", { type: "button", text, title, "aria-label": title, onclick: action });
    this.back = button("← Back", "Back to the distribution before this one", () => this.goBack());
    this.whole = button("Fit", "Fit the whole picture into the window, or show it at full size", () =>
      this.toggleFit(),
    );
    this.pictures = element(
      "span",
      { class: "tools" },
      this.whole,
      button("SVG", "Save this picture as SVG", () => this.save("svg")),
      button("PNG", "Save this picture as PNG", () => this.save("png")),
    );
    const close = element("button", {
      type: "button",
      class: "quiet close",
      "aria-label": "Close",
      title: "Close (Esc)",
      text: "✕",
      onclick: () => this.root.close(),
    });
    this.root = element(
      "dialog",
      {
        class: "distribution",
        "aria-label": "Local distribution",
        onclick: (event) => event.target === this.root && this.root.close(),
        onclose: () => this.host.closed(),
      },
      element(
        "header",
        {},
        this.back,
        element("div", { class: "what" }, this.name, this.kind),
        this.choice,
        this.pictures,
        close,
      ),
      this.body,
    );
  }

  async open(variable: number): Promise<void> {
    this.trail = [];
    await this.show(variable);
  }

  /** Draw again, in other colours. */
  refresh(): void {
    if (this.root.open && this.current) this.paint(this.current.variable, this.current.local);
  }

  private async show(variable: number): Promise<void> {
    const request = ++this.latest;
    const { name } = this.host.document().variables[variable];
    this.current = null;
    this.unfolded = new Set();
    this.name.textContent = short(name, 120);
    this.root.setAttribute("aria-label", `Local distribution of ${short(name, 120)}`);
    this.back.hidden = this.trail.length === 0;
    this.offerModels(variable);
    this.say(element("p", { class: "remark", text: "Loading…" }), true);
    if (!this.root.open) this.root.showModal();
    this.body.focus();
    try {
      const local = await this.told(variable);
      if (request === this.latest) this.paint(variable, local, true);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (request === this.latest) this.say(element("p", { class: "refused", role: "alert", text: reason }));
    }
  }

  /** Where two models are compared: whose distribution is shown. */
  private offerModels(variable: number): void {
    const models = this.host.models();
    if (models === null) this.of = "first";
    this.choice.hidden = models === null;
    const buttons = (models ?? []).map(({ called }, i) => {
      const of = WHICH[i];
      const choose = () => {
        this.of = of;
        void this.show(variable);
        this.choice.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
      };
      const pressed = String(of === this.of);
      return element("button", { type: "button", text: short(called, 30), "aria-pressed": pressed, onclick: choose });
    });
    fill(this.choice, ...buttons);
  }

  private model(): Model | null {
    return this.host.models()?.[WHICH.indexOf(this.of)] ?? null;
  }

  private async told(variable: number): Promise<LocalDistribution> {
    const model = this.model();
    const own = model === null ? variable : model.own[variable];
    if (own === undefined) return { type: "none", reason: "This model does not have this variable." };
    return this.host.local(own, this.of);
  }

  /** A sentence in the place of a distribution. */
  private say(sentence: HTMLElement, busy = false): void {
    this.kind.textContent = "";
    this.pictures.hidden = true;
    this.body.setAttribute("aria-busy", String(busy));
    this.body.classList.remove("fitted");
    fill(this.body, sentence);
  }

  private paint(variable: number, local: LocalDistribution, fresh = false): void {
    const model = this.model();
    const [own, document] = [model?.own[variable] ?? variable, model?.document ?? this.host.document()];
    const shown = showDistribution(local, own, document, this.host.palette(), this.unfolded, {
      go: (next) => this.go(model === null ? next : model.joint[next]),
      unfold: (node) => this.unfold(node),
    });
    this.current = { variable, local, shown };
    this.kind.textContent = distributionName(local);
    this.pictures.hidden = shown.scene === null;
    this.body.setAttribute("aria-busy", "false");
    fill(this.body, shown.node);
    this.applyFit();
    if (fresh) this.body.scrollTo(0, shown.begins - this.body.clientHeight / 2);
  }

  private go(variable: number): void {
    if (this.current) this.trail.push(this.current.variable);
    this.host.went(variable);
    void this.show(variable);
  }

  private goBack(): void {
    const variable = this.trail.pop();
    if (variable === undefined) return;
    this.host.went(variable);
    void this.show(variable);
  }

  /** Show what is below a folded node: a dozen more splits. */
  private unfold(node: number): void {
    if (!this.current) return;
    const local = this.current.local as TreeLocal;
    for (const split of openedSplits({ ...local, root: node }, 12, new Set())) this.unfolded.add(split);
    this.paint(this.current.variable, local);
  }

  private toggleFit(): void {
    this.fitted = !this.fitted;
    this.applyFit();
  }

  private applyFit(): void {
    this.whole.textContent = this.fitted ? "Full size" : "Fit";
    this.body.classList.toggle("fitted", this.fitted && this.current?.shown.scene != null);
  }

  private save(format: PictureFormat): void {
    const scene = this.current?.shown.scene;
    if (!scene) return;
    savePicture(scene, format, "distribution").catch((error: Error) => {
      this.kind.textContent = error.message;
    });
  }
}
