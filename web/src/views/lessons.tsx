import type { Start } from "../types";

export function Lessons(_: { start: Start }) {
  return <h1>Lessons</h1>;
}
