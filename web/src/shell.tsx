// What is around every view: navigation, keys, theme, messages.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, exported } from "./api";
import { copy, isTyping, listen, navigate, say, setTheme, type Theme, useAddress, useAnswer, useKeys, useRun, useTheme } from "./hooks";
import { Dialog } from "./parts/dialog";
import { Link } from "./parts/link";
import { Toast } from "./parts/state";
import type { Start } from "./types";
import { Agents } from "./views/agents";
import { Health } from "./views/health";
import { Lessons } from "./views/lessons";
import { ProjectMap } from "./views/map";
import { Search } from "./views/search";
import { Session } from "./views/session";
import { Sessions } from "./views/sessions";

const VIEWS = [
  { path: "/", name: "Search", key: "f" },
  { path: "/sessions", name: "Sessions", key: "s" },
  { path: "/lessons", name: "Lessons", key: "l" },
  { path: "/agents", name: "Agents", key: "a" },
  { path: "/map", name: "Map", key: "m" },
  { path: "/health", name: "Health", key: "h" },
];

const KEYS: [string, string][] = [
  ["/", "search"],
  ["↓ or j, ↑ or k", "next row, row before"],
  ["Enter", "open the row"],
  ["Escape", "close what is open, leave the field"],
  ...VIEWS.map(({ key, name }): [string, string] => [`g ${key}`, `go to ${name}`]),
  ["t", "change the theme"],
  ["?", "these keys"],
];

const isAt = (path: string, view: string) => path === view || (view !== "/" && path.startsWith(`${view}/`));

function View({ path, start }: { path: string; start: Start }) {
  const session = /^\/sessions\/(.+)$/.exec(path)?.[1];
  if (session) return <Session id={decodeURIComponent(session)} />;
  if (path === "/sessions") return <Sessions start={start} />;
  if (path === "/lessons") return <Lessons start={start} />;
  if (path === "/agents") return <Agents />;
  if (path === "/map") return <ProjectMap />;
  if (path === "/health") return <Health />;
  return <Search start={start} />;
}

function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const NEXT_THEME: { [theme in Theme]: Theme } = { system: "light", light: "dark", dark: "system" };

async function copyLink(): Promise<void> {
  try {
    await copy((await api.newLink()).link, "A link for another browser is");
  } catch (error) {
    say((error as Error).message);
  }
}

function Corner({ onHelp }: { onHelp: () => void }) {
  const theme = useTheme();
  const run = useRun();
  return (
    <div class="corner">
      {run && (
        <Link href="/health" class="run">
          {run.task} {run.total ? `${Math.floor((100 * run.done) / run.total)} %` : run.done}
        </Link>
      )}
      <button type="button" class="quiet" title="Change the theme (t)" onClick={() => setTheme(NEXT_THEME[theme])}>
        Theme: {theme}
      </button>
      {!exported && (
        <button type="button" class="quiet wide" onClick={() => void copyLink()}>
          Copy a link for another browser
        </button>
      )}
      <button type="button" class="quiet" aria-label="Keys" title="Keys (?)" onClick={onHelp}>
        ?
      </button>
    </div>
  );
}

/** `g` and then a letter goes to a view; the other keys of every view. */
function useShellKeys(openHelp: () => void): void {
  const theme = useTheme();
  const afterG = useRef(false);
  useKeys((event) => {
    const field = event.target as HTMLElement;
    if (event.key === "Escape" && field.matches("input, textarea") && !field.closest("dialog")) {
      event.preventDefault(); // or the browser empties the field
      return field.blur();
    }
    if (isTyping(event)) return;
    const view = afterG.current && !exported && VIEWS.find(({ key }) => key === event.key);
    afterG.current = event.key === "g";
    if (view) navigate(view.path);
    else if (event.key === "?") openHelp();
    else if (event.key === "t") setTheme(NEXT_THEME[theme]);
    else if (event.key === "/") {
      const field = document.querySelector<HTMLInputElement>("input[type=search]");
      if (field) field.select();
      else if (!exported) navigate("/");
    } else return;
    event.preventDefault();
  });
}

export function Shell() {
  const { path } = useAddress();
  const [help, setHelp] = useState(false);
  const start = useAnswer(api.start, []);
  useShellKeys(() => setHelp(true));
  useEffect(() => (start.value ? listen(start.value.generation) : undefined), [start.value]);
  useEffect(() => {
    const view = VIEWS.find((one) => isAt(path, one.path));
    document.title = exported?.title ?? `${view?.name ?? "Search"} · ${start.value?.memory ?? "Aurora"}`;
  }, [path, start.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")!.focus())}>
        Skip to the content
      </a>
      <header class="top">
        <p class="brand">
          <strong>Aurora</strong> <span class="muted">{exported?.title ?? start.value?.memory}</span>
        </p>
        {!exported && (
          <nav aria-label="Views">
            {VIEWS.map((view) => (
              <Link key={view.path} href={view.path} aria-current={isAt(path, view.path) ? "page" : undefined}>
                {view.name}
              </Link>
            ))}
          </nav>
        )}
        <Corner onHelp={() => setHelp(true)} />
      </header>
      <main id="main" tabIndex={-1}>
        {start.error && <Unreachable message={start.error.message} hint={start.error.hint} />}
        {start.value && <View path={path} start={start.value} />}
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
      <Toast />
    </>
  );
}

function Unreachable({ message, hint }: { message: string; hint: string }) {
  return (
    <div class="empty" role="alert">
      <h1>{message}</h1>
      <p>{hint}</p>
    </div>
  );
}
