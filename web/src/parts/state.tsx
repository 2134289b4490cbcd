import type { ComponentChildren } from "preact";
import type { ApiError } from "../api";
import { useMessage } from "../hooks";

/** What a view says when it has nothing to show. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** An error of the server with what to do next. */
export function Problem({ error }: { error: ApiError }) {
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {error.hint && <p class="muted">{error.hint}</p>}
    </div>
  );
}

/** The last short message. Screen readers say it. */
export function Toast() {
  const message = useMessage();
  return (
    <div class="toast" role="status" aria-live="polite" hidden={!message}>
      {message}
    </div>
  );
}
