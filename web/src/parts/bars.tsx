import type { Contribution } from "../types";

/** What people call a signal, and what it measures. */
export const SIGNALS: { [signal: string]: { label: string; means: string } } = {
  bm25: { label: "Words", means: "words of the query in the text, rare ones counting more" },
  semantic: { label: "Meaning", means: "likeness of the vectors of the query and the text" },
  exact: { label: "Name", means: "a name or heading that the query holds" },
  activation: { label: "Use", means: "how often and how lately it was used or changed" },
  fulltext: { label: "Phrase", means: "the text search of the database" },
  recency: { label: "Age", means: "how new a dated text is" },
  expansion: { label: "Expansion", means: "words that a language model added" },
  rerank: { label: "Reranking", means: "the order of a reranker" },
  lesson: { label: "Lesson", means: "the place of a lesson or decision" },
  file: { label: "File", means: "many hits in the same file" },
  context: { label: "Neighbours", means: "hits beside it in the conversation" },
  newest: { label: "Newest", means: "the newest exchange takes the place of an earlier one" },
  aside: { label: "Aside", means: "tests, examples and generated code rank below sources" },
  elsewhere: { label: "Elsewhere", means: "sessions of other projects rank below those of this one" },
  variety: { label: "Variety", means: "further chunks of a file rank below its best" },
  unanswered: { label: "Unanswered", means: "a question that nothing answers" },
};

export const labelOf = (signal: string): string => SIGNALS[signal]?.label ?? signal;

export const inHundredths = (value: number): string => value.toFixed(2);

/** The parts of a score, largest first. */
export const partsOf = (contributions: Contribution[]): Contribution[] =>
  contributions.filter((part) => Math.abs(part.value) >= 0.0005).sort((a, b) => b.value - a.value);

const wordsFor = (contributions: Contribution[]): string =>
  partsOf(contributions)
    .map((part) => `${labelOf(part.signal)} ${inHundredths(part.value)}`)
    .join(", ");

/** One bar from 0 to 1 that adds up to the score; what lowers the score makes the parts smaller. */
export function Bar({ contributions, score }: { contributions: Contribution[]; score: number }) {
  const text = `Score ${inHundredths(score)}: ${wordsFor(contributions)}`;
  const parts = partsOf(contributions).filter((part) => part.value > 0);
  const scale = score / parts.reduce((sum, part) => sum + part.value, 0);
  return (
    <span class="bar" role="img" aria-label={text} title={text}>
      {parts.map((part) => (
        <span key={part.signal} class={`signal ${part.signal}`} style={{ width: `${part.value * scale * 100}%` }} />
      ))}
    </span>
  );
}

/** Which colour is which signal, of those that show in a bar. */
export function Legend({ signals }: { signals: string[] }) {
  return (
    <ul class="legend" aria-label="Signals">
      {signals.map((signal) => (
        <li key={signal} title={SIGNALS[signal]?.means}>
          <span class={`swatch signal ${signal}`} aria-hidden="true" />
          {labelOf(signal)}
        </li>
      ))}
    </ul>
  );
}
