/** A local distribution as a node of the page, and as a picture where it is one. */

import { counted, element, link, whole } from "../dom.ts";
import type { LocalDistribution, ViewDocument } from "../document.ts";
import type { Palette } from "../palette.ts";
import { type Scene, sceneElement } from "../scene.ts";
import { tableElement } from "./table.ts";
import { treeScene } from "./tree.ts";
import { featuresElement, gaussianElement, logisticElement } from "./weights.ts";

export interface Shown {
  readonly node: Node;
  /** What can be exported as a picture. */
  readonly scene: Scene | null;
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
  switch (local.type) {
    case "tree":
    case "graph": {
      const scene = treeScene(local, child, document, palette, unfolded);
      return { scene, node: sceneElement(scene, { click: go, unfold }) };
    }
    case "table":
      return { scene: null, node: tableElement(local, child, document, go) };
    case "logistic":
    case "boosted":
      return { scene: null, node: logisticElement(local, child, document, go) };
    case "gaussian":
      return { scene: null, node: gaussianElement(local, child, document, go) };
    case "features":
      return { scene: null, node: featuresElement(local, child, document, go) };
    case "field": {
      const said = "Its distribution given its blanket is the product of these tables, normalised.";
      const made = element("div", {}, element("p", { class: "remark", text: said }));
      for (const family of local.families) {
        const owner = family.child ?? child;
        const { name } = document.variables[owner];
        made.append(element("h3", {}, "Table of ", owner === child ? name : link(name, () => go(owner))));
        made.append(tableElement(family, owner, document, go));
      }
      return { scene: null, node: made };
    }
    case "none":
      return { scene: null, node: element("p", { class: "remark", text: local.reason }) };
    default:
      return {
        scene: null,
        node: element("p", { class: "remark", text: "This page cannot show this kind of distribution." }),
      };
  }
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
