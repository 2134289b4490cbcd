import type { CodeLine } from "../types";

interface Props {
  lines: CodeLine[];
  /** The number of the first line. */
  first: number;
  /** Lines that stand out, first and last. */
  marked?: [number, number] | null;
  label: string;
}

/** Lines of a file with their numbers and colours. Every text is a text node. */
export function CodeLines({ lines, first, marked, label }: Props) {
  const isMarked = (number: number) => marked && number >= marked[0] && number <= marked[1];
  return (
    <div class="code" role="region" aria-label={label} tabIndex={0}>
      <pre>
        {lines.map((tokens, offset) => {
          const number = first + offset;
          return (
            <div key={number} id={`L${number}`} class={isMarked(number) ? "line marked" : "line"}>
              <span class="number" aria-hidden="true" data-number={number} />
              <code>
                {tokens.map(([name, text]) => (name ? <span class={name}>{text}</span> : text))}
                {"\n"}
              </code>
            </div>
          );
        })}
      </pre>
    </div>
  );
}
