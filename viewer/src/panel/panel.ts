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
  /** Move the slider. */
  show(count: number): void;
}

export interface PanelState {
  readonly network: Network;
  readonly palette: Palette;
  readonly selected: number | null;
  /** So many of the strongest arcs are shown. */
  readonly shown: number;
  readonly evidence: ReadonlyMap<number, number>;
  readonly answer: Answer;
  readonly comparison: Comparison | null;
  /** "yes"; or a sentence that says why evidence cannot be set here; or "no" to say nothing. */
  readonly canAsk: string;
}

export class Panel {
  readonly root = element("aside", { class: "panel", "aria-label": "Details", tabindex: "-1" });
  private selected: number | null = null;
  private allStates = false;

  constructor(private readonly actions: PanelActions) {}

  update(state: PanelState): void {
    if (state.selected !== this.selected) {
      this.allStates = false;
      this.root.scrollTop = 0;
    }
    this.selected = state.selected;
    const focused = this.root.contains(document.activeElement);
    const key = document.activeElement?.getAttribute("data-key");
    const expand = () => {
      this.allStates = true;
      this.update(state);
    };
    const about =
      state.selected === null
        ? overview(state, this.actions)
        : aboutVariable(state, state.selected, this.actions, this.allStates, expand);
    fill(this.root, evidenceSection(state, this.actions), ...about);
    if (!focused) return; // what had the focus gets it back; where it is gone, the panel keeps it
    const same = key ? this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) : null;
    (same ?? this.root).focus({ preventScroll: true });
  }
}
