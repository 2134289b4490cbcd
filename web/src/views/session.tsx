// One session with an agent, exchange by exchange.

import { api, exported } from "../api";
import { copy, useAnswer, useGeneration, useKeys, isTyping, navigate } from "../hooks";
import { hrefOfPath } from "../parts/chunk";
import { Link } from "../parts/link";
import { Problem } from "../parts/state";
import { minuteOf } from "../parts/time";
import type { FullSession } from "../types";
import { hrefOfSession } from "./sessions";
import "./sessions.css";

export function Session({ id }: { id: string }) {
  const { value, error } = useAnswer((signal) => api.session(id, signal), [id, useGeneration()]);
  useExchangeKeys();
  return (
    <article class="view session" aria-label="Session">
      {error && <Problem error={error} />}
      {value && <Head session={value} />}
      {value?.talk.map((exchange, index) => (
        <Exchange key={exchange.id} exchange={exchange} number={index + 1} of={value.talk.length} />
      ))}
    </article>
  );
}

/** j and k go to the next exchange and the one before, Escape back to the list. */
function useExchangeKeys(): void {
  useKeys((event) => {
    if (isTyping(event)) return;
    if (event.key === "Escape" && !exported) return navigate("/sessions");
    const step = { j: 1, k: -1 }[event.key];
    if (!step) return;
    const exchanges = [...document.querySelectorAll<HTMLElement>(".exchange")];
    const at = exchanges.indexOf(document.activeElement as HTMLElement);
    const next = exchanges[Math.max(0, Math.min(exchanges.length - 1, at + step))];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView();
    event.preventDefault();
  });
}

function Head({ session }: { session: FullSession }) {
  const times = [session.started, session.ended].filter((at) => at !== null).map(minuteOf);
  const facts: [string, string | null][] = [
    ["Agent", [session.agent, session.model].filter(Boolean).join(" ")],
    ["Project", [session.project, session.branch].filter(Boolean).join(" · ")],
    ["Time", times.join(" to ")],
    ["Session", session.id],
  ];
  return (
    <header>
      {!exported && (
        <p>
          <Link href="/sessions">All sessions</Link>
        </p>
      )}
      <h1>{session.title ?? "Session"}</h1>
      <dl class="facts">
        {facts.map(
          ([name, text]) =>
            text && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </div>
            ),
        )}
        {session.parent && (
          <div>
            <dt>Started by</dt>
            <dd>{exported ? session.parent : <Link href={hrefOfSession(session.parent)}>{session.parent}</Link>}</dd>
          </div>
        )}
        {session.resume && (
          <div>
            <dt>Go on</dt>
            <dd>
              <code>{session.resume}</code>{" "}
              <button type="button" class="link" onClick={() => copy(session.resume!, "The command is")}>
                Copy
              </button>
            </dd>
          </div>
        )}
      </dl>
    </header>
  );
}

type Talk = FullSession["talk"][number];

function Exchange({ exchange, number, of }: { exchange: Talk; number: number; of: number }) {
  return (
    <section class="exchange" tabIndex={-1} aria-label={`Exchange ${number} of ${of}`}>
      <h2>
        <span>
          {number} of {of}
        </span>
        {exchange.time && <time dateTime={exchange.time}>{minuteOf(exchange.time)}</time>}
        {exchange.model && <span>{exchange.model}</span>}
      </h2>
      {partsOf(exchange.text).map(({ label, text }, index) => (
        <div key={index} class={`part ${label.toLowerCase()}`}>
          <span class="muted">{label}</span>
          <div>{label === "Edited" ? <Files names={text.split(", ")} /> : <p class="plain">{text}</p>}</div>
        </div>
      ))}
      {exchange.commands.map((command, index) => (
        <pre key={index} class="plain command" tabIndex={0}>
          {command}
        </pre>
      ))}
    </section>
  );
}

function Files({ names }: { names: string[] }) {
  return (
    <p class="files">
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          {exported ? name : <Link href={hrefOfPath(name)}>{name}</Link>}
        </span>
      ))}
    </p>
  );
}

const LABELS = /^(Asked|Answered|Thought|Edited): /;

/** The parts of an exchange as the memory stores it; a paragraph without a label belongs to the part before. */
function partsOf(text: string): { label: string; text: string }[] {
  const parts: { label: string; text: string }[] = [];
  for (const paragraph of text.split("\n\n")) {
    const label = LABELS.exec(paragraph)?.[1];
    const last = parts.at(-1);
    if (label) parts.push({ label, text: paragraph.slice(label.length + 2) });
    else if (last) last.text += `\n\n${paragraph}`;
    else parts.push({ label: "", text: paragraph });
  }
  return parts;
}
