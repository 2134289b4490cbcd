import { addressOf } from "../hooks";
import type { Chunk } from "../types";

/** What a chunk is called. */
export const titleOf = (chunk: Chunk): string =>
  chunk.qualified_name || chunk.name || chunk.id;

/** `src/app.py:12–40`, or of a session its agent and title. */
export function whereOf({ path, lines, session, id }: Chunk): string {
  if (session) return `${session.agent}: ${session.title}`;
  if (!path) return id;
  return lines ? `${path}:${lines[0]}–${lines[1]}` : path;
}

/** The search for what is in a file. */
export const hrefOfPath = (path: string): string => addressOf("/", { q: `path:${/\s/.test(path) ? `"${path}"` : path}` });
