/** The keys, in a small dialog. */

import { element } from "./dom.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "find a variable"],
  ["← ↑ → ↓", "go to the nearest variable on that side (in the network)"],
  ["Enter", "show the selected variable's distribution"],
  ["Esc", "close, or clear the selection"],
  ["[  ]", "move the slider down or up"],
  ["+  −  0", "zoom in, zoom out, fit"],
  ["Tab", "go on to the slider, the network, the panel"],
  ["?", "this list"],
];

export function helpDialog(): HTMLDialogElement {
  const list = element("dl", { class: "keys" });
  for (const [key, what] of KEYS)
    list.append(element("dt", {}, element("kbd", { text: key })), element("dd", { text: what }));
  const close = element("button", {
    type: "button",
    class: "quiet",
    "aria-label": "Close",
    text: "✕",
    onclick: () => root.close(),
  });
  const root: HTMLDialogElement = element(
    "dialog",
    { class: "help", "aria-label": "Keys", onclick: (event) => event.target === root && root.close() },
    element("header", {}, element("h2", { text: "Keys" }), close),
    list,
  );
  return root;
}
