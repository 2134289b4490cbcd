const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** `3 days ago` */
export function ago(at: Date, now = new Date()): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : "just now";
}

const two = (value: number): string => String(value).padStart(2, "0");

/** `2026-11-15` in the time zone of the browser. */
export function dayOf(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** `2026-11-15 09:30` in the time zone of the browser. */
export function minuteOf(iso: string): string {
  const at = new Date(iso);
  return `${dayOf(iso)} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** When something was, in words; the title has the exact time. */
export function Time({ at }: { at: string | null }) {
  if (!at) return <span class="muted">unknown</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {ago(date)}
    </time>
  );
}
