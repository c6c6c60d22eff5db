/** A local distribution as a node of the page, and as a picture where it is one. */

import { counted, element, isolated, link, whole } from "../dom.ts";
import { type FieldLocal, isTree, type LocalDistribution, type TreeLocal, type ViewDocument } from "../document.ts";
import type { Palette } from "../palette.ts";
import { type Scene, sceneElement } from "../scene.ts";
import { tableElement } from "./table.ts";
import { treePicture } from "./tree.ts";
import { featuresElement, gaussianElement, logisticElement } from "./weights.ts";

export interface Shown {
  readonly node: Node;
  /** What can be exported as a picture. */
  readonly scene: Scene | null;
  /** Pixels from its upper border to where one begins to read: the root of a tree stands in the middle. */
  readonly begins: number;
}

export interface ShowActions {
  go(variable: number): void;
  unfold(node: number): void;
}

export function showDistribution(
  local: LocalDistribution,
  child: number,
  document: ViewDocument,
  palette: Palette,
  unfolded: ReadonlySet<number>,
  { go, unfold }: ShowActions,
): Shown {
  if (!isTree(local)) return { scene: null, begins: 0, node: nodeOf(local, child, document, go) };
  const { scene, begins } = treePicture(local, child, document, palette, unfolded);
  return { scene, begins, node: sceneElement(scene, { click: go, unfold }) };
}

function nodeOf(
  local: Exclude<LocalDistribution, TreeLocal>,
  child: number,
  document: ViewDocument,
  go: ShowActions["go"],
): Node {
  switch (local.type) {
    case "table":
      return tableElement(local, child, document, go);
    case "logistic":
    case "boosted":
      return logisticElement(local, child, document, go);
    case "gaussian":
      return gaussianElement(local, child, document, go);
    case "features":
      return featuresElement(local, child, document, go);
    case "field":
      return fieldElement(local, child, document, go);
    case "none":
      return element("p", { class: "remark", text: local.reason });
    default:
      return element("p", { class: "remark", text: "This page cannot show this kind of distribution." });
  }
}

function fieldElement(local: FieldLocal, child: number, document: ViewDocument, go: ShowActions["go"]): Node {
  const said = "Its distribution given its blanket is the product of these tables, normalised.";
  const made = element("div", {}, element("p", { class: "remark", text: said }));
  for (const family of local.families) {
    const owner = family.child ?? child;
    const { name } = document.variables[owner];
    made.append(element("h3", {}, "Table of ", owner === child ? isolated(name) : link(name, () => go(owner))));
    made.append(tableElement(family, owner, document, go));
  }
  return made;
}

/** What kind of distribution it is, in words. */
export function distributionName(local: LocalDistribution): string {
  switch (local.type) {
    case "tree":
    case "graph": {
      const leaves = counted(local.total, "leaf", "leaves");
      const part = local.shown < local.total;
      return `decision ${local.type}, ${part ? `${whole(local.shown)} of ${leaves} shown` : leaves}`;
    }
    case "table":
      return `table, ${counted(local.total, "configuration")}`;
    case "logistic":
      return "logistic regression";
    case "boosted":
      return "boosted trees";
    case "gaussian":
      return "linear Gaussian";
    case "features":
      return `features, ${counted(local.total, "weight")}`;
    case "field":
      return `field of ${counted(local.families.length, "table")}`;
    default:
      return "";
  }
}
