/** The name of the variable under the pointer, whole and on a small card: names on the network are cut and left out. */

import { element } from "./dom.ts";
import { clamp } from "./document.ts";
import type { Disc } from "./names.ts";

const GAP = 6;

export class HoverCard {
  private readonly root = element("div", { class: "hover", "aria-hidden": "true", hidden: "" });

  constructor(private readonly container: HTMLElement) {
    container.append(this.root);
  }

  show(name: string, { x, y, r }: Disc): void {
    this.root.textContent = name;
    this.root.hidden = false;
    const { clientWidth, clientHeight } = this.container;
    const { offsetWidth, offsetHeight } = this.root;
    const right = x + r + GAP;
    const left = right + offsetWidth <= clientWidth ? right : x - r - GAP - offsetWidth;
    this.root.style.left = `${clamp(left, 0, Math.max(0, clientWidth - offsetWidth))}px`;
    this.root.style.top = `${clamp(y - offsetHeight / 2, 0, Math.max(0, clientHeight - offsetHeight))}px`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}
