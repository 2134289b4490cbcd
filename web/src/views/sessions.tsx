// The sessions of agents, newest first: a line of time for each agent, and a list by day.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { addressOf, navigate, useAddress, useAnswer, useGeneration } from "../hooks";
import { Link } from "../parts/link";
import { List } from "../parts/list";
import { count } from "../parts/numbers";
import { Empty, Problem } from "../parts/state";
import { dayOf, minuteOf } from "../parts/time";
import type { Session, Start } from "../types";
import "./sessions.css";

const ROW = 60; // pixels
const PAGE = 200;

export const hrefOfSession = (id: string): string => `/sessions/${encodeURIComponent(id)}`;

/** Pages of sessions, as far as they were asked for. */
function useSessions(agent: string, q: string) {
  const [older, setOlder] = useState<{ sessions: Session[]; more: boolean } | null>(null);
  const newest = useAnswer((signal) => api.sessions({ agent, q, limit: PAGE }, signal), [agent, q, useGeneration()]);
  useEffect(() => setOlder(null), [newest.value]);
  const sessions = [...(newest.value?.sessions ?? []), ...(older?.sessions ?? [])];
  const more = (older ?? newest.value)?.more ?? false;
  const askMore = async () => {
    const before = sessions.at(-1)?.ended;
    if (!more || !before) return;
    const page = await api.sessions({ agent, q, before, limit: PAGE });
    setOlder((old) => ({ sessions: [...(old?.sessions ?? []), ...page.sessions], more: page.more }));
  };
  return { ...newest, sessions, askMore };
}

export function Sessions({ start }: { start: Start }) {
  const { params } = useAddress();
  const agent = params.get("agent") ?? "";
  const q = params.get("q") ?? "";
  const { sessions, value, error, askMore } = useSessions(agent, q);
  const show = (changed: { agent?: string; q?: string }) =>
    navigate(addressOf("/sessions", { agent, q, ...changed }), { replace: true });
  const agents = [...new Set([...start.agents, ...sessions.map((session) => session.agent)])].sort();
  return (
    <div class="sessions">
      <div class="filters">
        <h1>Sessions</h1>
        <input
          type="search"
          aria-label="Find sessions"
          placeholder="Find a session by its title, project or branch"
          value={q}
          data-keys
          data-list-keys
          onInput={(event) => show({ q: event.currentTarget.value })}
        />
        <select aria-label="Agent" value={agent} onChange={(event) => show({ agent: event.currentTarget.value })}>
          <option value="">All agents</option>
          {agents.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      {error && <Problem error={error} />}
      {value && !sessions.length && <NoSessions filtered={Boolean(agent || q)} />}
      {sessions.length > 0 && (
        <>
          <Timeline sessions={sessions} />
          <List
            items={byDay(sessions)}
            label="Sessions"
            rowHeight={ROW}
            keyOf={(row) => (typeof row === "string" ? row : row.id)}
            hrefOf={(row) => (typeof row === "string" ? null : hrefOfSession(row.id))}
            render={(row) => (typeof row === "string" ? row : <Row session={row} />)}
            onEnd={askMore}
          />
        </>
      )}
    </div>
  );
}

function NoSessions({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No session fits" />;
  return (
    <Empty title="No session is kept yet">
      <p>
        <code>aur sessions import</code> reads what agents left on this machine.
      </p>
    </Empty>
  );
}

const endOf = (session: Session): string | null => session.ended ?? session.started;

/** Sessions, with the day before the first of each. */
function byDay(sessions: Session[]): (string | Session)[] {
  let day = "";
  return sessions.flatMap((session) => {
    const end = endOf(session);
    const next = end ? dayOf(end) : "Without a date";
    if (next === day) return [session];
    day = next;
    return [day, session];
  });
}

function Row({ session }: { session: Session }) {
  const end = endOf(session);
  const where = [session.project, session.branch].filter(Boolean).join(" · ");
  return (
    <>
      <span class="title">{session.title ?? "Without a title"}</span>
      <span class="about muted">
        {end && <span>{minuteOf(end).slice(-5)}</span>}
        <span class="agent">{session.agent}</span>
        <span>{count(session.exchanges, "exchange")}</span>
        {session.parent && <span>by another session</span>}
        <span class="where">{where}</span>
      </span>
    </>
  );
}

// --- the line of time ---------------------------------------------------------------------------

const DAY = 86_400_000;
const WIDTH = 1000;
const LANE = 16;

/** A lane for each agent, and in it a mark for each day with sessions: the more, the taller. */
function Timeline({ sessions }: { sessions: Session[] }) {
  const days = countDays(sessions);
  const all = [...days.values()].flatMap((lane) => [...lane.keys()]);
  if (all.length < 2) return null;
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const most = Math.max(...[...days.values()].flatMap((lane) => [...lane.values()]));
  const x = (day: number) => ((day - first) / Math.max(1, last - first)) * (WIDTH - 6);
  const label = `Sessions from ${dayName(first)} to ${dayName(last)}, by agent; the list below has each of them`;
  return (
    <figure class="timeline">
      <div class="lanes">
        <ul>
          {[...days.keys()].map((agent) => (
            <li key={agent}>
              <Link href={addressOf("/sessions", { agent })}>{agent}</Link>
            </li>
          ))}
        </ul>
        <svg viewBox={`0 0 ${WIDTH} ${days.size * LANE}`} preserveAspectRatio="none" role="img" aria-label={label}>
          {[...days].map(([agent, lane], row) => (
            <g key={agent}>
              <line x1="0" x2={WIDTH} y1={(row + 1) * LANE - 1} y2={(row + 1) * LANE - 1} />
              {[...lane].map(([day, count]) => {
                const height = 3 + (LANE - 5) * (count / most);
                return (
                  <rect key={day} x={x(day)} y={(row + 1) * LANE - 1 - height} width="5" height={height}>
                    <title>{`${dayName(day)}: ${count} with ${agent}`}</title>
                  </rect>
                );
              })}
            </g>
          ))}
        </svg>
        <figcaption class="muted">
          <span>{dayName(first)}</span>
          <span>{dayName(last)}</span>
        </figcaption>
      </div>
    </figure>
  );
}

const dayName = (day: number): string => new Date(day * DAY).toISOString().slice(0, 10);

/** By agent, the sessions of each day since 1970. */
function countDays(sessions: Session[]): Map<string, Map<number, number>> {
  const lanes = new Map<string, Map<number, number>>();
  for (const session of sessions) {
    const end = endOf(session);
    if (!end) continue;
    const day = Math.floor(Date.parse(`${dayOf(end)}T00:00:00Z`) / DAY);
    const lane = lanes.get(session.agent) ?? new Map<number, number>();
    lanes.set(session.agent, lane.set(day, (lane.get(day) ?? 0) + 1));
  }
  return new Map([...lanes].sort(([a], [b]) => a.localeCompare(b)));
}
