import type { ComponentChildren } from "preact";

/** A filter that can be taken away. */
export function Pill({ children, remove, onRemove }: { children: ComponentChildren; remove: string; onRemove: () => void }) {
  return (
    <span class="pill">
      {children}
      <button type="button" aria-label={remove} title={remove} onClick={onRemove}>
        <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
          <path d="M2 2 8 8M8 2 2 8" stroke="currentColor" stroke-width="1.5" />
        </svg>
      </button>
    </span>
  );
}
