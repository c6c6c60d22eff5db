/** The panel beside the network: the evidence, then the selected variable or the network as a whole. */

import type { Comparison } from "../compare.ts";
import { element, fill } from "../dom.ts";
import type { Answer } from "../evidence.ts";
import type { Network } from "../network.ts";
import type { Palette } from "../palette.ts";
import { evidenceSection } from "./given.ts";
import { overview } from "./overview.ts";
import { aboutVariable } from "./variable.ts";

export interface PanelActions {
  select(variable: number | null): void;
  open(variable: number): void;
  /** Set, change or (null) take back the evidence on a variable. */
  give(variable: number, value: number | null): void;
  forget(): void;
}

export interface PanelState {
  readonly network: Network;
  readonly palette: Palette;
  readonly selected: number | null;
  readonly evidence: ReadonlyMap<number, number>;
  readonly answer: Answer;
  readonly comparison: Comparison | null;
  /** "yes"; or a sentence that says why evidence cannot be set here; or "no" to say nothing. */
  readonly canAsk: string;
}

export class Panel {
  readonly root = element("aside", { class: "panel", "aria-label": "Details" });
  private selected: number | null = null;
  private allStates = false;

  constructor(private readonly actions: PanelActions) {}

  update(state: PanelState): void {
    if (state.selected !== this.selected) {
      this.allStates = false;
      this.root.scrollTop = 0;
    }
    this.selected = state.selected;
    const focus = this.focusedKey();
    const expand = () => {
      this.allStates = true;
      this.update(state);
    };
    const about =
      state.selected === null
        ? overview(state, this.actions)
        : aboutVariable(state, state.selected, this.actions, this.allStates, expand);
    fill(this.root, evidenceSection(state, this.actions), ...about);
    if (focus) this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }

  /** What had the focus, to give it back after drawing anew. */
  private focusedKey(): string | null {
    const { activeElement } = document;
    return this.root.contains(activeElement) ? (activeElement?.getAttribute("data-key") ?? null) : null;
  }
}
