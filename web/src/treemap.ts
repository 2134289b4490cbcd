// Files as a tree of folders, and the tree as rectangles: pure functions.

import type { MapFile } from "./types";

export interface Node {
  name: string;
  path: string;
  /** Null for a file. */
  children: Node[] | null;
  bytes: number;
  chunks: number;
  uses: number;
  commits: number;
  changed: number | null;
}

export interface Rectangle {
  node: Node;
  x: number;
  y: number;
  width: number;
  height: number;
  /** A folder whose children are drawn inside it, below its name. */
  open: boolean;
}

export const HEAD = 18; // pixels: the name of a folder
const GAP = 2;
const LEAST_SIDE = 40; // pixels: a smaller folder is drawn closed
const LEAST_AREA = 30; // pixels: smaller files are not drawn

const folder = (path: string): Node => ({
  name: path.slice(path.lastIndexOf("/") + 1),
  path,
  children: [],
  bytes: 0,
  chunks: 0,
  uses: 0,
  commits: 0,
  changed: null,
});

/** The folders and files, the largest first; each folder has the sums of what is in it. */
export function makeTree(files: MapFile[]): Node {
  const root = folder("");
  const folders = new Map([["", root]]);
  const folderAt = (path: string): Node => {
    const known = folders.get(path);
    if (known) return known;
    const made = folder(path);
    folders.set(path, made);
    folderAt(path.slice(0, Math.max(0, path.lastIndexOf("/")))).children!.push(made);
    return made;
  };
  for (const [path, bytes, , chunks, uses, commits, changed] of files) {
    const at = path.lastIndexOf("/");
    const name = path.slice(at + 1);
    const file = { name, path, children: null, bytes, chunks, uses, commits, changed };
    folderAt(path.slice(0, Math.max(0, at))).children!.push(file);
  }
  return sumUp(root);
}

function sumUp(node: Node): Node {
  for (const child of node.children ?? []) {
    sumUp(child);
    node.bytes += child.bytes;
    node.chunks += child.chunks;
    node.uses += child.uses;
    node.commits += child.commits;
    node.changed = Math.max(node.changed ?? 0, child.changed ?? 0) || null;
  }
  node.children?.sort((a, b) => b.bytes - a.bytes);
  return node;
}

export function findNode(root: Node, path: string): Node | null {
  let node: Node | undefined = root;
  for (const name of path.split("/").filter(Boolean)) node = node?.children?.find((child) => child.name === name);
  return node ?? null;
}

/** The rectangles of a folder, outer ones before those inside them. */
export function layOut(node: Node, x: number, y: number, width: number, height: number): Rectangle[] {
  const children = (node.children ?? []).filter((child) => child.bytes > 0);
  const area = width * height;
  const drawn = children.filter((child) => (child.bytes / node.bytes) * area >= LEAST_AREA);
  return squarify(drawn, node.bytes, x, y, width, height).flatMap((rectangle) => {
    const { node: child, width, height } = rectangle;
    const open = child.children !== null && width >= LEAST_SIDE && height >= LEAST_SIDE;
    const inside = open
      ? layOut(child, rectangle.x + GAP, rectangle.y + HEAD, width - 2 * GAP, height - HEAD - GAP)
      : [];
    return [{ ...rectangle, open }, ...inside];
  });
}

/** Squarified treemap (Bruls, Huizing, van Wijk 2000): rows along the shorter side, as square as they can be. */
function squarify(nodes: Node[], bytes: number, x: number, y: number, width: number, height: number): Rectangle[] {
  const rectangles: Rectangle[] = [];
  let left = bytes;
  for (let start = 0; start < nodes.length && width > 0 && height > 0; ) {
    const side = Math.min(width, height);
    const scale = (width * height) / left; // pixels of a byte
    const end = endOfRow(nodes, start, side, scale);
    const row = nodes.slice(start, end);
    const sum = row.reduce((total, node) => total + node.bytes, 0);
    const thickness = (sum * scale) / side;
    let along = 0;
    for (const node of row) {
      const length = (node.bytes / sum) * side;
      rectangles.push(
        width >= height
          ? { node, x, y: y + along, width: thickness, height: length, open: false }
          : { node, x: x + along, y, width: length, height: thickness, open: false },
      );
      along += length;
    }
    if (width >= height) [x, width] = [x + thickness, width - thickness];
    else [y, height] = [y + thickness, height - thickness];
    left -= sum;
    start = end;
  }
  return rectangles;
}

/** Where a row ends: before the node that would make its worst rectangle longer. */
function endOfRow(nodes: Node[], start: number, side: number, scale: number): number {
  let sum = 0;
  let worst = Infinity;
  for (let end = start; end < nodes.length; end++) {
    sum += nodes[end]!.bytes * scale;
    const [most, least] = [nodes[start]!.bytes * scale, nodes[end]!.bytes * scale];
    const next = Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
    if (next > worst) return end;
    worst = next;
  }
  return nodes.length;
}

// --- colours ------------------------------------------------------------------------------------

export const STEPS = 6;
export type Measure = "use" | "churn" | "freshness";

const DAY = 86_400;

/** How much of a measure a node has: 0 is none. Fresh is what changed lately. */
export function amount(node: Node, measure: Measure, now: number): number {
  if (measure === "use") return node.uses;
  if (measure === "churn") return node.commits;
  return node.changed ? 1 / (1 + Math.max(0, now - node.changed) / DAY) : 0;
}

/** The colour of each amount, from 0 (none) to STEPS - 1: equal steps of the logarithm between least and most. */
export function stepsFor(amounts: number[]): (value: number) => number {
  const logs = amounts.filter((value) => value > 0).map(Math.log);
  const least = logs.reduce((a, b) => Math.min(a, b), Infinity);
  const most = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  return (value) => {
    if (value <= 0) return 0;
    if (most <= least) return STEPS - 1;
    return 1 + Math.round(((Math.log(value) - least) / (most - least)) * (STEPS - 2));
  };
}
