// Every chunk as a point, near to those of similar meaning. The results of a query are lit up.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { addressOf, navigate, useAddress, useAnswer, useTheme } from "../hooks";
import { Link } from "../parts/link";
import { inDigits } from "../parts/numbers";
import { Empty, Problem } from "../parts/state";
import type { FullChunk, MapPoints } from "../types";

const PAUSE = 200; // milliseconds without a key before the query is asked
const HOVER = 60; // milliseconds on a point before the server is asked for it
const REACH = 14; // pixels from the mouse to a point
const KEY_STEP = 60; // pixels
const MARGIN = 24; // pixels around all points

/** Positions of all chunks, and the kind of each as an index into `kinds`. */
interface Points {
  about: MapPoints;
  places: Float32Array;
  kinds: Uint8Array;
}

async function loadPoints(signal: AbortSignal): Promise<Points> {
  const about = await api.mapPoints(signal);
  const bytes = about.count ? await api.mapPositions(signal) : new ArrayBuffer(0);
  const count = Math.floor(bytes.byteLength / 9); // two floats and a byte
  return { about, places: new Float32Array(bytes, 0, 2 * count), kinds: new Uint8Array(bytes, 8 * count, count) };
}

export function MeaningMap({ generation }: { generation: number }) {
  const { params } = useAddress();
  const q = params.get("q") ?? "";
  const [typed, setTyped] = useState(q);
  const points = useAnswer(loadPoints, [generation]);
  const lit = useAnswer((signal) => (q ? api.mapLit(q, signal) : null), [q, points.value]);
  useEffect(() => {
    const show = () => typed.trim() !== q && navigate(addressOf("/map", { by: "meaning", q: typed.trim() }), { replace: true });
    const timer = window.setTimeout(show, PAUSE);
    return () => window.clearTimeout(timer);
  }, [typed]);
  if (points.error) return <Problem error={points.error} />;
  if (!points.value) return <p class="muted waiting">Computing the places of all chunks …</p>;
  if (!points.value.about.ready) return <p class="muted waiting">The map is made when the index run is through.</p>;
  if (!points.value.kinds.length)
    return (
      <Empty title="There are no vectors">
        <p>A map by meaning needs an embedding model: see Health.</p>
      </Empty>
    );
  const lights = q ? (lit.value?.points ?? []) : [];
  return (
    <div class="meaning">
      <div class="legend-row">
        <input
          type="search"
          aria-label="Light up the results of a query"
          placeholder="Light up the results of a query"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <ul class="legend">
          {points.value.about.kinds.map((kind) => (
            <li key={kind}>
              <span class={`swatch kind-${kind}`} aria-hidden="true" />
              {kind}
            </li>
          ))}
        </ul>
      </div>
      {lit.error && <Problem error={lit.error} />}
      <Scatter points={points.value} lit={lights.map(([index]) => index)} />
      {q && (
        <ol class="lit" aria-label="Results that are lit up" aria-live="polite">
          {lights.map(([index, id, rank]) => (
            <li key={index}>
              <span class="muted">{rank}</span> <Link href={addressOf("/", { q, id })}>{id}</Link>
            </li>
          ))}
          {!lights.length && !lit.loading && <li class="muted">Nothing is found.</li>}
        </ol>
      )}
    </div>
  );
}

// --- the canvas ---------------------------------------------------------------------------------

/** Where a place is drawn: `place * scale + x`, and the same for y. */
interface Camera {
  scale: number;
  x: number;
  y: number;
}

function wholeMap(places: Float32Array, width: number, height: number): Camera {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < places.length; at += 2) {
    const [x, y] = [places[at]!, places[at + 1]!];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  const scale = Math.min((width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (bottom - top || 1));
  return { scale, x: width / 2 - ((left + right) / 2) * scale, y: height / 2 - ((top + bottom) / 2) * scale };
}

const zoomed = (camera: Camera, by: number, x: number, y: number): Camera => ({
  scale: camera.scale * by,
  x: x - (x - camera.x) * by,
  y: y - (y - camera.y) * by,
});

/** The index of the point that is nearest to a pixel, within reach of the mouse; -1 without one. */
function nearest({ places }: Points, camera: Camera, x: number, y: number): number {
  let [best, least] = [-1, REACH * REACH];
  for (let at = 0; at < places.length; at += 2) {
    const dx = places[at]! * camera.scale + camera.x - x;
    const dy = places[at + 1]! * camera.scale + camera.y - y;
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [at / 2, distance];
  }
  return best;
}

type Colour = [red: number, green: number, blue: number];

/** The background colours of these classes, as the theme has them. */
function coloursOf(box: HTMLElement, names: string[]): Colour[] {
  const probe = box.appendChild(document.createElement("span"));
  const colours = names.map((name) => {
    probe.className = name;
    return (getComputedStyle(probe).backgroundColor.match(/\d+/g) ?? [0, 0, 0]).slice(0, 3).map(Number) as Colour;
  });
  probe.remove();
  return colours;
}

interface Drawing {
  canvas: HTMLCanvasElement;
  points: Points;
  camera: Camera;
  lit: number[];
  near: number;
}

function draw({ canvas, points, camera, lit, near }: Drawing): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const context = canvas.getContext("2d")!;
  const { places, kinds, about } = points;
  const names = [...about.kinds.map((kind) => `kind-${kind}`), "kind-lit"];
  const colours = coloursOf(canvas.parentElement!, names);
  const shown: Camera = { scale: camera.scale * ratio, x: camera.x * ratio, y: camera.y * ratio };
  const image = context.createImageData(canvas.width, canvas.height);
  plot(image, places, shown, Math.round(2 * ratio), lit.length ? 0.3 : 0.7, (index) => colours[kinds[index]!]!);
  context.putImageData(image, 0, 0);
  context.strokeStyle = context.fillStyle = `rgb(${colours.at(-1)!.join()})`;
  const circle = (index: number, radius: number) => {
    context.beginPath();
    const x = places[2 * index]! * shown.scale + shown.x;
    const y = places[2 * index + 1]! * shown.scale + shown.y;
    context.arc(x, y, radius * ratio, 0, 2 * Math.PI);
  };
  for (const index of lit) {
    circle(index, 5);
    context.fill();
  }
  if (near >= 0) {
    circle(near, 8);
    context.lineWidth = 2 * ratio;
    context.stroke();
  }
}

/** Small squares that show through one another. Half a million calls of `fillRect` take seconds, this takes milliseconds. */
function plot(
  { data, width, height }: ImageData,
  places: Float32Array,
  camera: Camera,
  side: number,
  alpha: number,
  colourOf: (index: number) => Colour,
): void {
  for (let index = 0; index < places.length / 2; index++) {
    const left = Math.round(places[2 * index]! * camera.scale + camera.x - side / 2);
    const top = Math.round(places[2 * index + 1]! * camera.scale + camera.y - side / 2);
    if (left < 0 || top < 0 || left + side > width || top + side > height) continue;
    const [red, green, blue] = colourOf(index);
    for (let y = top; y < top + side; y++) {
      for (let at = 4 * (y * width + left); at < 4 * (y * width + left + side); at += 4) {
        const below = data[at + 3]! / 255;
        const opacity = alpha + below * (1 - alpha);
        const share = alpha / opacity;
        data[at] = data[at]! + (red - data[at]!) * share;
        data[at + 1] = data[at + 1]! + (green - data[at + 1]!) * share;
        data[at + 2] = data[at + 2]! + (blue - data[at + 2]!) * share;
        data[at + 3] = 255 * opacity;
      }
    }
  }
}

const hrefOf = ({ id, name, memory }: FullChunk): string => addressOf("/", { q: name || id, id, memory });

function Scatter({ points, lit }: { points: Points; lit: number[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const whole = useMemo(() => wholeMap(points.places, size.width, size.height), [points, size]);
  const [moved, setMoved] = useState<Camera | null>(null);
  const camera = moved ?? whole;
  const [near, setNear] = useState(-1);
  const chunk = useChunk(points, near);
  const theme = useDark();

  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (!size.width) return;
    const drawing = { canvas: canvas.current!, points, camera, lit, near };
    const frame = requestAnimationFrame(() => draw(drawing));
    return () => cancelAnimationFrame(frame);
  }, [points, camera, lit.join(), near, theme]);

  const zoom = (by: number, x = size.width / 2, y = size.height / 2) => setMoved(zoomed(camera, by, x, y));
  useMouse(canvas, camera, setMoved, zoom, (x, y) => setNear(nearest(points, camera, x, y)));
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: { [key: string]: [number, number] } = {
      ArrowLeft: [KEY_STEP, 0],
      ArrowRight: [-KEY_STEP, 0],
      ArrowUp: [0, KEY_STEP],
      ArrowDown: [0, -KEY_STEP],
    };
    const step = steps[event.key];
    if (step) setMoved({ ...camera, x: camera.x + step[0], y: camera.y + step[1] });
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") setMoved(null);
    else return;
    event.preventDefault();
  };
  return (
    <figure class="scatter">
      <div class="canvas">
        <canvas
          ref={canvas}
          role="img"
          tabIndex={0}
          data-keys
          aria-label={`${inDigits(points.kinds.length)} chunks by meaning. Arrows move, + and - zoom, 0 shows all.`}
          onKeyDown={onKeyDown}
          onDblClick={() => chunk && navigate(hrefOf(chunk))}
        />
        <p class="zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" onClick={() => setMoved(null)}>
            All
          </button>
        </p>
      </div>
      <figcaption class="muted">
        {chunk ? (
          <>
            <Link href={hrefOf(chunk)}>{chunk.id}</Link> {chunk.kind}
          </>
        ) : (
          `${inDigits(points.kinds.length)} chunks: those near each other have similar meanings`
        )}
      </figcaption>
    </figure>
  );
}

/** The chunk of a point. The last one stays, so that its link can be reached. */
function useChunk(points: Points, index: number): FullChunk | null {
  const [chunk, setChunk] = useState<FullChunk | null>(null);
  useEffect(() => {
    if (index < 0) return;
    const abort = new AbortController();
    const ask = () =>
      api.mapNear(points.places[2 * index]!, points.places[2 * index + 1]!, abort.signal).then(setChunk, () => undefined);
    const timer = window.setTimeout(ask, HOVER);
    return () => (window.clearTimeout(timer), abort.abort());
  }, [points, index]);
  return chunk;
}

/** Changes when the theme does, by the switch or by the system. */
function useDark(): string {
  const theme = useTheme();
  const query = useMemo(() => window.matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const listener = () => setDark(query.matches);
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  }, []);
  return `${theme} ${dark}`;
}

/** The wheel zooms, dragging moves, and where the mouse rests is told. */
function useMouse(
  canvas: { current: HTMLCanvasElement | null },
  camera: Camera,
  setCamera: (camera: Camera) => void,
  zoom: (by: number, x: number, y: number) => void,
  onPoint: (x: number, y: number) => void,
): void {
  const latest = useRef({ camera, zoom, onPoint });
  latest.current = { camera, zoom, onPoint };
  useEffect(() => {
    const element = canvas.current!;
    let from: { x: number; y: number; camera: Camera } | null = null;
    const place = (event: MouseEvent): [number, number] => [event.offsetX, event.offsetY];
    const down = (event: PointerEvent) => {
      const [x, y] = place(event);
      from = { x, y, camera: latest.current.camera };
      element.setPointerCapture(event.pointerId);
      latest.current.onPoint(x, y); // a finger does not hover
    };
    const move = (event: PointerEvent) => {
      const [x, y] = place(event);
      if (from) setCamera({ ...from.camera, x: from.camera.x + x - from.x, y: from.camera.y + y - from.y });
      else latest.current.onPoint(x, y);
    };
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      latest.current.zoom(Math.exp(-event.deltaY / 400), ...place(event));
    };
    const up = () => (from = null);
    const listeners = new AbortController();
    const { signal } = listeners;
    element.addEventListener("pointerdown", down, { signal });
    element.addEventListener("pointermove", move, { signal });
    element.addEventListener("pointerup", up, { signal });
    element.addEventListener("pointercancel", up, { signal });
    element.addEventListener("wheel", wheel, { signal, passive: false });
    return () => listeners.abort();
  }, []);
}
