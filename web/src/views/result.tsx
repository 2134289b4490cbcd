// One result: why it is where it is, its file, its past, what led to it, and what is like it.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, exported } from "../api";
import { addressOf, copy, useAnswer, useGeneration } from "../hooks";
import { inHundredths } from "../parts/bars";
import { titleOf } from "../parts/chunk";
import { CodeLines } from "../parts/code";
import { Link } from "../parts/link";
import { Problem } from "../parts/state";
import { Strip } from "../parts/strip";
import { Time } from "../parts/time";
import type { FileText, FullChunk, History, Result, Why } from "../types";
import { Above, Reasons } from "./reasons";
import "./result.css";

interface Place {
  id: string;
  memory: string | undefined;
}

interface Props {
  place: Place;
  query: string;
  /** Its row in the list, and the row above; missing when the row is not in the list. */
  result: Result | undefined;
  above: Result | undefined;
  onBack: () => void;
}

const AROUND = 60; // lines shown before and after the chunk
const MORE = 500; // lines that a button adds
const MOST = 2000; // lines of one answer

export function ResultPane({ place, query, result, above, onBack }: Props) {
  const generation = useGeneration();
  const isOpened = useRef(false); // it is used once, however often the memory changes
  const chunk = useAnswer(
    (signal) =>
      api.chunk(place, isOpened.current ? 0 : 1, signal).then((value) => ((isOpened.current = true), value)),
    [generation],
  );
  const pane = useRef<HTMLElement>(null);
  useEffect(() => pane.current!.focus({ preventScroll: true }), []);
  return (
    <article class="result" aria-label={place.id} tabIndex={-1} ref={pane}>
      <button type="button" class="quiet back" onClick={onBack}>
        Back to the results
      </button>
      {chunk.error && <Problem error={chunk.error} />}
      {chunk.value && (
        <>
          <Head chunk={chunk.value} />
          {result && <Reasons result={result} />}
          {result && above && <Above result={result} above={above} />}
          <Text place={place} query={query} chunk={chunk.value} />
          {!exported && <Past place={place} generation={generation} />}
          {!exported && <Causes place={place} query={query} generation={generation} />}
          {!exported && <Similar place={place} query={query} generation={generation} />}
        </>
      )}
    </article>
  );
}

function Head({ chunk }: { chunk: FullChunk }) {
  const { path, lines, session, memory, remarks } = chunk;
  const known = [chunk.document_type ?? chunk.kind, chunk.language, memory].filter(Boolean);
  return (
    <header>
      <h2>{titleOf(chunk)}</h2>
      <p class="muted">{known.join(" · ")}</p>
      {path && (
        <p class="mono path">
          {path}
          {lines && `:${lines[0]}–${lines[1]}`}
        </p>
      )}
      {remarks.map((remark) => (
        <p key={remark} class="warn">
          {remark}
        </p>
      ))}
      <p class="actions">
        {path && (
          <button type="button" onClick={() => void copy(path, "Path")}>
            Copy path
          </button>
        )}
        <button type="button" onClick={() => void copy(chunk.id, "Id")}>
          Copy id
        </button>
        {session && !exported && (
          <Link class="button" href={`/sessions/${encodeURIComponent(session.id)}`}>
            Open the session
          </Link>
        )}
      </p>
    </header>
  );
}

/** The file around the chunk; the stored text of what has no file. */
function Text({ place, query, chunk }: { place: Place; query: string; chunk: FullChunk }) {
  const [first, last] = chunk.lines ?? [1, 1];
  const [[from, to], setShown] = useState<[number, number]>([Math.max(1, first - AROUND), last + AROUND]);
  const hasFile = Boolean(chunk.path && chunk.lines && !chunk.session && !exported);
  const file = useAnswer((signal) => (hasFile ? api.file(place, from, Math.min(to, from + MOST - 1), signal) : null), [from, to]);
  const text = useRef<HTMLElement>(null);
  const isHere = file.value !== null;
  useEffect(() => {
    const line = text.current?.querySelector<HTMLElement>(".marked");
    if (line) line.parentElement!.parentElement!.scrollTop = line.offsetTop - 40;
  }, [isHere]);
  if (!hasFile || file.error)
    return (
      <section aria-label="Text">
        {file.error && <p class="muted">{file.error.message}</p>}
        <pre class="plain">{chunk.content}</pre>
      </section>
    );
  if (!file.value) return null;
  const { lines, first: start, total, note, editor_link: link, outline } = file.value;
  const end = start + lines.length - 1;
  return (
    <section aria-label="File" ref={text} class="file">
      <p class="actions">
        {link && (
          <a class="button" href={link}>
            Open in the editor
          </a>
        )}
        {start > 1 && (
          <button type="button" onClick={() => setShown([Math.max(1, start - MORE), end])}>
            {start - 1} lines before
          </button>
        )}
        {end < total && (
          <button type="button" onClick={() => setShown([Math.max(start, end + MORE - MOST + 1), end + MORE])}>
            {total - end} lines after
          </button>
        )}
      </p>
      {note && <p class="warn">{note}</p>}
      <CodeLines lines={lines} first={start} marked={chunk.lines} label={`Lines ${start} to ${end} of ${file.value.path}`} />
      <Outline place={place} query={query} outline={outline} />
    </section>
  );
}

function Outline({ place, query, outline }: { place: Place; query: string; outline: FileText["outline"] }) {
  if (outline.length < 2 || exported) return null;
  return (
    <details>
      <summary>Outline of the file: {outline.length} parts</summary>
      <ol class="outline">
        {outline.map((part) => (
          <li key={part.id}>
            <Link
              href={addressOf("/", { q: query, id: part.id, memory: place.memory })}
              aria-current={part.id === place.id ? "true" : undefined}
            >
              {part.name}
            </Link>{" "}
            <span class="muted">
              {part.kind}, line {part.lines[0]}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

interface More {
  place: Place;
  generation: number;
}

function Past({ place, generation }: More) {
  const history = useAnswer((signal) => api.history(place, signal), [generation]);
  if (history.error) return null; // what has no file has no past
  if (!history.value) return null;
  const { commits, uses, read_at, uncommitted } = history.value;
  const marks = [
    ...commits.map(({ time, subject, author }) => ({ at: time, kind: "commit" as const, text: `${subject} (${author})` })),
    ...uses.map((at) => ({ at, kind: "use" as const, text: "" })),
  ];
  return (
    <section aria-label="History of these lines">
      <h3>History of these lines</h3>
      <Strip marks={marks} label={`${commits.length} commits, ${uses.length} uses`} />
      {commits.length > 0 && <Commits commits={commits} />}
      <p class="muted">
        {uncommitted > 0 && `Not committed: ${uncommitted === 1 ? "1 line" : `${uncommitted} lines`}. `}
        {read_at && (
          <>
            Read from git <Time at={read_at} />.
          </>
        )}
      </p>
    </section>
  );
}

function Commits({ commits }: { commits: History["commits"] }) {
  return (
    <details>
      <summary>{commits.length === 1 ? "1 commit" : `${commits.length} commits`}</summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>When</th>
              <th>Subject</th>
              <th>Author</th>
              <th class="count">Lines</th>
              <th>Commit</th>
            </tr>
          </thead>
          <tbody>
            {commits.map(({ id, time, subject, author, lines }) => (
              <tr key={id}>
                <td>
                  <Time at={time} />
                </td>
                <td>{subject}</td>
                <td>{author}</td>
                <td class="count">{lines ?? ""}</td>
                <td class="mono">{id.slice(0, 10)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Causes({ place, query, generation }: More & { query: string }) {
  const why = useAnswer((signal) => api.why(place, signal), [generation]);
  const entries = why.value?.entries.filter((entry) => entry.kind !== "commit") ?? [];
  if (!entries.length) return null;
  return (
    <section aria-label="Sessions and decisions">
      <h3>Sessions and decisions that touched it</h3>
      <ol class="entries">
        {entries.map((entry, index) => (
          <Cause key={index} entry={entry} place={place} query={query} />
        ))}
      </ol>
    </section>
  );
}

function Cause({ entry, place, query }: { entry: Why["entries"][number]; place: Place; query: string }) {
  const href = entry.session
    ? `/sessions/${encodeURIComponent(entry.session)}`
    : addressOf("/", { q: query, id: entry.id, memory: place.memory });
  return (
    <li>
      <Link href={href}>{entry.title || entry.text || entry.id}</Link>
      <p class="muted">
        {entry.kind}
        {entry.who && `, ${entry.who}`}, <Time at={entry.time} />
      </p>
      {entry.reason && <p>{entry.reason}</p>}
    </li>
  );
}

function Similar({ place, query, generation }: More & { query: string }) {
  const similar = useAnswer((signal) => api.similar(place, 8, signal), [generation]);
  if (!similar.value?.results.length) return null;
  return (
    <section aria-label="Similar">
      <h3>Similar</h3>
      <ol class="entries">
        {similar.value.results.map((other) => (
          <li key={`${other.memory} ${other.id}`}>
            <Link href={addressOf("/", { q: query, id: other.id, memory: other.memory })}>
              {titleOf(other)}
            </Link>{" "}
            <span class="muted">
              {inHundredths(other.score)} {other.path ?? ""}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
