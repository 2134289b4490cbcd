// State that several views share: the address, answers of the server, changes of the memory, the theme.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, exported } from "./api";
import type { Run } from "./types";

/** A value that many may watch. */
class Shared<T> {
  private readonly watchers = new Set<(value: T) => void>();

  constructor(public value: T) {}

  set(value: T): void {
    this.value = value;
    for (const watcher of this.watchers) watcher(value);
  }

  use(): T {
    const [value, setValue] = useState(this.value);
    useEffect(() => {
      const watcher = (next: T) => setValue(() => next);
      this.watchers.add(watcher);
      watcher(this.value); // it may have changed between the drawing and this
      return () => void this.watchers.delete(watcher);
    }, []);
    return value;
  }
}

// --- the address --------------------------------------------------------------------------------

const here = () => window.location.pathname + window.location.search;
const address = new Shared(exported ? exported.location : here());
if (!exported) window.addEventListener("popstate", () => address.set(here()));

/** Goes to another address of the page. With `replace`, Back does not return to this one. */
export function navigate(to: string, { replace = false } = {}): void {
  if (to === address.value) return;
  if (!exported) window.history[replace ? "replaceState" : "pushState"](null, "", to);
  address.set(to);
}

export function useAddress(): { path: string; params: URLSearchParams } {
  const [path = "/", query = ""] = address.use().split("?", 2);
  return { path, params: new URLSearchParams(query) };
}

/** `/?q=retry` of `/` and `{q: "retry"}`; empty values are left out. */
export function addressOf(path: string, params: { [name: string]: string | undefined }): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

// --- answers ------------------------------------------------------------------------------------

export interface Answer<T> {
  value: T | null;
  error: ApiError | null;
  loading: boolean;
  again: () => void;
}

/** Asks whenever one of `on` changes. The older request is aborted; its value stays until the new one is here.
 *  If `ask` returns null there is no value; if it returns undefined, the value stays as it is. */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T> | null | undefined, on: unknown[]): Answer<T> {
  const [state, setState] = useState<{ value: T | null; error: ApiError | null; loading: boolean }>({
    value: null,
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const settle = (next: Partial<typeof state>) => {
      if (!abort.signal.aborted) setState((old) => ({ ...old, error: null, loading: false, ...next }));
    };
    const fail = (error: unknown) =>
      settle({ error: error instanceof ApiError ? error : new ApiError(0, String(error), "") });
    setState((old) => ({ ...old, loading: true }));
    Promise.resolve()
      .then(() => ask(abort.signal))
      .then((value) => settle(value === undefined ? {} : { value }), fail);
    return () => abort.abort();
  }, [...on, round]);
  const again = useCallback(() => setRound((old) => old + 1), []);
  return { ...state, again };
}

// --- changes that other processes make ----------------------------------------------------------

const changes = new Shared(0);
const run = new Shared<Run | null>(null);

/** Listens to the server; called once, by the shell, with the generation that it started with. */
export function listen(started: number): () => void {
  if (exported) return () => undefined;
  const events = new EventSource("/api/events");
  const data = <T,>(event: Event) => JSON.parse((event as MessageEvent<string>).data) as T;
  let last = started;
  events.addEventListener("change", (event) => {
    const { generation } = data<{ generation: number }>(event);
    if (last !== generation) changes.set(changes.value + 1);
    last = generation;
  });
  events.addEventListener("run", (event) => run.set(data<Run | null>(event)));
  return () => events.close();
}

/** Grows with every change of the memory: a view names it among what its answers depend on. */
export const useGeneration = (): number => changes.use();

/** The index run that is at work, in any process. */
export const useRun = (): Run | null => run.use();

// --- the theme ----------------------------------------------------------------------------------

export type Theme = "system" | "light" | "dark";

function storedTheme(): Theme {
  try {
    const stored = window.localStorage.getItem("theme");
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system"; // a browser may refuse to store for a file
  }
}

const theme = new Shared<Theme>(storedTheme());
showTheme(theme.value);

function showTheme(value: Theme): void {
  if (value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = value;
}

export function setTheme(value: Theme): void {
  showTheme(value);
  theme.set(value);
  try {
    window.localStorage.setItem("theme", value);
  } catch {
    // it lasts until the page is closed
  }
}

export const useTheme = (): Theme => theme.use();

// --- short messages -----------------------------------------------------------------------------

const message = new Shared("");
let clearing = 0;

/** Shows a sentence for some seconds, and has screen readers say it. */
export function say(text: string): void {
  message.set(text);
  window.clearTimeout(clearing);
  clearing = window.setTimeout(() => message.set(""), 4000);
}

export const useMessage = (): string => message.use();

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    say(`The browser does not allow to copy: ${text}`);
  }
}

// --- keys ---------------------------------------------------------------------------------------

/** Whether a key belongs to what has the focus: a field, or a dialog. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return Boolean(target.closest?.("input, textarea, select, dialog, [data-keys]"));
}

/** Calls `onKey` for every key of the page that no modifier goes with. */
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented) latest.current(event);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}
