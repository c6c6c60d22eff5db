/**
 * Colours, chosen so that people with any of the common forms of colour blindness can tell them apart.
 *
 * Blue, vermilion, plum and green as in Okabe and Ito's palette ("Color Universal Design", 2008), but further apart in
 * lightness: seen without red, green or blue cones any two differ by 18 units of CIE Lab or more (a test measures it;
 * Okabe and Ito's own four by 10). No meaning is carried by colour alone: arrowheads, lists and words say it too.
 */

import type { Side } from "./compare.ts";
import type { Role } from "./roles.ts";

export interface Palette {
  readonly ground: string;
  readonly surface: string;
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  /** The border of a field to type in. */
  readonly field: string;
  readonly node: string;
  readonly arc: string;
  readonly accent: string;
  readonly evidence: string;
  readonly changed: string;
  /** Words that must not be overlooked: refusals, and what evidence made of a probability. */
  readonly alarm: string;
  readonly roles: Readonly<Record<Role, string>>;
  readonly sides: Readonly<Record<Side, string>>;
}

const [BLUE, VERMILION, PLUM, GREEN] = ["#1273c4", "#c85200", "#7b2d6b", "#155a31"];
const [SKY, ORANGE, PINK, MINT] = ["#3d9be0", "#f08c2e", "#dc9cc8", "#74c476"];

export const LIGHT: Palette = {
  ground: "#faf9f6",
  surface: "#ffffff",
  ink: "#20242c",
  muted: "#585e69",
  line: "#e3e0d8",
  field: "#80858f",
  node: "#64748b",
  arc: "#7d8694",
  accent: BLUE,
  evidence: GREEN,
  changed: VERMILION,
  alarm: "#a84300",
  roles: rolePaint(BLUE, VERMILION, PLUM),
  sides: { first: BLUE, second: VERMILION, both: "#6b7280" },
};

export const DARK: Palette = {
  ground: "#15171c",
  surface: "#1d2027",
  ink: "#e9eaee",
  muted: "#9aa1ae",
  line: "#2f343d",
  field: "#80858f",
  node: "#8290a6",
  arc: "#78818f",
  accent: SKY,
  evidence: MINT,
  changed: ORANGE,
  alarm: ORANGE,
  roles: rolePaint(SKY, ORANGE, PINK),
  sides: { first: SKY, second: ORANGE, both: "#9aa1ae" },
};

function rolePaint(toward: string, away: string, beside: string): Record<Role, string> {
  return {
    predicts: toward,
    parent: toward,
    neighbour: toward,
    blanket: toward,
    predicted: away,
    child: away,
    relative: away,
    both: beside,
    spouse: beside,
    joined: beside,
  };
}

/** "#rrggbb" as three numbers from 0 to 255. */
export function channels(hex: string): [number, number, number] {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colour a share of the way from one to another. */
export function mix(from: string, to: string, share: number): string {
  const [a, b] = [channels(from), channels(to)];
  const byte = (i: number) =>
    Math.round(a[i] + (b[i] - a[i]) * share)
      .toString(16)
      .padStart(2, "0");
  return `#${byte(0)}${byte(1)}${byte(2)}`;
}

/** A colour with its alpha multiplied in, as WebGL blends it here: ONE, ONE_MINUS_SRC_ALPHA. */
export function premultiplied(hex: string, alpha: number): string {
  const [r, g, b] = channels(hex).map((c) => Math.round(c * alpha));
  return `rgba(${r},${g},${b},${alpha})`;
}

/** WCAG contrast ratio of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const luminance = (hex: string) => {
    const [r, g, b] = channels(hex).map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
