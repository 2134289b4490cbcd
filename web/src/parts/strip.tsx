import { useState } from "preact/hooks";
import { dayOf } from "./time";

export interface Mark {
  at: string;
  kind: "commit" | "use";
  text: string;
}

const DAY = 86_400_000;

/** Marks on a line of time, oldest left: commits above, uses below. */
export function Strip({ marks, label }: { marks: Mark[]; label: string }) {
  const [near, setNear] = useState<Mark | null>(null);
  if (!marks.length) return <p class="muted">Nothing is known of its past.</p>;
  const now = Date.now();
  const from = Math.min(...marks.map((mark) => Date.parse(mark.at)), now - DAY);
  const place = (at: string) => ((Date.parse(at) - from) / (now - from)) * 100;
  const pick = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [(100 * (event.clientX - box.left)) / box.width, (event.clientY - box.top) / box.height];
    const side = marks.filter(({ kind }) => (kind === "commit") === y < 0.5);
    const far = (mark: Mark) => Math.abs(place(mark.at) - x);
    setNear(side.length ? side.reduce((a, b) => (far(b) < far(a) ? b : a)) : null);
  };
  const shown = near ?? marks.reduce((a, b) => (a.at > b.at ? a : b));
  return (
    <figure class="strip">
      <svg viewBox="-0.5 0 101 24" preserveAspectRatio="none" role="img" aria-label={label} onPointerMove={pick} onPointerDown={pick}>
        <line x1="0" x2="100" y1="12" y2="12" />
        {marks.map((mark, index) => (
          <line
            key={index}
            class={mark.kind}
            x1={place(mark.at)}
            x2={place(mark.at)}
            y1={mark.kind === "commit" ? 1 : 14}
            y2={mark.kind === "commit" ? 10 : 23}
          />
        ))}
      </svg>
      <p class="ends muted">
        <span>{dayOf(new Date(from).toISOString())}</span>
        <span>today</span>
      </p>
      <figcaption>
        {dayOf(shown.at)} {shown.kind === "commit" ? shown.text : "opened"}
      </figcaption>
    </figure>
  );
}
