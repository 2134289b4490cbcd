// Every route of the server. An exported page has no server: it answers from what it holds.

import type {
  Call, FileText, Finding, FullChunk, FullSession, Health, History, Json, Lesson, LessonHistory, MapFile, MapLit,
  MapPoints, Moment, NewLesson, Recall, Savings, SearchAnswer, SelfCheckRun, Session, Similar, Start, Why,
} from "./types";

type Params = { [name: string]: string | number | boolean | null | undefined };

/** What `aur ui --export` embeds: where the page starts, and the answers of the API that it may show. */
interface Exported {
  location: string;
  title: string;
  at: string;
  answers: { path: string; params: { [name: string]: string }; answer: Json }[];
}

const element = document.getElementById("aurora-data");
export const exported: Exported | null = element ? (JSON.parse(element.textContent ?? "") as Exported) : null;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

function withParams(path: string, params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
}

function fromFile<T>(data: Exported, path: string, params: Params): T {
  const fits = (held: { [name: string]: string }) =>
    Object.entries(held).every(([name, value]) => String(params[name] ?? "") === value);
  const held = data.answers.find((one) => one.path === path && fits(one.params));
  if (!held) throw new ApiError(404, "This file does not hold that.", "Run `aur ui` to see the whole memory.");
  return held.answer as T;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.", "Start it again with `aur ui`.");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: string; hint?: string };
  throw new ApiError(response.status, body.error ?? `The server answered ${response.status}.`, body.hint ?? "");
}

async function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  if (exported) return fromFile<T>(exported, path, params);
  const response = await request(withParams(path, params), signal ? { signal } : {});
  return (await response.json()) as T;
}

async function post<T>(path: string, body: object = {}): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const response = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as T;
}

interface Place {
  id: string;
  memory?: string | undefined;
}

export const api = {
  start: (signal?: AbortSignal) => get<Start>("/api/start", {}, signal),
  /** With `facets: 0` it is several times quicker and has neither facets nor similar names. */
  search: (query: { q: string; limit?: number; memory?: string | undefined; facets?: 0 | 1 }, signal?: AbortSignal) =>
    get<SearchAnswer>("/api/search", query, signal),
  /** Counts as a use, but for `use` 0. */
  chunk: ({ id, memory }: Place, use: 0 | 1, signal?: AbortSignal) =>
    get<FullChunk>("/api/chunk", { id, memory, use }, signal),
  file: ({ id, memory }: Place, from?: number, to?: number, signal?: AbortSignal) =>
    get<FileText>("/api/file", { id, memory, from, to }, signal),
  history: ({ id, memory }: Place, signal?: AbortSignal) => get<History>("/api/history", { id, memory }, signal),
  why: ({ id, memory }: Place, signal?: AbortSignal) => get<Why>("/api/why", { id, memory }, signal),
  similar: ({ id, memory }: Place, limit = 8, signal?: AbortSignal) =>
    get<{ results: Similar[] }>("/api/similar", { id, memory, limit }, signal),
  sessions: (query: { agent?: string; q?: string; before?: string; limit?: number } = {}, signal?: AbortSignal) =>
    get<{ sessions: Session[]; more: boolean }>("/api/sessions", query, signal),
  session: (id: string, signal?: AbortSignal) =>
    get<FullSession>(`/api/sessions/${encodeURIComponent(id)}`, {}, signal),
  lessons: (state?: string, signal?: AbortSignal) => get<{ lessons: Lesson[]; more: boolean }>("/api/lessons", { state }, signal),
  lessonHistory: (id: string, signal?: AbortSignal) => get<LessonHistory>("/api/lessons/history", { id }, signal),
  learn: (lesson: NewLesson) => post<{ id: string; outcome: string; similar: Json[] }>("/api/learn", lesson),
  replace: (lesson: { id: string; text: string; title?: string }) =>
    post<{ id: string; outcome: string; similar: Json[] }>("/api/replace", lesson),
  previewForget: (id: string) => post<{ chunks: string[]; what: string[] }>("/api/forget/preview", { id }),
  forget: (id: string) => post<{ forgotten: number }>("/api/forget", { id }),
  recall: (query: { moment: Moment; text?: string; budget?: number }, signal?: AbortSignal) =>
    get<Recall>("/api/recall", query, signal),
  calls: (query: { limit?: number; before?: string } = {}, signal?: AbortSignal) =>
    get<{ calls: Call[]; more: boolean }>("/api/calls", query, signal),
  savings: (signal?: AbortSignal) => get<Savings>("/api/savings", {}, signal),
  mapFiles: (signal?: AbortSignal) => get<{ files: MapFile[] }>("/api/map/files", {}, signal),
  mapPoints: (signal?: AbortSignal) => get<MapPoints>("/api/map/points", {}, signal),
  mapPositions: async (signal?: AbortSignal): Promise<ArrayBuffer> =>
    (await request("/api/map/points.bin", signal ? { signal } : {})).arrayBuffer(),
  mapNear: (x: number, y: number, signal?: AbortSignal) => get<FullChunk>("/api/map/points/near", { x, y }, signal),
  mapLit: (q: string, signal?: AbortSignal) => get<MapLit>("/api/map/lit", { q }, signal),
  health: (signal?: AbortSignal) => get<Health>("/api/health", {}, signal),
  doctor: (signal?: AbortSignal) => get<{ ok: boolean; findings: Finding[] }>("/api/doctor", {}, signal),
  startSelfCheck: () => post<SelfCheckRun>("/api/selfcheck"),
  selfCheck: (signal?: AbortSignal) => get<SelfCheckRun>("/api/selfcheck", {}, signal),
  newLink: () => post<{ link: string }>("/api/links"),
};
