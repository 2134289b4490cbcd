// How the memory is: what it holds, how fresh it is, the run at work, findings, settings, a self-check.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { useAnswer, useGeneration, useRun } from "../hooks";
import { count, inBytes, inDigits, percent } from "../parts/numbers";
import { Problem } from "../parts/state";
import { Time } from "../parts/time";
import type { Finding, Health as HealthAnswer, SelfCheck, Stats } from "../types";
import "./health.css";

export function Health() {
  const health = useAnswer(api.health, [useGeneration(), useRun() === null]);
  return (
    <div class="view health">
      <h1>Health</h1>
      <RunAtWork />
      {health.error && <Problem error={health.error} />}
      {health.value && (health.value.stats ? <Memories stats={health.value.stats} /> : <NoMemory />)}
      <Findings />
      <SelfCheckSection />
      {health.value && <Model health={health.value} />}
      {health.value && <Settings settings={health.value.settings} />}
    </div>
  );
}

// --- the memories -------------------------------------------------------------------------------

function RunAtWork() {
  const run = useRun();
  if (!run) return null;
  const done = run.total ? `${inDigits(run.done)} of ${inDigits(run.total)}` : inDigits(run.done);
  return (
    <section aria-label="Index run" class="running">
      <p>
        {run.task}: {done}
      </p>
      <progress aria-label={run.task} max={run.total || 1} {...(run.total ? { value: run.done } : {})} />
    </section>
  );
}

function NoMemory() {
  return (
    <p>
      There is no memory here yet: <code>aur index</code> makes one.
    </p>
  );
}

const INDEX_STATES: { [state: string]: string } = {
  current: "up to date",
  behind: "behind: the next search merges the changes",
  outdated: "outdated: the next search rebuilds it",
  missing: "missing: the next search builds it",
  damaged: "damaged: the next search rebuilds it",
};

function Memories({ stats }: { stats: Stats }) {
  const all = [[stats.name, stats] as const, ...Object.entries(stats.others)];
  return (
    <section aria-labelledby="memories">
      <h2 id="memories">Memories that a search asks</h2>
      <div class="memories">
        {all.map(([name, memory]) => (
          <MemoryFacts key={name} name={name} stats={memory} />
        ))}
      </div>
    </section>
  );
}

function MemoryFacts({ name, stats }: { name: string; stats: Stats }) {
  const kinds = Object.entries(stats.kinds).filter(([, count]) => count > 0);
  const changed = stats.files_changed;
  return (
    <article aria-label={`Memory ${name}`}>
      <h3>{name}</h3>
      <p class="muted small path">{stats.path}</p>
      <dl class="facts">
        <Fact name="Holds">
          {count(stats.chunks, "chunk")}{stats.files > 0 && ` of ${count(stats.files, "file")}`}, {inBytes(stats.bytes)}
        </Fact>
        {stats.indexed_at && (
          <Fact name="Indexed">
            <Time at={stats.indexed_at} />
          </Fact>
        )}
        {changed !== null && (
          <Fact name="Files">
            <span class={changed ? "warn" : "good"}>{changed ? `${inDigits(changed)} changed since` : "none changed since"}</span>
          </Fact>
        )}
        <Fact name="Keyword index">
          <span class={stats.index.current ? "good" : "warn"}>{INDEX_STATES[stats.index.state] ?? stats.index.state}</span>
        </Fact>
        <Fact name="Vectors">
          {stats.embedder ? `${inDigits(stats.embedded)} of ${inDigits(stats.chunks)}, ${stats.embedder.name}` : "none"}
        </Fact>
      </dl>
      {kinds.length > 0 && <Kinds kinds={kinds} />}
    </article>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** One bar for each kind of chunk. */
function Kinds({ kinds }: { kinds: [string, number][] }) {
  const most = Math.max(...kinds.map(([, count]) => count));
  return (
    <table class="kinds">
      <caption class="hidden">Chunks by kind</caption>
      <tbody>
        {kinds.map(([kind, count]) => (
          <tr key={kind}>
            <th scope="row">{kind}</th>
            <td class="count">{inDigits(count)}</td>
            <td class="length" aria-hidden="true">
              <span style={{ width: `${(100 * count) / most}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// --- the findings of aur doctor -----------------------------------------------------------------

const LEVELS: { [level in Finding["level"]]: string } = { fail: "bad", warn: "warn", note: "muted", ok: "good" };

function Findings() {
  const { value, error, again } = useAnswer(api.doctor, []);
  const bad = value?.findings.filter((finding) => finding.level !== "ok") ?? [];
  const good = value?.findings.filter((finding) => finding.level === "ok" && finding.area !== "settings") ?? [];
  return (
    <section aria-labelledby="doctor">
      <header class="title">
        <h2 id="doctor">Findings</h2>
        <button type="button" onClick={again}>
          Look again
        </button>
      </header>
      {error && <Problem error={error} />}
      {!value && !error && <p class="muted">Looking …</p>}
      {value && !bad.length && <p class="good">Nothing is wrong.</p>}
      <FindingList findings={bad} />
      {good.length > 0 && (
        <details>
          <summary>{good.length} things are in order</summary>
          <FindingList findings={good} />
        </details>
      )}
    </section>
  );
}

function FindingList({ findings }: { findings: Finding[] }) {
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={finding.area + finding.text}>
          <span class={LEVELS[finding.level]}>{finding.level}</span>
          <span>
            {finding.text}
            {finding.hint && <span class="muted"> {finding.hint}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

// --- eval --self --------------------------------------------------------------------------------

const PAUSE = 1000; // milliseconds between two looks at a self-check

/** The state of the self-check on the server; asked again while it runs. */
function useSelfCheck() {
  const answer = useAnswer(api.selfCheck, []);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const running = answer.value?.state === "running";
  useEffect(() => {
    if (!running) return;
    const timer = window.setTimeout(answer.again, PAUSE);
    return () => window.clearTimeout(timer);
  }, [answer.value]);
  const begin = () => api.startSelfCheck().then(answer.again, setFailed);
  return { ...answer, error: failed ?? answer.error, running, begin };
}

function SelfCheckSection() {
  const { value, error, running, begin } = useSelfCheck();
  const result = value?.result ?? null;
  return (
    <section aria-labelledby="self">
      <header class="title">
        <h2 id="self">Does it find its own content?</h2>
        <button type="button" disabled={running} onClick={begin}>
          {running ? "Asking …" : result ? "Ask again" : "Ask"}
        </button>
      </header>
      {error && <Problem error={error} />}
      {value?.error && (
        <p class="bad" role="alert">
          {value.error}
        </p>
      )}
      {!result && (
        <p class="muted" aria-live="polite">
          {running
            ? `The memory is asked questions about itself: ${value!.done} of ${value!.total || "some"}.`
            : "Asks questions whose answers are known, and compares the scores with how often they are right: "}
          {!running && <code>aur eval --self</code>}
        </p>
      )}
      {result && <Checked result={result} />}
    </section>
  );
}

function Checked({ result }: { result: SelfCheck }) {
  return (
    <div class="checked">
      <Reliability bins={result.bins} />
      <div>
        <p class={result.ok ? "good" : "bad"} aria-live="polite">
          {result.ok ? "Every check passed" : "A check failed"}: {count(result.questions, "question")}
          {result.foreign > 0 && `, ${inDigits(result.foreign)} of another project`}.
        </p>
        <table>
          <thead>
            <tr>
              <th>Questions by</th>
              <th class="count">Asked</th>
              <th class="count">First</th>
              <th class="count">In five</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(result.kinds).map(([kind, { asked, first, in_five }]) => (
              <tr key={kind}>
                <td>{kind}</td>
                <td class="count">{inDigits(asked)}</td>
                <td class="count">{percent(first)}</td>
                <td class="count">{percent(in_five)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <ul class="findings">
          {result.checks.map((check) => (
            <li key={check.what}>
              <span class={check.is_passed ? "good" : "bad"}>{check.is_passed ? "ok" : "fail"}</span>
              <span>
                {check.what}: {check.value.toFixed(3)}{" "}
                <span class="muted">
                  {check.is_least ? "at least" : "at most"} {check.limit}
                </span>
              </span>
            </li>
          ))}
        </ul>
        {result.notes.map((note) => (
          <p key={note} class="muted small">
            {note}
          </p>
        ))}
      </div>
    </div>
  );
}

const SIDE = 240;
const EDGE = 34; // for the numbers at the left and below
const TOP = 14; // for the half of a circle

/** How often a score is right. On the diagonal a score of 0.8 is right in eight of ten cases. */
function Reliability({ bins }: { bins: SelfCheck["bins"] }) {
  const most = Math.max(1, ...bins.map((bin) => bin.rows));
  const x = (share: number) => EDGE + share * SIDE;
  const y = (share: number) => TOP + (1 - share) * SIDE;
  const label = bins.map((bin) => `score ${bin.score.toFixed(2)}: right ${percent(bin.right)} of ${bin.rows}`).join("; ");
  return (
    <figure class="reliability">
      <svg viewBox={`0 0 ${SIDE + EDGE + TOP} ${SIDE + EDGE + TOP}`} role="img" aria-label={`Reliability: ${label}`}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <g key={share}>
            <line x1={x(0)} x2={x(1)} y1={y(share)} y2={y(share)} />
            <text x={EDGE - 6} y={y(share) + 4} text-anchor="end">
              {share}
            </text>
            <text x={x(share)} y={y(0) + 16} text-anchor="middle">
              {share}
            </text>
          </g>
        ))}
        <line class="diagonal" x1={x(0)} x2={x(1)} y1={y(0)} y2={y(1)} />
        {bins.map((bin) => (
          <circle key={bin.low} cx={x(bin.score)} cy={y(bin.right)} r={3 + 9 * Math.sqrt(bin.rows / most)}>
            <title>{`score ${bin.score.toFixed(2)}: right ${percent(bin.right)} of ${bin.rows}`}</title>
          </circle>
        ))}
      </svg>
      <figcaption class="muted small">
        Across: the score of the first row. Up: how often it is right. Below the dashed line scores promise too much.
      </figcaption>
    </figure>
  );
}

// --- model and settings -------------------------------------------------------------------------

const MODEL = { chosen: "Chosen", name: "Of the vectors", dimension: "Dimension", fingerprint: "Fingerprint" };

function Model({ health }: { health: HealthAnswer }) {
  const names = Object.entries(MODEL) as [keyof typeof MODEL, string][];
  const facts = names.flatMap(([key, name]) => (health.model?.[key] ? [[name, health.model[key]] as const] : []));
  if (!facts.length) return null;
  return (
    <section aria-labelledby="model">
      <h2 id="model">Model</h2>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            {String(value)}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Settings({ settings }: { settings: HealthAnswer["settings"] }) {
  const [all, setAll] = useState(false);
  const changed = settings.filter((setting) => setting.origin !== "default");
  const shown = all ? settings : changed;
  return (
    <section aria-labelledby="settings">
      <header class="title">
        <h2 id="settings">Settings</h2>
        <label class="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> also the defaults
        </label>
      </header>
      {!shown.length && <p class="muted">All {settings.length} settings have their defaults.</p>}
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Settings with their origin">
          <table>
            <thead>
              <tr>
                <th>Setting</th>
                <th>Value</th>
                <th>From</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((setting) => (
                <tr key={setting.key}>
                  <td class="mono">{setting.key}</td>
                  <td class="mono">{setting.value === "" ? "" : String(setting.value)}</td>
                  <td>{setting.origin}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
