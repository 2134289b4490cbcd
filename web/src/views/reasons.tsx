// What a score is made of, and what the row above has more.

import { inHundredths, labelOf, partsOf, SIGNALS } from "../parts/bars";
import { titleOf } from "../parts/chunk";
import type { Result } from "../types";

export function Reasons({ result }: { result: Result }) {
  const parts = partsOf(result.contributions);
  return (
    <section aria-label="Why this score">
      <h3>
        Score {inHundredths(result.score)}, place {result.rank}
      </h3>
      {parts.length > 0 && (
        <table class="reasons">
          <thead class="hidden">
            <tr>
              <th>Signal</th>
              <th>Part of the score</th>
              <th>Value</th>
              <th>Place by this signal alone</th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <tr key={part.signal}>
                <th scope="row" title={SIGNALS[part.signal]?.means}>
                  {labelOf(part.signal)}
                </th>
                <td class="wide">
                  <Share signal={part.signal} value={part.value} />
                </td>
                <td class="count">{inHundredths(part.value)}</td>
                <td class="muted nowrap">{part.rank ? `place ${part.rank}` : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {result.terms.length > 0 && <p class="muted">Words of the query in it: {result.terms.join(", ")}</p>}
    </section>
  );
}

/** A bar of one signal; what lowers the score is hollow. */
function Share({ signal, value }: { signal: string; value: number }) {
  const style = { width: `${Math.min(1, Math.abs(value)) * 100}%` };
  return <span class={value < 0 ? `share signal ${signal} less` : `share signal ${signal}`} style={style} aria-hidden="true" />;
}

interface Difference {
  signal: string;
  value: number;
}

/** By signal, what the row above has more; the largest difference first. */
export function differences(above: Result, result: Result): Difference[] {
  const sum = new Map<string, number>();
  for (const part of above.contributions) sum.set(part.signal, (sum.get(part.signal) ?? 0) + part.value);
  for (const part of result.contributions) sum.set(part.signal, (sum.get(part.signal) ?? 0) - part.value);
  return [...sum]
    .map(([signal, value]) => ({ signal, value }))
    .filter(({ value }) => Math.abs(value) >= 0.005)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

function list(names: string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** `The row above has 0.12 more: more by Words and Name, less by Use.` */
export function sentence(above: Result, result: Result): string {
  const gap = above.score - result.score;
  const parts = differences(above, result);
  const more = parts.filter(({ value }) => value > 0).map(({ signal }) => labelOf(signal));
  const less = parts.filter(({ value }) => value < 0).map(({ signal }) => labelOf(signal));
  const start =
    gap < 0.005 ? "Both rows score the same" : `${titleOf(above)} above scores ${inHundredths(gap)} more`;
  if (!parts.length) return `${start}, and no signal differs by a hundredth.`;
  const sides = [more.length ? `more by ${list(more)}` : "", less.length ? `less by ${list(less)}` : ""];
  return `${start}: ${sides.filter(Boolean).join(", ")}.`;
}

export function Above({ result, above }: { result: Result; above: Result }) {
  const parts = differences(above, result);
  const most = Math.max(...parts.map(({ value }) => Math.abs(value)), 0.01);
  return (
    <details class="above">
      <summary>Why is this not {result.rank === 2 ? "first" : "higher"}?</summary>
      <p>{sentence(above, result)}</p>
      {parts.length > 0 && (
        <table class="reasons">
          <thead>
            <tr>
              <th>Signal</th>
              <th class="wide middle">this row | the row above</th>
              <th class="count">Difference</th>
            </tr>
          </thead>
          <tbody>
            {parts.map(({ signal, value }) => (
              <tr key={signal}>
                <th scope="row">{labelOf(signal)}</th>
                <td class="wide">
                  <span class="balance" aria-hidden="true">
                    <span
                      class={`signal ${signal}`}
                      style={{
                        width: `${(Math.abs(value) / most) * 50}%`,
                        marginLeft: value > 0 ? "50%" : `${50 - (Math.abs(value) / most) * 50}%`,
                      }}
                    />
                  </span>
                </td>
                <td class="count">{(value > 0 ? "+" : "−") + inHundredths(Math.abs(value))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
