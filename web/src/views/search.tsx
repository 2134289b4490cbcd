// A query, its filters and facets, and the results. The address holds the query and the open result.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, exported } from "../api";
import { addressOf, navigate, useAddress, useAnswer, useGeneration, useKeys } from "../hooks";
import { Bar, inHundredths, Legend } from "../parts/bars";
import { titleOf, whereOf } from "../parts/chunk";
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

/** The query of the address, and one that is being typed, which reaches the address after a pause. */
function useQuery(): { typed: string; asked: string; type: (text: string) => void } {
  const { params } = useAddress();
  const asked = params.get("q") ?? "";
  const [typed, setTyped] = useState(asked);
  const timer = useRef(0);
  const sent = useRef(asked);
  useEffect(() => {
    if (asked !== sent.current) setTyped(asked); // Back, or a link
    sent.current = asked;
  }, [asked]);
  const type = (text: string) => {
    setTyped(text);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      sent.current = text.trim();
      navigate(addressOf("/", { q: text.trim() }), { replace: true });
    }, PAUSE);
  };
  return { typed, asked, type };
}

const withFilter = (query: string, filter: string) => `${query} ${filter}`.trim();

/** The query without one of its filters; the rest stays as it was typed. */
function without(query: string, filter: string): string {
  const at = query.indexOf(filter);
  if (at < 0) return query;
  return `${query.slice(0, at).trimEnd()} ${query.slice(at + filter.length).trimStart()}`.trim();
}

const ask = (q: string) => navigate(addressOf("/", { q }));

export function Search({ start }: { start: Start }) {
  const { params } = useAddress();
  const { typed, asked, type } = useQuery();
  const [more, setMore] = useState({ q: "", limit: PAGE });
  const generation = useGeneration();
  const id = params.get("id");
  const memory = params.get("memory") ?? undefined;
  const limit = more.q === asked ? more.limit : PAGE;
  const answer = useAnswer(
    (signal) => (asked ? api.search({ q: asked, limit }, signal) : null),
    [asked, limit, generation],
  );
  const shown = asked ? answer.value : null;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!id && !exported) field.current!.focus();
  }, []);
  const back = () => navigate(addressOf("/", { q: asked }));
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
          data-keys
          data-list-keys
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
        />
        {shown && <Pills query={asked} filters={shown.parsed.filters} />}
        <Count answer={shown} asked={asked} loading={answer.loading} />
      </section>
      {shown && !exported && <Facets query={asked} answer={shown} />}
      <section class="results" aria-label="Results" aria-busy={answer.loading}>
        {answer.error && <Problem error={answer.error} />}
        {!asked && <Begin start={start} />}
        {shown && !shown.results.length && <Nothing answer={shown} />}
        {shown && shown.results.length > 0 && (
          <List
            key={shown.query}
            items={shown.results}
            label="Results"
            rowHeight={ROW}
            keyOf={keyOf}
            hrefOf={(result) => addressOf("/", { q: asked, id: result.id, memory: result.memory })}
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

function Pills({ query, filters }: { query: string; filters: ParsedFilter[] }) {
  if (!filters.length || exported) return null;
  return (
    <p class="pills" aria-label="Filters">
      {filters.map((filter) => (
        <Pill key={filter.text} remove={`Remove the filter ${filter.text}`} onRemove={() => ask(without(query, filter.text))}>
          {filter.key}: {filter.value}
        </Pill>
      ))}
    </p>
  );
}

/** The signals whose part in a bar can be seen, as the server orders them. */
function signalsOf(answer: SearchAnswer): string[] {
  const parts = answer.results.flatMap((result) => result.contributions);
  return [...new Set([...answer.signals, ...parts.filter(({ value }) => value >= 0.02).map(({ signal }) => signal)])];
}

function Count({ answer, asked, loading }: { answer: SearchAnswer | null; asked: string; loading: boolean }) {
  if (!answer) return <p class="count" role="status">{asked && loading ? "Searching" : ""}</p>;
  const count = answer.results.length;
  const first = count === answer.limit ? "The first " : "";
  return (
    <div class="count">
      <p role="status">
        {count === 1 ? "1 result" : `${first}${count} results`}
        <span class="muted"> in {answer.milliseconds.toFixed(0)} ms</span>
        {answer.notes.map((note) => (
          <span key={note} class="note"> {note}</span>
        ))}
      </p>
      {count > 0 && <Legend signals={signalsOf(answer)} />}
    </div>
  );
}

function Facets({ query, answer }: { query: string; answer: SearchAnswer }) {
  const given = new Set(answer.parsed.filters.map((filter) => filter.text));
  const groups = FACETS.map(([name, title]) => ({ name, title, rows: answer.facets[name] ?? [] }));
  const useful = groups.filter(({ rows }) => rows.length > 1 || rows.some((row) => given.has(row.filter)));
  return (
    <aside class="facets" aria-label="Narrow the results">
      <details open={window.matchMedia("(min-width: 1000px)").matches}>
        <summary>Narrow</summary>
        {useful.map(({ name, title, rows }) => (
          <div key={name} class="facet" role="group" aria-label={title}>
            <h2>{title}</h2>
            {rows.map((row) => (
              <Facet key={row.value} row={row} query={query} isGiven={given.has(row.filter)} />
            ))}
          </div>
        ))}
      </details>
    </aside>
  );
}

function Facet({ row, query, isGiven }: { row: FacetRow; query: string; isGiven: boolean }) {
  const change = isGiven ? without : withFilter;
  return (
    <button type="button" aria-pressed={isGiven} title={row.filter} onClick={() => ask(change(query, row.filter))}>
      <span>{row.label}</span> <span class="muted">{row.count}</span>
    </button>
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

/** The first three lines of the snippet that are not blank. */
const linesOf = ({ snippet = [] }: Result) => snippet.filter(({ text }) => text.trim()).slice(0, 3);

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
            <button type="button" class="link" key={name} onClick={() => ask(name)}>
              {name}
            </button>
          ))}
        </p>
      )}
      {answer.weak && (
        <p>
          The nearest row is too unlike the query to be an answer: {titleOf(answer.weak)} ({inHundredths(answer.weak.score)}).
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
      <p>Words, names and questions. Filters narrow an answer:</p>
      <ul class="examples">
        {["type:function", "path:src/**", "lang:python", "since:7d", "-test"].map((filter) => (
          <li key={filter}>
            <code>{filter}</code>
          </li>
        ))}
      </ul>
      <p>
        Press <kbd>?</kbd> for all keys.
      </p>
    </Empty>
  );
}
