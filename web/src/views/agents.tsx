// What agents see: a preview of what a session is told, and the log of their calls.

import { useEffect, useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { addressOf, copy, navigate, useAddress, useAnswer, useGeneration } from "../hooks";
import { Link } from "../parts/link";
import { inDigits } from "../parts/numbers";
import { Empty, Problem } from "../parts/state";
import { minuteOf } from "../parts/time";
import type { Call, Moment, Recall, Savings } from "../types";
import "./agents.css";

const MOMENTS: { [moment in Moment]: { label: string; asks: string; means: string } } = {
  start: { label: "Start of a session", asks: "", means: "What a session is told before its first prompt." },
  prompt: { label: "Prompt", asks: "What a person writes", means: "What goes with a prompt." },
  edit: { label: "Before an edit", asks: "A file", means: "What is told before this file is edited." },
  command: { label: "Before a command", asks: "A command", means: "What is told before this command runs." },
  failure: { label: "After a failure", asks: "The error", means: "What is told after a command failed with this." },
};
const PAUSE = 250; // milliseconds without a key before the server is asked: each recall is a search
const BUDGET = 400;

export function Agents() {
  return (
    <div class="view agents">
      <h1>What agents see</h1>
      <Preview />
      <Calls />
    </div>
  );
}

// --- a preview of the recall --------------------------------------------------------------------

function Preview() {
  const { params } = useAddress();
  const moment = (params.get("moment") ?? "start") as Moment;
  const text = params.get("text") ?? "";
  const budget = Number(params.get("budget")) || BUDGET;
  const [typed, setTyped] = useState(text);
  const { asks, means } = MOMENTS[moment] ?? MOMENTS.start;
  const show = (changed: { moment?: string; text?: string; budget?: string }) =>
    navigate(addressOf("/agents", { moment, text, budget: String(budget), ...changed }), { replace: true });
  useEffect(() => {
    const timer = window.setTimeout(() => typed !== text && show({ text: typed }), PAUSE);
    return () => window.clearTimeout(timer);
  }, [typed]);
  const recall = useAnswer(
    (signal) => (asks && !text ? null : api.recall({ moment, text, budget }, signal)),
    [moment, text, budget, useGeneration()],
  );
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Preview of a recall</h2>
      <div class="situation">
        <label>
          Moment
          <select value={moment} onChange={(event) => show({ moment: event.currentTarget.value })}>
            {Object.entries(MOMENTS).map(([name, { label }]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {asks && (
          <label class="text">
            {asks}
            <input type="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        )}
        <label>
          Tokens at most
          <input
            type="number"
            min="1"
            max="100000"
            value={budget}
            onChange={(event) => show({ budget: event.currentTarget.value })}
          />
        </label>
      </div>
      <p class="muted">{means}</p>
      {recall.error && <Problem error={recall.error} />}
      {recall.value && <Recalled recall={recall.value} />}
    </section>
  );
}

function Recalled({ recall }: { recall: Recall }) {
  return (
    <>
      <p class="used" aria-live="polite">
        <meter min={0} max={recall.budget} value={recall.tokens} aria-label="Tokens used" />
        {recall.tokens} of {recall.budget} tokens
        {recall.text && (
          <button type="button" class="link" onClick={() => copy(recall.text, "What the agent gets is")}>
            Copy what the agent gets
          </button>
        )}
      </p>
      {recall.notes.map((note) => (
        <p key={note} class="warn">
          {note}
        </p>
      ))}
      {recall.items.length === 0 && <p>The agent is told nothing: nothing is sure enough to be worth its tokens.</p>}
      {recall.items.length > 0 && <Told recall={recall} />}
      {recall.left_out.length > 0 && (
        <details>
          <summary>Left out: {recall.left_out.length}</summary>
          <ul class="left-out">
            {recall.left_out.map((row) => (
              <li key={row.id}>
                {row.title || row.id} <span class="muted">{row.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? "";

function Told({ recall }: { recall: Recall }) {
  return (
    <div class="scroll told" tabIndex={0} role="region" aria-label="What the agent is told">
      <table>
        <thead>
          <tr>
            <th class="count">Tokens</th>
            <th>What</th>
            <th>Why</th>
          </tr>
        </thead>
        <tbody>
          {recall.items.map((item) => (
            <tr key={item.id}>
              <td class="count">{item.tokens}</td>
              <td>
                <Link href={addressOf("/", { q: item.title ?? firstLine(item.text), id: item.id, memory: item.memory })}>
                  {item.title ?? firstLine(item.text)}
                </Link>
                <div class="muted small">
                  {item.kind}
                  {item.date && ` · ${minuteOf(item.date)}`} · {item.memory}
                </div>
              </td>
              <td>{item.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// --- the log ------------------------------------------------------------------------------------

const PAGE = 100;

/** The newest calls, and older ones as far as they were asked for. */
function useCalls() {
  const newest = useAnswer((signal) => api.calls({ limit: PAGE }, signal), []);
  const [older, setOlder] = useState<{ calls: Call[]; more: boolean } | null>(null);
  const [failed, setFailed] = useState<ApiError | null>(null);
  useEffect(() => setOlder(null), [newest.value]);
  const calls = [...(newest.value?.calls ?? []), ...(older?.calls ?? [])];
  const askMore = async () => {
    try {
      const page = await api.calls({ limit: PAGE, before: String(calls.at(-1)!.time) });
      setOlder((old) => ({ calls: [...(old?.calls ?? []), ...page.calls], more: page.more }));
    } catch (error) {
      setFailed(error as ApiError);
    }
  };
  return { ...newest, error: failed ?? newest.error, calls, more: (older ?? newest.value)?.more ?? false, askMore };
}

function Calls() {
  const { calls, value, error, more, askMore, again } = useCalls();
  const savings = useAnswer(api.savings, [value]);
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls of hooks and tools</h2>
      {error && <Problem error={error} />}
      {value && !calls.length && (
        <Empty title="No agent has asked yet">
          <p>
            <code>aur install</code> connects the agents of this machine.
          </p>
        </Empty>
      )}
      {savings.value && savings.value.calls.length > 0 && <Summary savings={savings.value} />}
      {calls.length > 0 && (
        <>
          <p>
            <button type="button" onClick={again}>
              Look again
            </button>
          </p>
          <Log calls={calls} />
          {more && (
            <button type="button" onClick={askMore}>
              Older calls
            </button>
          )}
        </>
      )}
    </section>
  );
}

function Summary({ savings }: { savings: Savings }) {
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Calls by kind">
        <table>
          <thead>
            <tr>
              <th>Kind of call</th>
              <th class="count">Calls</th>
              <th class="count">Answered</th>
              <th class="count">Tokens</th>
              <th class="count">Median ms</th>
              <th class="count">Errors</th>
            </tr>
          </thead>
          <tbody>
            {savings.calls.map((line) => (
              <tr key={line.door + line.what}>
                <td>
                  {line.door} {line.what}
                </td>
                <td class="count">{inDigits(line.calls)}</td>
                <td class="count">{inDigits(line.answered)}</td>
                <td class="count">{inDigits(line.tokens)}</td>
                <td class="count">{inDigits(Math.round(line.median_ms))}</td>
                <td class={line.errors ? "count bad" : "count"}>{line.errors}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted small" title={savings.method}>
        {inDigits(savings.given_tokens)} tokens were given to agents. Reading the named files whole would take{" "}
        {inDigits(savings.whole_file_tokens)}, an estimate from above.
      </p>
    </>
  );
}

function Log({ calls }: { calls: Call[] }) {
  return (
    <div class="scroll log" tabIndex={0} role="region" aria-label="Calls, newest first">
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>What</th>
            <th class="count">ms</th>
            <th class="count">Rows</th>
            <th class="count">Left out</th>
            <th class="count">Tokens</th>
            <th>Error</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call, index) => (
            <tr key={index}>
              <td class="nowrap">{minuteOf(timeOf(call))}</td>
              <td>{call.agent || call.door}</td>
              <td>{[call.event, call.moment].filter(Boolean).join(" · ")}</td>
              <td class="count">{inDigits(Math.round(call.milliseconds))}</td>
              <td class="count">{call.rows}</td>
              <td class="count">{call.left_out}</td>
              <td class="count">{inDigits(call.tokens)}</td>
              <td class="bad">{call.error}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const timeOf = (call: Call): string => new Date(call.time * 1000).toISOString();
