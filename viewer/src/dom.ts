/**
 * The only way elements are made here: names reach the page as text and attributes, never as markup.
 *
 * There is no innerHTML in this code, and a test keeps it so: a variable may be called `<img onerror=...>`.
 */

export type Child = Node | string | null | false;

type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };

type Properties = Handlers & {
  class?: string;
  text?: string;
  [attribute: `aria-${string}` | `data-${string}`]: string;
} & { [name in "id" | "type" | "title" | "for" | "role" | "tabindex" | "placeholder" | "autocomplete"]?: string } & {
  [name in "min" | "max" | "step" | "value" | "href" | "target" | "scope" | "open" | "spellcheck" | "hidden"]?: string;
};

/** An HTML element with attributes, listeners and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value as EventListener);
    else if (name === "text") made.textContent = value as string;
    else if (value !== undefined) made.setAttribute(name, value as string);
  }
  for (const child of children) if (child) made.append(child);
  return made;
}

/** Put other children into an element. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

/** A button that looks like text and does one thing. */
export function link(text: string, action: () => void, title = ""): HTMLButtonElement {
  return element("button", {
    type: "button",
    class: "link",
    text: short(text, 60),
    title: title || text,
    onclick: action,
  });
}

/** A text cut to so many characters; names may be thousands long. */
export function short(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ");
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/** A name among other words: where it is written from right to left, or says so, it turns none of theirs round. */
export function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/;

/** A probability with as many digits as a person reads. */
export function percent(p: number): string {
  if (p > 0 && p < 0.0005) return "<0.1%";
  if (p < 1 && p > 0.9995) return ">99.9%";
  return `${(100 * p).toFixed(1)}%`;
}

/** A number with up to four significant digits. */
export function figure(x: number): string {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-3) return x.toExponential(3).replace(/\.?0*e\+?/, "e");
  return x.toLocaleString("en", { maximumSignificantDigits: 4 });
}

export function whole(n: number): string {
  return n.toLocaleString("en");
}

/** What a line between two variables is called. */
export function lineWord(directed: boolean): "arc" | "edge" {
  return directed ? "arc" : "edge";
}

/** "1 arc", "2 arcs". */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${whole(n)} ${n === 1 ? one : many}`;
}
