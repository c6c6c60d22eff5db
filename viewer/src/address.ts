/** The address of the page: it carries what is selected, shown and given, so that a view can be reloaded and shared. */

import { EMPTY, readAddress, type ViewState, writeAddress } from "./state.ts";

/** Milliseconds after the last change until the address follows. */
const RESTS = 150;

export class Address {
  private timer = 0;

  constructor(
    /** A notebook's address is not ours. */
    private readonly owned: boolean,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  read(): ViewState {
    return this.owned ? readAddress(location.hash) : EMPTY;
  }

  /** The reader went back or forth, or typed another one. */
  listen(changed: () => void): void {
    if (this.owned) addEventListener("popstate", changed, { signal: this.signal });
  }

  /** Written when the state rests: browsers count writes, and some draw their window anew at each. */
  write(state: ViewState): void {
    if (!this.owned) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.attempt(() => writeNow(state)), RESTS);
  }

  /** A page within another (srcdoc) has no address to write. */
  private attempt(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }
}

/** Another variable is a step to come back to. */
function writeNow(state: ViewState): void {
  const hash = writeAddress(state);
  if (hash === location.hash) return;
  const step = state.variable !== readAddress(location.hash).variable;
  history[step ? "pushState" : "replaceState"](null, "", location.pathname + location.search + hash);
}
