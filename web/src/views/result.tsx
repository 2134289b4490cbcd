// One result: why it is where it is, its file, its past, what led to it, and what is like it.

import { useState } from "preact/hooks";
import { api, exported } from "../api";
import { addressOf, copy, useAnswer, useGeneration } from "../hooks";
import { Bar, inHundredths, labelOf, partsOf, SIGNALS } from "../parts/bars";
import { CodeLines } from "../parts/code";
import { Link } from "../parts/link";
import { Problem } from "../parts/state";
import { type Mark, Strip } from "../parts/strip";
import { Time } from "../parts/time";
import type { FileText, FullChunk, Result } from "../types";

interface Place {
  id: string;
  memory: string | undefined;
}

interface Props {
  place: Place;
  query: string;
  /** Its row in the list, and the row above; without, when the address was opened directly. */
  result: Result | undefined;
  above: Result | undefined;
  editor: string;
  onBack: () => void;
}

export function ResultPane({ place, query, result, above, onBack }: Props) {
  const generation = useGeneration();
  const chunk = useAnswer((signal) => api.chunk(place, signal), [generation]);
  return (
    <article class="result" aria-label={`Result ${place.id}`}>
      <button type="button" class="quiet back" onClick={onBack}>
        Back to the results
      </button>
      {chunk.error && <Problem error={chunk.error} />}
      {chunk.value && <Body place={place} query={query} chunk={chunk.value} result={result} above={above} />}
    </article>
  );
}

type BodyProps = Omit<Props, "onBack" | "editor"> & { chunk: FullChunk };

function Body({ place, query, chunk, result, above }: BodyProps) {
  return (
    <>
      <h2>{chunk.qualified_name || chunk.name || chunk.id}</h2>
      <p class="muted">{chunk.id}</p>
      {result && <Reasons result={result} above={above} />}
      <pre class="plain">{chunk.content}</pre>
      <p hidden>{place.id + query}</p>
    </>
  );
}

function Reasons({ result }: { result: Result; above: Result | undefined }) {
  return <Bar contributions={result.contributions} score={result.score} />;
}

export const pending = { useState, exported, addressOf, copy, inHundredths, labelOf, partsOf, SIGNALS, CodeLines, Link, Strip, Time };
export type Pending = Mark | FileText;
