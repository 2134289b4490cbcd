// The files as nested rectangles: the larger, the more bytes. The table below has the same as text.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { addressOf, navigate, useAddress, useAnswer } from "../hooks";
import { hrefOfPath } from "../parts/chunk";
import { Link } from "../parts/link";
import { count, inBytes, inDigits } from "../parts/numbers";
import { Empty, Problem } from "../parts/state";
import { ago, dayOf } from "../parts/time";
import { amount, findNode, HEAD, layOut, makeTree, type Measure, type Node, type Rectangle, STEPS, stepsFor } from "../treemap";

const MEASURES: { [measure in Measure]: { label: string; low: string; high: string } } = {
  use: { label: "Use", low: "never opened", high: "opened often" },
  churn: { label: "Churn", low: "no commits", high: "many commits" },
  freshness: { label: "Freshness", low: "long ago", high: "changed lately" },
};
const ROWS = 300; // of the table
const LETTER = 7; // pixels

export function FilesMap({ generation }: { generation: number }) {
  const { params } = useAddress();
  const colour = params.get("colour") ?? "";
  const measure: Measure = colour in MEASURES ? (colour as Measure) : "churn";
  const { value, error } = useAnswer(api.mapFiles, [generation]);
  const tree = useMemo(() => value && makeTree(value.files), [value]);
  const show = (changed: { folder?: string; colour?: string }) =>
    navigate(addressOf("/map", { colour: measure, folder: params.get("folder") ?? "", ...changed }));
  if (error) return <Problem error={error} />;
  if (!tree) return <p class="muted waiting">Loading …</p>;
  if (!tree.children?.length) return <Empty title="No file is indexed yet" />;
  const folder = findNode(tree, params.get("folder") ?? "") ?? tree;
  return (
    <div class="files-map">
      <div class="legend-row">
        <Crumbs path={folder.path} onOpen={(path) => show({ folder: path })} />
        <label>
          Colour{" "}
          <select value={measure} onChange={(event) => show({ colour: event.currentTarget.value })}>
            {Object.entries(MEASURES).map(([name, { label }]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <Scale measure={measure} />
      </div>
      <Treemap tree={tree} folder={folder} measure={measure} onOpen={(path) => show({ folder: path })} />
      <FolderTable folder={folder} onOpen={(path) => show({ folder: path })} />
    </div>
  );
}

function Crumbs({ path, onOpen }: { path: string; onOpen: (path: string) => void }) {
  const names = path.split("/").filter(Boolean);
  return (
    <nav aria-label="Folder" class="crumbs">
      <button type="button" class="link" disabled={!names.length} onClick={() => onOpen("")}>
        Project
      </button>
      {names.map((name, index) => (
        <span key={index}>
          /
          <button
            type="button"
            class="link"
            disabled={index === names.length - 1}
            onClick={() => onOpen(names.slice(0, index + 1).join("/"))}
          >
            {name}
          </button>
        </span>
      ))}
    </nav>
  );
}

function Scale({ measure }: { measure: Measure }) {
  return (
    <p class="scale muted">
      {MEASURES[measure].low}
      <svg width={STEPS * 16} height="12" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, step) => (
          <rect key={step} class={`step-${step}`} x={step * 16} width="16" height="12" />
        ))}
      </svg>
      {MEASURES[measure].high}
    </p>
  );
}

interface TreemapProps {
  tree: Node;
  folder: Node;
  measure: Measure;
  onOpen: (path: string) => void;
}

/** For the mouse. Keyboards and screen readers have the table. */
function Treemap({ tree, folder, measure, onOpen }: TreemapProps) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [near, setNear] = useState<Node | null>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setSize({ width: box.current!.clientWidth, height: box.current!.clientHeight }));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setNear(null), [folder]);
  const rectangles = useMemo(() => layOut(folder, 0, 0, size.width, size.height), [folder, size]);
  const step = useMemo(() => {
    const now = Date.now() / 1000;
    const toStep = stepsFor(filesIn(tree).map((file) => amount(file, measure, now)));
    return (node: Node) => toStep(meanAmount(node, measure, now));
  }, [tree, measure]);
  const nodeAt = (event: MouseEvent): Node | null => {
    const index = (event.target as Element).closest<SVGElement>("[data-index]")?.dataset["index"];
    return rectangles[Number(index)]?.node ?? null;
  };
  const open = (node: Node | null) => {
    if (node?.children) onOpen(node.path);
    else if (node) navigate(hrefOfPath(node.path));
  };
  return (
    <figure class="treemap">
      <div ref={box}>
        <svg
          width={size.width}
          height={size.height}
          aria-hidden="true"
          onMouseMove={(event) => setNear(nodeAt(event))}
          onMouseLeave={() => setNear(null)}
          onClick={(event) => open(nodeAt(event))}
        >
          {rectangles.map((rectangle, index) => (
            <Tile key={rectangle.node.path} rectangle={rectangle} index={index} step={step(rectangle.node)} />
          ))}
        </svg>
      </div>
      <figcaption class="muted">{near ? describe(near) : describe(folder)}</figcaption>
    </figure>
  );
}

function filesIn(node: Node): Node[] {
  return node.children ? node.children.flatMap(filesIn) : [node];
}

/** Of a folder: what its files have on average. */
function meanAmount(node: Node, measure: Measure, now: number): number {
  if (!node.children || measure === "freshness") return amount(node, measure, now);
  return amount(node, measure, now) / Math.max(1, filesIn(node).length);
}

/** A name as far as it fits into a width; empty when less than three letters would. */
function shorten(name: string, width: number): string {
  const letters = Math.floor((width - 8) / LETTER);
  if (letters >= name.length) return name;
  return letters < 4 ? "" : `${name.slice(0, letters - 1)}…`;
}

function Tile({ rectangle, index, step }: { rectangle: Rectangle; index: number; step: number }) {
  const { node, x, y, width, height, open } = rectangle;
  const name = height >= HEAD - 2 ? shorten(node.children ? `${node.name}/` : node.name, width) : "";
  return (
    <svg x={x} y={y} width={width} height={height} data-index={index} class={open ? "folder" : `file step-${step}`}>
      <rect width={Math.max(0, width - 1)} height={Math.max(0, height - 1)} />
      {name && (
        <text x="5" y="13">
          {name}
        </text>
      )}
    </svg>
  );
}

function describe(node: Node): string {
  const changed = node.changed ? `, changed ${ago(new Date(node.changed * 1000))}` : "";
  const facts = [inBytes(node.bytes), count(node.chunks, "chunk"), count(node.uses, "use"), count(node.commits, "commit")];
  return `${node.path || "Project"}: ${facts.join(", ")}${changed}`;
}

const COLUMNS: [label: string, value: (node: Node) => number, text: (node: Node) => string][] = [
  ["Size", (node) => node.bytes, (node) => inBytes(node.bytes)],
  ["Chunks", (node) => node.chunks, (node) => inDigits(node.chunks)],
  ["Uses", (node) => node.uses, (node) => inDigits(node.uses)],
  ["Commits", (node) => node.commits, (node) => inDigits(node.commits)],
  ["Changed", (node) => node.changed ?? 0, (node) => (node.changed ? dayOf(new Date(node.changed * 1000).toISOString()) : "")],
];

function FolderTable({ folder, onOpen }: { folder: Node; onOpen: (path: string) => void }) {
  const [sorted, setSorted] = useState(0);
  const [, valueOf] = COLUMNS[sorted]!;
  const rows = [...(folder.children ?? [])].sort((a, b) => valueOf(b) - valueOf(a));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`What is in ${folder.path || "the project"}`}>
      <table>
        <thead>
          <tr>
            <th>Name</th>
            {COLUMNS.map(([label], index) => (
              <th key={label} class="count" aria-sort={index === sorted ? "descending" : undefined}>
                <button type="button" class="link" onClick={() => setSorted(index)}>
                  {label}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((node) => (
            <tr key={node.path}>
              <td>
                {node.children ? (
                  <button type="button" class="link" onClick={() => onOpen(node.path)}>
                    {node.name}/
                  </button>
                ) : (
                  <Link href={hrefOfPath(node.path)}>{node.name}</Link>
                )}
              </td>
              {COLUMNS.map(([label, , text]) => (
                <td key={label} class="count">
                  {text(node)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS && <p class="muted">{inDigits(rows.length - ROWS)} more are smaller.</p>}
    </div>
  );
}
