// What the API answers. Shapes of `--json` are those of docs/reference/json.md.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Start {
  version: string;
  read_only: boolean;
  root: string | null;
  memory: string;
  memories: string[];
  editor: string;
  agents: string[];
  exists: boolean;
  generation: number;
}

export interface SessionFacts {
  agent: string;
  id: string;
  short_id: string;
  title: string;
  time: string | null;
  project: string;
  branch: string;
  model: string;
  exchange: number;
  [key: string]: Json;
}

export interface Chunk {
  id: string;
  kind: string;
  name: string;
  qualified_name: string;
  path: string | null;
  lines: [number, number] | null;
  language: string | null;
  namespace: string | null;
  document_type: string | null;
  created_at: string | null;
  session: SessionFacts | null;
  metadata: { [key: string]: Json };
}

/** `aur mem get --json`. */
export interface FullChunk extends Chunk {
  content: string;
  note: string | null;
  remarks: string[];
  memory: string;
}

export interface Contribution {
  signal: string;
  rank: number;
  raw: number;
  normalised: number;
  value: number;
}

export interface SnippetLine {
  line: number | null;
  text: string;
  matches: [number, number][];
}

export interface Git {
  tracking: string;
  commits: number;
  last_modified: string | null;
  uncommitted: boolean;
  read_at: string;
}

export interface Result extends Chunk {
  rank: number;
  symbol: { name: string; kind: string; lines: [number, number] } | null;
  more: number;
  memory: string;
  remarks: string[];
  sessions: number;
  score: number;
  confidence?: number;
  scores: { [signal: string]: number };
  contributions: Contribution[];
  terms: string[];
  accesses: number;
  last_used: string | null;
  git?: Git | null;
  snippet?: SnippetLine[];
}

/** A row of the nearest chunks by meaning. */
export interface Similar extends Chunk {
  memory: string;
  score: number;
}

export interface ParsedFilter {
  text: string;
  key: string;
  value: string;
}

export interface FacetRow {
  value: string;
  label: string;
  count: number;
  filter: string;
}

export type FacetName = "layer" | "kind" | "language" | "folder" | "agent" | "time";

/** `aur mem search --json`, and what the page needs besides. */
export interface SearchAnswer {
  version: number;
  query: string;
  limit: number;
  mode: string;
  fusion: string;
  signals: string[];
  notes: string[];
  nearest: string[];
  results: Result[];
  weak: Result | null;
  index: { memory: string; root: string | null; indexed_at: string | null; age_seconds: number | null };
  parsed: { words: string; filters: ParsedFilter[] };
  facets: Partial<Record<FacetName, FacetRow[]>>;
  generation: number;
  milliseconds: number;
}

/** One line of code: tokens with the short class names of Pygments. */
export type CodeLine = [string, string][];

export interface FileText {
  path: string;
  language: string | null;
  total: number;
  first: number;
  lines: CodeLine[];
  outline: { id: string; name: string; kind: string; lines: [number, number] }[];
  note: string | null;
  editor_link: string | null;
}

export interface History {
  /** `lines`: how many of the lines it changed last. */
  commits: { id: string; time: string; author: string; subject: string; lines: number | null }[];
  /** How many of the lines no commit has. */
  uncommitted: number;
  uses: string[];
  read_at: string | null;
}

/** `aur mem why --json`. */
export interface Why {
  file: string;
  lines: [number, number] | null;
  name: string;
  entries: {
    kind: string;
    time: string | null;
    title: string;
    reason: string;
    id: string;
    text: string;
    who: string;
    branch: string;
    session: string;
    commit: string;
  }[];
  left_out: number;
  notes: string[];
}

/** `aur sessions list --json`. */
export interface Session {
  id: string;
  agent: string;
  title: string | null;
  project: string | null;
  branch: string | null;
  model: string | null;
  parent: string | null;
  started: string | null;
  ended: string | null;
  exchanges: number;
  path: string;
  resume: string | null;
}

/** `aur sessions show --json`. */
export interface FullSession extends Session {
  talk: { id: string; time: string | null; model: string | null; text: string; commands: string[] }[];
}

export interface Lesson {
  id: string;
  title: string;
  text: string;
  state: string;
  score: number | null;
  tries: number | null;
  remarks: string[];
  at: string | null;
  who: string | null;
  replaces: string[];
  replaced_by: string | null;
  memory: string;
  kind: string;
  /** Characters that `text` leaves out. */
  cut: number;
}

/** `aur mem history --json`. */
export interface LessonHistory {
  versions: {
    id: string;
    title: string;
    text: string;
    state: string;
    at: string | null;
    who: string | null;
    provenance: { [key: string]: Json };
    replaced_by: string | null;
    replaces: string[];
    score: number | null;
  }[];
}

export interface NewLesson {
  text: string;
  title?: string;
  kind?: string;
  score?: number;
  private?: boolean;
  files?: string[];
}

export type Moment = "start" | "prompt" | "edit" | "command" | "failure";

/** `aur recall --json`. */
export interface Recall {
  moment: Moment;
  prompt: string | null;
  file: string | null;
  command: string | null;
  error: string | null;
  budget: number;
  tokens: number;
  text: string;
  items: {
    id: string;
    kind: string;
    title: string | null;
    text: string;
    date: string | null;
    reason: string;
    tokens: number;
    memory: string;
  }[];
  left_out: { id: string; title: string; reason: string }[];
  notes: string[];
}

/** One line of the log of calls. */
export interface Call {
  time: number;
  door: string;
  agent: string;
  event: string;
  moment: string;
  milliseconds: number;
  tokens: number;
  rows: number;
  left_out: number;
  whole: number;
  error: string;
  memory: string;
  /** Whether it asked this memory. */
  here: boolean;
}

/** `aur savings --json`. */
export interface Savings {
  since: string | null;
  calls: {
    door: string;
    what: string;
    calls: number;
    answered: number;
    tokens: number;
    median_ms: number;
    errors: number;
  }[];
  given_tokens: number;
  given_tokens_naming_files: number;
  whole_file_tokens: number;
  method: string;
}

/** path, bytes, lines, chunks, uses, commits, last change and time of the file (seconds since 1970). */
export type MapFile = [string, number, number, number, number, number, number | null, number | null];

export interface MapPoints {
  count: number;
  kinds: string[];
  layers: string[];
  generation: number;
  /** False during the first index run. */
  ready: boolean;
}

export interface MapLit {
  points: [index: number, id: string, rank: number][];
}

export interface Finding {
  level: "ok" | "note" | "warn" | "fail";
  area: string;
  text: string;
  hint: string | null;
}

/** `aur mem stats --json`. */
export interface Stats {
  path: string;
  bytes: number;
  generation: number;
  indexed_at: string | null;
  files: number;
  chunks: number;
  files_changed: number | null;
  indexing: Run | null;
  kinds: { [kind: string]: number };
  namespaces: { [name: string]: number };
  index: { path: string; bytes: number; state: string; current: boolean };
  embedder: { name: string; dimension: number; fingerprint: string } | null;
  embedded: number;
  name: string;
  others: { [name: string]: Stats };
}

export interface Health {
  stats: Stats | null;
  settings: { key: string; value: Json; origin: string }[];
  model: { [key: string]: Json };
}

/** `aur eval --self --json`. */
export interface SelfCheck {
  where: string;
  ok: boolean;
  chunks: number;
  questions: number;
  kinds: { [kind: string]: { asked: number; first: number; in_five: number; milliseconds: number } };
  refused: number;
  foreign: number;
  false_answers: number;
  calibration_error: number;
  overconfidence: number;
  bins: { low: number; high: number; score: number; right: number; rows: number }[];
  checks: { what: string; value: number; limit: number; is_least: boolean; is_passed: boolean }[];
  missed: { kind: string; query: string; right: string; place: number; first: string; score: number }[];
  notes: string[];
}

/** The latest self-check of this server. */
export interface SelfCheckRun {
  state: "idle" | "running" | "done" | "failed";
  done: number;
  total: number;
  result: SelfCheck | null;
  error: string | null;
}

/** An index run at work. */
export interface Run {
  task: string;
  done: number;
  total: number | null;
}
