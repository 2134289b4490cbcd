// A query, its filters and facets, and the results. The address holds the query and the open result.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, exported } from "../api";
import { addressOf, navigate, useAddress, useAnswer, useGeneration, useKeys } from "../hooks";
import { Bar, inHundredths, Legend } from "../parts/bars";
import { titleOf, whereOf } from "../parts/chunk";
import { Link } from "../parts/link";
import { List } from "../parts/list";
import { Pill } from "../parts/pill";
import { Empty, Problem } from "../parts/state";
import { ago } from "../parts/time";
import type { FacetName, FacetRow, ParsedFilter, Result, SearchAnswer, SnippetLine, Start } from "../types";
import { ResultPane } from "./result";
import "./search.css";

const FACETS: [FacetName, string][] = [
  ["kind", "Kind"],
  ["layer", "Memory"],
  ["language", "Language"],
  ["folder", "Folder"],
  ["agent", "Agent"],
  ["time", "Changed"],
];
const ROW = 140; // pixels: a head, three lines of text, a foot
const PAGE = 20;
const MOST = 500;
const PAUSE = 40; // milliseconds without a key before the server is asked
const FACETS_PAUSE = 300; // facets cost several searches

const after = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The query of the address, and one that is being typed, which reaches the address after a pause. */
function useQuery() {
  const { params } = useAddress();
  const asked = params.get("q") ?? "";
  const layer = params.get("in") ?? "";
  const [typed, setTyped] = useState(asked);
  const timer = useRef(0);
  const sent = useRef(asked);
  useEffect(() => {
    if (asked !== sent.current) setTyped(asked); // Back, or a link
    sent.current = asked;
  }, [asked]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const type = (text: string) => {
    setTyped(text);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      sent.current = text.trim();
      navigate(addressOf("/", { q: text.trim(), in: layer }), { replace: true });
    }, PAUSE);
  };
  return { typed, asked, layer, type };
}

const withFilter = (query: string, filter: string) => `${query} ${filter}`.trim();

/** The query without one of its filters; the rest stays as it was typed. */
function without(query: string, filter: string): string {
  const at = query.indexOf(filter);
  if (at < 0) return query;
  return `${query.slice(0, at).trimEnd()} ${query.slice(at + filter.length).trimStart()}`.trim();
}

/** Asks this query of a memory; without a name, of all. */
const ask = (q: string, layer: string) => navigate(addressOf("/", { q, in: layer }));

export function Search({ start }: { start: Start }) {
  const { params } = useAddress();
  const { typed, asked, layer, type } = useQuery();
  const [more, setMore] = useState({ q: "", limit: PAGE });
  const generation = useGeneration();
  const id = params.get("id");
  const memory = params.get("memory") ?? undefined;
  const limit = more.q === asked ? more.limit : PAGE;
  const answer = useAnswer(
    (signal) => (asked ? api.search({ q: asked, limit, memory: layer, facets: 0 }, signal) : null),
    [asked, layer, limit, generation],
  );
  const counted = useAnswer(
    (signal) => {
      if (!asked || exported) return null;
      if (answer.loading) return undefined; // rows come first
      return after(FACETS_PAUSE).then(() => {
        signal.throwIfAborted();
        return api.search({ q: asked, limit: 1, memory: layer }, signal);
      });
    },
    [asked, layer, generation, answer.loading],
  );
  const shown = asked ? answer.value : null;
  const whole = counted.value?.query === shown?.query ? counted.value : shown; // with similar names
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!id && !exported) field.current!.focus();
  }, []);
  const back = () => ask(asked, layer);
  useKeys((event) => {
    if (event.key === "Escape" && id && !document.querySelector("dialog")) back();
  });
  const open = shown?.results.find((result) => result.id === id && result.memory === (memory ?? result.memory));
  return (
    <div class={id ? "search opened" : "search"}>
      <section class="query" aria-label="Query">
        <h1 class="hidden">Search</h1>
        <input
          type="search"
          ref={field}
          aria-label="Search the memory"
          placeholder={`Search ${start.memory}: words, names, type:function, path:src/**, since:7d`}
          value={typed}
          readOnly={exported !== null}
          data-list-keys
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
        />
        {shown && <Pills query={asked} layer={layer} filters={shown.parsed.filters} />}
        <Count answer={shown} notes={whole?.notes ?? []} isSearching={answer.loading && asked !== ""} />
      </section>
      {shown && counted.value && shown.results.length > 0 && <Facets query={asked} layer={layer} answer={counted.value} />}
      <section class="results" aria-label="Results" aria-busy={answer.loading} data-query={shown?.query}>
        {answer.error && <Problem error={answer.error} />}
        {!asked && <Begin start={start} />}
        {shown && !shown.results.length && <Nothing answer={whole ?? shown} />}
        {shown && shown.results.length > 0 && (
          <List
            key={shown.query}
            items={shown.results}
            label="Results"
            rowHeight={ROW}
            keyOf={keyOf}
            hrefOf={(result) => addressOf("/", { q: asked, in: layer, id: result.id, memory: result.memory })}
            current={open ? keyOf(open) : null}
            render={(result) => <Row result={result} />}
            onEnd={() => {
              if (!exported && shown.results.length === limit && limit < MOST)
                setMore({ q: asked, limit: Math.min(MOST, limit * 2) });
            }}
          />
        )}
      </section>
      {id && (
        <ResultPane
          key={`${memory} ${id}`}
          place={{ id, memory }}
          query={asked}
          result={open}
          above={open && shown?.results[open.rank - 2]}
          onBack={back}
        />
      )}
    </div>
  );
}

const keyOf = (result: Result) => `${result.memory} ${result.id}`;

function Pills({ query, layer, filters }: { query: string; layer: string; filters: ParsedFilter[] }) {
  if ((!filters.length && !layer) || exported) return null;
  return (
    <p class="pills" role="group" aria-label="Filters">
      {filters.map(({ text, key, value }) => (
        <Pill key={text} remove={`Remove the filter ${text}`} onRemove={() => ask(without(query, text), layer)}>
          {key}: {value}
        </Pill>
      ))}
      {layer && (
        <Pill remove={`Search all memories, not only ${layer}`} onRemove={() => ask(query, "")}>
          memory: {layer}
        </Pill>
      )}
    </p>
  );
}

/** The signals whose part in a bar can be seen, as the server orders them. */
function signalsOf(answer: SearchAnswer): string[] {
  const parts = answer.results.flatMap((result) => result.contributions);
  return [...new Set([...answer.signals, ...parts.filter(({ value }) => value >= 0.02).map(({ signal }) => signal)])];
}

function Count({ answer, notes, isSearching }: { answer: SearchAnswer | null; notes: string[]; isSearching: boolean }) {
  const count = answer?.results.length ?? 0;
  const first = count === answer?.limit ? "The first " : "";
  return (
    <div class="count">
      <p role="status">
        {answer ? (count === 1 ? "1 result" : `${first}${count} results`) : isSearching && "Searching"}
        {answer && !exported && <span class="muted"> in {answer.milliseconds.toFixed(0)} ms</span>}
        {notes.map((note) => (
          <span key={note} class="note"> {note}</span>
        ))}
      </p>
      {answer && count > 0 && <Legend signals={signalsOf(answer)} />}
    </div>
  );
}

function Facets({ query, layer, answer }: { query: string; layer: string; answer: SearchAnswer }) {
  const given = new Set(answer.parsed.filters.map((filter) => filter.text));
  const isGiven = (name: FacetName, row: FacetRow) => (name === "layer" ? row.value === layer : given.has(row.filter));
  const change = (name: FacetName, row: FacetRow) => {
    if (name === "layer") ask(query, row.value === layer ? "" : row.value);
    else ask(given.has(row.filter) ? without(query, row.filter) : withFilter(query, row.filter), layer);
  };
  const groups = FACETS.map(([name, title]) => ({ name, title, rows: answer.facets[name] ?? [] }));
  const useful = groups.filter(({ name, rows }) => rows.length > 1 || rows.some((row) => isGiven(name, row)));
  return (
    <aside class="facets" aria-label="Narrow the results">
      <details open={window.matchMedia("(min-width: 1000px)").matches}>
        <summary>Narrow</summary>
        {useful.map(({ name, title, rows }) => (
          <div key={name} class="facet" role="group" aria-label={title}>
            <h2>{title}</h2>
            {rows.map((row) => (
              <button
                type="button"
                key={row.value}
                title={row.filter}
                aria-pressed={isGiven(name, row)}
                onClick={() => change(name, row)}
              >
                <span>{row.label}</span> <span class="muted">{row.count}</span>
              </button>
            ))}
          </div>
        ))}
      </details>
    </aside>
  );
}

function Row({ result }: { result: Result }) {
  const { git, memory, sessions } = result;
  return (
    <>
      <span class="head">
        <span class="name">{titleOf(result)}</span>
        <span class="muted kind">{result.symbol?.kind ?? result.document_type ?? result.kind}</span>
        <span class="score" title="Confidence that this is the answer">{inHundredths(result.score)}</span>
        <Bar contributions={result.contributions} score={result.score} />
      </span>
      <span class="where muted">{whereOf(result)}</span>
      <span class="snippet">
        {linesOf(result).map((line, index) => (
          <Marked key={index} line={line} />
        ))}
      </span>
      <span class="foot muted">
        {result.remarks.map((remark) => (
          <span key={remark} class="remark">{remark}</span>
        ))}
        {git?.last_modified && <span>changed {ago(new Date(git.last_modified))}</span>}
        {git && git.commits > 0 && <span>{git.commits === 1 ? "1 commit" : `${git.commits} commits`}</span>}
        {result.accesses > 0 && <span>used {result.accesses}×</span>}
        {sessions > 0 && <span>{sessions === 1 ? "1 session" : `${sessions} sessions`}</span>}
        {result.more > 0 && <span>+{result.more} alike</span>}
        <span>{memory}</span>
      </span>
    </>
  );
}

/** Three lines of the snippet that are not blank: the first with a word of the query, and those around it. */
function linesOf({ snippet = [] }: Result): SnippetLine[] {
  const lines = snippet.filter(({ text }) => text.trim());
  const best = lines.findIndex(({ matches }) => matches.length > 0);
  const start = Math.max(0, Math.min(best - 1, lines.length - 3));
  return lines.slice(start, start + 3);
}

/** A line of a snippet with the words of the query marked. */
function Marked({ line }: { line: SnippetLine }) {
  const parts = [];
  const letters = Array.from(line.text); // spans count characters, JavaScript counts halves of some
  let at = 0;
  for (const [start, end] of line.matches) {
    parts.push(letters.slice(at, start).join(""), <mark key={start}>{letters.slice(start, end).join("")}</mark>);
    at = end;
  }
  parts.push(letters.slice(at).join(""));
  return (
    <span class="text">
      <span class="number">{line.line ?? ""}</span>
      {parts}
    </span>
  );
}

function Nothing({ answer }: { answer: SearchAnswer }) {
  return (
    <Empty title="Nothing was found">
      {answer.nearest.length > 0 && (
        <p>
          Similar names:{" "}
          {answer.nearest.map((name) => (
            <button type="button" class="link" key={name} onClick={() => ask(name, "")}>
              {name}
            </button>
          ))}
        </p>
      )}
      {answer.weak && (
        <p>
          The nearest row is too unlike the query to be an answer:{" "}
          {exported ? (
            titleOf(answer.weak)
          ) : (
            <Link href={addressOf("/", { q: answer.query, id: answer.weak.id, memory: answer.weak.memory })}>
              {titleOf(answer.weak)}
            </Link>
          )}
        </p>
      )}
    </Empty>
  );
}

function Begin({ start }: { start: Start }) {
  if (!start.exists)
    return (
      <Empty title="There is no memory here yet">
        <p>
          Run <code>aur index</code> in a project. This page shows the progress.
        </p>
      </Empty>
    );
  return (
    <Empty title={`Search ${start.memory}`}>
      <p>Words, names and questions. Filters narrow an answer; alone they list the newest:</p>
      <ul class="examples">
        {["type:function", "path:src/**", "lang:python", "since:7d"].map((filter) => (
          <li key={filter}>
            <Link href={addressOf("/", { q: filter })}>
              <code>{filter}</code>
            </Link>
          </li>
        ))}
      </ul>
      <p>
        Press <kbd>?</kbd> for all keys.
      </p>
    </Empty>
  );
}
