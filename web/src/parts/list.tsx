import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isTyping, useKeys } from "../hooks";
import { follow } from "./link";

interface Props<T> {
  items: T[];
  /** What is in the list, for screen readers. */
  label: string;
  /** In pixels: every row has it. */
  rowHeight: number;
  keyOf: (item: T) => string;
  /** Where a row leads; null for a heading between rows. */
  hrefOf: (item: T) => string | null;
  render: (item: T, index: number) => ComponentChildren;
  /** The key of the row that is open. */
  current?: string | null;
  /** Called when the last row comes into sight. */
  onEnd?: () => void;
}

const MARGIN = 6; // rows drawn above and below what is in sight

/** A list of any length: only the rows in sight exist. Arrows or j and k move, Enter opens. */
export function List<T>({ items, label, rowHeight, keyOf, hrefOf, render, current, onEnd }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(800);
  const [active, setActive] = useState(0);
  const wanted = useRef<number | null>(null);

  useLayoutEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const open = items.findIndex((item) => keyOf(item) === current);
    setActive((old) => (open >= 0 ? open : Math.max(0, Math.min(old, items.length - 1))));
  }, [items, current]);

  // When the open row is closed, the focus comes back to it.
  const wasOpen = useRef(false);
  useEffect(() => {
    if (wasOpen.current && !current && document.activeElement === document.body) {
      wanted.current = active;
      focusMoved();
    }
    wasOpen.current = Boolean(current);
  }, [current]);

  // Gives the focus to a row that a key moved to, as soon as it is drawn.
  const focusMoved = () => {
    if (wanted.current === null) return;
    const row = box.current!.querySelector<HTMLElement>(`[data-index="${wanted.current}"] > a`);
    if (!row) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  };
  useLayoutEffect(focusMoved);

  const first = Math.max(0, Math.floor(scroll / rowHeight) - MARGIN);
  const last = Math.min(items.length, Math.ceil((scroll + height) / rowHeight) + MARGIN);
  useEffect(() => {
    if (items.length && last === items.length) onEnd?.();
  }, [last, items.length]);

  const move = (to: number, step: 1 | -1) => {
    const inside = (index: number) => index >= 0 && index < items.length;
    let index = Math.max(0, Math.min(items.length - 1, to));
    while (inside(index) && hrefOf(items[index]!) === null) index += step;
    if (!inside(index)) return;
    const element = box.current!;
    const top = index * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
    setScroll(element.scrollTop);
    wanted.current = index;
    setActive(index);
    focusMoved();
  };

  useKeys((event) => {
    if (isTyping(event) && !(event.target as HTMLElement).closest("[data-list-keys]")) return;
    const inField = isTyping(event);
    const inList = box.current!.contains(document.activeElement);
    const isFree = inField || document.activeElement === document.body; // arrows scroll what has the focus
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const key = event.key;
    if ((key === "ArrowDown" && (inList || isFree)) || (key === "j" && !inField))
      move(inList || current ? active + 1 : active, 1);
    else if ((key === "ArrowUp" && inList) || (key === "k" && !inField)) move(active - 1, -1);
    else if (key === "PageDown" && inList) move(active + page, 1);
    else if (key === "PageUp" && inList) move(active - page, -1);
    else if (key === "Home" && inList) move(0, 1);
    else if (key === "End" && inList) move(items.length - 1, -1);
    else return;
    event.preventDefault();
  });

  return (
    <div class="list" ref={box} onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
      <ol aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, offset) => {
          const index = first + offset;
          const href = hrefOf(item);
          return (
            <li
              key={keyOf(item)}
              data-index={index}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
            >
              {href === null ? (
                <div class="row heading">{render(item, index)}</div>
              ) : (
                <a
                  class="row"
                  href={href}
                  tabIndex={index === active ? 0 : -1}
                  aria-current={keyOf(item) === current ? "true" : undefined}
                  onFocus={() => setActive(index)}
                  onClick={(event) => follow(event, href)}
                >
                  {render(item, index)}
                </a>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
