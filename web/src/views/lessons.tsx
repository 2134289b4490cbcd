// Lessons, decisions and documents: what was tried, what replaced what, and the actions on them.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, api } from "../api";
import { addressOf, navigate, say, useAddress, useAnswer, useGeneration } from "../hooks";
import { inHundredths } from "../parts/bars";
import { Dialog } from "../parts/dialog";
import { count, inDigits } from "../parts/numbers";
import { Empty, Problem } from "../parts/state";
import { minuteOf, Time } from "../parts/time";
import type { Lesson, LessonHistory, Start } from "../types";
import "./lessons.css";

const SHOWN = 2000; // characters of a version, until the rest is asked for

const STATES: { [state: string]: { label: string; fits: (lesson: Lesson) => boolean } } = {
  current: { label: "Current", fits: (lesson) => lesson.state === "current" },
  failed: { label: "Did not work", fits: (lesson) => hasRemark(lesson, "did not work") },
  stale: { label: "Stale", fits: (lesson) => hasRemark(lesson, "stale") },
  replaced: { label: "Replaced", fits: (lesson) => lesson.state === "replaced" },
  all: { label: "All", fits: () => true },
};

const hasRemark = (lesson: Lesson, beginning: string) => lesson.remarks.some((text) => text.startsWith(beginning));

/** Those that are found, and those that others replaced. */
async function loadLessons(signal: AbortSignal): Promise<{ lessons: Lesson[]; more: boolean }> {
  const [current, replaced] = await Promise.all([api.lessons("current", signal), api.lessons("replaced", signal)]);
  return { lessons: [...current.lessons, ...replaced.lessons], more: current.more || replaced.more };
}

type Action = { does: "learn" } | { does: "edit" | "history" | "forget"; lesson: Lesson };

export function Lessons({ start }: { start: Start }) {
  const { params } = useAddress();
  const state = params.get("state") ?? "current";
  const answer = useAnswer(loadLessons, [useGeneration()]);
  const [action, setAction] = useState<Action | null>(null);
  const all = answer.value?.lessons ?? [];
  const shown = all.filter((STATES[state] ?? STATES["all"]!).fits);
  const close = () => setAction(null);
  const done = (text: string) => (say(text), answer.again());
  return (
    <div class="view lessons">
      <header class="title">
        <h1>Lessons</h1>
        {!start.read_only && (
          <button type="button" class="main" onClick={() => setAction({ does: "learn" })}>
            Learn
          </button>
        )}
      </header>
      <fieldset class="choices">
        <legend class="hidden">Which lessons</legend>
        {Object.entries(STATES).map(([name, { label, fits }]) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === state}
            onClick={() => navigate(addressOf("/lessons", { state: name }), { replace: true })}
          >
            {label} <span class="muted">{all.filter(fits).length}</span>
          </button>
        ))}
      </fieldset>
      {answer.error && <Problem error={answer.error} />}
      {answer.value && !shown.length && <NoLessons any={all.length > 0} />}
      <ol aria-label="Lessons">
        {shown.map((lesson) => (
          <Entry key={`${lesson.memory} ${lesson.id}`} lesson={lesson} can={!start.read_only} onAction={setAction} />
        ))}
      </ol>
      {answer.value?.more && <p class="muted">Older ones are not listed: a search finds them.</p>}
      {action?.does === "learn" && <LearnDialog onClose={close} onDone={done} />}
      {action?.does === "edit" && <EditDialog lesson={action.lesson} onClose={close} onDone={done} />}
      {action?.does === "history" && <HistoryDialog lesson={action.lesson} onClose={close} />}
      {action?.does === "forget" && <ForgetDialog lesson={action.lesson} onClose={close} onDone={done} />}
    </div>
  );
}

function NoLessons({ any }: { any: boolean }) {
  if (any) return <p class="muted">None of these.</p>;
  return (
    <Empty title="Nothing is learned yet">
      <p>
        A lesson is a sentence about what works here: <code>aur mem learn "retry with backoff" --score 0.9</code>
      </p>
    </Empty>
  );
}

interface EntryProps {
  lesson: Lesson;
  can: boolean;
  onAction: (action: Action) => void;
}

function Entry({ lesson, can, onAction }: EntryProps) {
  const button = (does: "edit" | "history" | "forget", label: string) => (
    <button type="button" class="link" aria-label={`${label}: ${nameOf(lesson)}`} onClick={() => onAction({ does, lesson })}>
      {label}
    </button>
  );
  const text = withoutHeading(lesson);
  const hasPast = lesson.replaces.length > 0 || lesson.replaced_by !== null;
  return (
    <li class={`entry ${lesson.state}`} id={lesson.id}>
      {text.startsWith(lesson.title) || <h2>{lesson.title}</h2>}
      <p class="plain">
        {text}
        {lesson.cut > 0 && <span class="muted"> … {inDigits(lesson.cut)} more characters</span>}
      </p>
      <p class="about muted">
        <span>{lesson.kind}</span>
        {lesson.score !== null && <Success score={lesson.score} tries={lesson.tries} />}
        {lesson.remarks
          .filter((remark) => !remark.startsWith("replace")) // its versions tell
          .map((remark) => (
            <span key={remark} class="warn">
              {remark}
            </span>
          ))}
        {lesson.at && <Time at={lesson.at} />}
        {lesson.who && <span>{lesson.who}</span>}
        <span>{lesson.memory}</span>
      </p>
      <p class="actions">
        {can && lesson.state === "current" && button("edit", "Edit")}
        {hasPast && button("history", "Versions")}
        {can && button("forget", "Forget")}
      </p>
    </li>
  );
}

/** The text of a document repeats its title as a heading. */
function withoutHeading({ title, text }: Lesson): string {
  const heading = `# ${title}\n`;
  return text.startsWith(heading) ? text.slice(heading.length).trimStart() : text;
}

const nameOf = (lesson: Lesson): string => lesson.title || lesson.text.slice(0, 80);

function Success({ score, tries }: { score: number; tries: number | null }) {
  const of = tries && tries > 1 ? ` in ${tries} tries` : "";
  return (
    <span class={score < 0.5 ? "bad" : "good"}>
      success {inHundredths(score)}
      {of}
    </span>
  );
}

// --- actions ------------------------------------------------------------------------------------

interface DialogProps {
  onClose: () => void;
  onDone: (text: string) => void;
}

/** Does something, and keeps the dialog open with the error when it fails. */
function useDoing({ onClose, onDone }: DialogProps) {
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async (work: () => Promise<string>) => {
    setBusy(true);
    try {
      onDone(await work());
      onClose();
    } catch (caught) {
      setError(caught instanceof ApiError ? caught : new ApiError(0, String(caught), ""));
      setBusy(false);
    }
  };
  return { error, busy, run };
}

interface FormProps {
  onSubmit: (fields: FormData) => void;
  label: string;
  busy: boolean;
  error: ApiError | null;
  children: ComponentChildren;
  danger?: boolean;
}

function Form({ onSubmit, label, busy, error, children, danger }: FormProps) {
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), onSubmit(new FormData(event.currentTarget)))}>
      {children}
      {error && <Problem error={error} />}
      <p>
        <button type="submit" class={danger ? "danger" : "main"} disabled={busy}>
          {label}
        </button>
      </p>
    </form>
  );
}

function TextField({ value }: { value: string }) {
  return (
    <label>
      Text
      <textarea name="text" required rows={6} autofocus defaultValue={value} />
    </label>
  );
}

const KINDS = ["lesson", "decision", "plan", "document"];

function LearnDialog(props: DialogProps) {
  const [kind, setKind] = useState("lesson");
  const { error, busy, run } = useDoing(props);
  const learn = async (fields: FormData) => {
    const text = (name: string) => String(fields.get(name) ?? "");
    const files = text("files").split(/[\s,]+/).filter(Boolean);
    const about = kind === "lesson" ? { score: Number(text("score")) } : { title: text("title") };
    const lesson = { kind, text: text("text"), private: fields.has("private"), files, ...about };
    const { similar } = await api.learn(lesson);
    return similar.length ? `Learned. ${similar.length} like it: look whether it replaces one.` : "Learned.";
  };
  return (
    <Dialog title="Learn" onClose={props.onClose}>
      <Form label="Learn" busy={busy} error={error} onSubmit={(fields) => run(() => learn(fields))}>
        <label>
          Kind
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            {KINDS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {kind !== "lesson" && (
          <label>
            Title
            <input name="title" required />
          </label>
        )}
        <TextField value="" />
        {kind === "lesson" && (
          <label>
            How well it worked, from 0 to 1
            <input name="score" type="number" min="0" max="1" step="0.05" required defaultValue="1" />
          </label>
        )}
        <label>
          Files it is about
          <input name="files" placeholder="src/app.py, docs/guide.md" />
        </label>
        <label class="check">
          <input name="private" type="checkbox" />
          Only for me, not for the project
        </label>
      </Form>
    </Dialog>
  );
}

function EditDialog({ lesson, ...props }: DialogProps & { lesson: Lesson }) {
  const { error, busy, run } = useDoing(props);
  const replace = async (fields: FormData) => {
    const text = String(fields.get("text"));
    await api.replace({ id: lesson.id, text, ...(lesson.score === null ? { title: lesson.title } : {}) });
    return "Replaced. The version before is kept, and not found.";
  };
  const whole = useAnswer((signal) => (lesson.cut ? api.lessonHistory(lesson.id, signal) : null), [lesson.id]);
  const text = lesson.cut ? whole.value?.versions.find(({ id }) => id === lesson.id)?.text : lesson.text;
  return (
    <Dialog title="Edit" onClose={props.onClose}>
      <Form
        label="Replace"
        busy={busy || text === undefined}
        error={error ?? whole.error}
        onSubmit={(fields) => run(() => replace(fields))}
      >
        {text !== undefined && <TextField value={text} />}
        <p class="muted">The new text replaces this one. The old one stays among its versions.</p>
      </Form>
    </Dialog>
  );
}

function ForgetDialog({ lesson, ...props }: DialogProps & { lesson: Lesson }) {
  const { error, busy, run } = useDoing(props);
  const preview = useAnswer(() => api.previewForget(lesson.id), [lesson.id]);
  const forget = async () => {
    const { forgotten } = await api.forget(lesson.id);
    return `Forgot ${count(forgotten, "chunk")}.`;
  };
  return (
    <Dialog title="Forget" onClose={props.onClose}>
      <Form label="Forget" danger busy={busy || !preview.value} error={error ?? preview.error} onSubmit={() => run(forget)}>
        <blockquote class="plain">{lesson.text}</blockquote>
        <ul class="what">
          {preview.value?.what.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </Form>
    </Dialog>
  );
}

function HistoryDialog({ lesson, onClose }: { lesson: Lesson; onClose: () => void }) {
  const { value, error } = useAnswer((signal) => api.lessonHistory(lesson.id, signal), [lesson.id]);
  return (
    <Dialog title="Versions, newest first" onClose={onClose}>
      {error && <Problem error={error} />}
      <ol class="versions">
        {value?.versions.map((version) => (
          <Version key={version.id} version={version} />
        ))}
      </ol>
    </Dialog>
  );
}

function Version({ version }: { version: LessonHistory["versions"][number] }) {
  const [shown, setShown] = useState(SHOWN);
  const hidden = version.text.length - shown;
  return (
    <li>
      <p class="about muted">
        <span class={version.state === "current" ? "good" : ""}>{version.state}</span>
        {version.at && <span>{minuteOf(version.at)}</span>}
        {version.who && <span>{version.who}</span>}
        {version.score !== null && <Success score={version.score} tries={null} />}
      </p>
      <p class="plain">
        {version.text.slice(0, shown)}
        {hidden > 0 && (
          <button type="button" class="link" onClick={() => setShown(version.text.length)}>
            {" "}
            … {inDigits(hidden)} more characters
          </button>
        )}
      </p>
    </li>
  );
}
