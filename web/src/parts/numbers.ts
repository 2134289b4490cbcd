/** `12,345` */
export const inDigits = (value: number): string => value.toLocaleString("en");

/** `3 chunks`, `1 chunk` */
export const count = (value: number, name: string): string => `${inDigits(value)} ${name}${value === 1 ? "" : "s"}`;

/** `87 %` */
export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** `42.8 MiB` */
export function inBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const step = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return step ? `${(bytes / 1024 ** step).toFixed(1)} ${units[step]}` : `${bytes} bytes`;
}
