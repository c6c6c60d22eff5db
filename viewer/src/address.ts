/** The address of the page: it carries what is selected, shown and given, so that a view can be reloaded and shared. */

import { EMPTY, readAddress, type ViewState, writeAddress } from "./state.ts";

/** Milliseconds after the last change until the address follows. */
const RESTS = 250;

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

  /** A chosen variable is a step to come back to; the rest is written when it rests, for browsers count writes. */
  write(now: ViewState, before: ViewState): void {
    if (!this.owned) return;
    clearTimeout(this.timer);
    const address = location.pathname + location.search + writeAddress(now);
    const step = now.variable !== before.variable && writeAddress(now) !== location.hash;
    if (step) this.attempt(() => history.pushState(null, "", address));
    else this.timer = window.setTimeout(() => this.attempt(() => history.replaceState(null, "", address)), RESTS);
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
