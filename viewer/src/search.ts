/** Find a variable by typing: names that begin with the words come first, then those that contain them. */

import { element, fill, short } from "./dom.ts";

const MOST_FOUND = 12;

/** Indices of the best matches, best first; ties go to the shorter name, then to the lower index. */
export function findVariables(names: readonly string[], query: string, most = MOST_FOUND): number[] {
  const wanted = folded(query.trim());
  if (wanted === "") return [];
  const found: { index: number; rank: number; length: number }[] = [];
  for (const [index, name] of names.entries()) {
    const at = name.indexOf(wanted);
    if (at < 0) continue;
    const rank = name.length === wanted.length ? 0 : at === 0 ? 1 : /[\p{L}\p{N}]/u.test(name[at - 1]) ? 3 : 2;
    found.push({ index, rank, length: name.length });
  }
  found.sort((a, b) => a.rank - b.rank || a.length - b.length || a.index - b.index);
  return found.slice(0, most).map((match) => match.index);
}

/** Lower case without accents, so that "resume" finds "Résumé". */
export function folded(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

export class SearchBox {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private names: string[] = [];
  private found: number[] = [];
  private active = 0;

  constructor(
    private readonly choose: (variable: number) => void,
    id = `found-${Math.random().toString(36).slice(2)}`,
  ) {
    this.list = element("ul", { role: "listbox", class: "found", id, hidden: "" });
    this.input = element("input", {
      type: "text",
      role: "combobox",
      placeholder: "Find a variable",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Find a variable",
      "aria-controls": id,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      oninput: () => this.look(),
      onfocus: () => this.look(),
      onblur: () => this.close(),
      onkeydown: (event) => this.key(event),
    });
    this.root = element("div", { class: "search" }, this.input, element("kbd", { text: "/" }), this.list);
  }

  setNames(names: readonly string[]): void {
    this.names = names.map(folded);
    this.labels = names;
  }

  private labels: readonly string[] = [];

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private look(): void {
    this.found = findVariables(this.names, this.input.value);
    this.active = 0;
    this.show();
  }

  private show(): void {
    const options = this.found.map((index, i) =>
      element("li", {
        role: "option",
        id: `${this.list.id}-${i}`,
        "aria-selected": String(i === this.active),
        text: short(this.labels[index], 80),
        title: short(this.labels[index], 300),
        onmousedown: (event) => {
          event.preventDefault(); // before the box loses focus and closes
          this.take(index);
        },
      }),
    );
    const none = this.input.value.trim() !== "" && options.length === 0;
    fill(this.list, ...(none ? [element("li", { class: "none", text: "No variable has that name." })] : options));
    this.list.hidden = options.length === 0 && !none;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    if (options.length > 0) this.input.setAttribute("aria-activedescendant", options[this.active].id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && this.found.length > 0) {
      event.preventDefault();
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.show();
    } else if (event.key === "Enter" && this.found.length > 0) this.take(this.found[this.active]);
    else if (event.key === "Escape") {
      event.stopPropagation();
      this.input.value = "";
      this.close();
    }
  }

  private take(variable: number): void {
    this.input.value = "";
    this.close();
    this.input.blur();
    this.choose(variable);
  }

  private close(): void {
    this.found = [];
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
