import type { ComponentChildren } from "preact";
import { navigate } from "../hooks";

interface Props {
  href: string;
  class?: string;
  title?: string;
  "aria-current"?: "page" | "true" | undefined;
  children: ComponentChildren;
}

/** Takes over a plain click on a link; with a modifier the browser opens a tab of its own. */
export function follow(event: MouseEvent, href: string): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  navigate(href);
}

/** A link inside the page. */
export function Link({ href, children, ...rest }: Props) {
  return (
    <a href={href} onClick={(event) => follow(event, href)} {...rest}>
      {children}
    </a>
  );
}
