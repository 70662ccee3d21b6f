import { render } from "preact";
import { html } from "../../../shared/browser/html.ts";
import { begin } from "./api.ts";
import { Frame, type Page } from "./frame.ts";
import { followLinks } from "./location.ts";

/**
 * Shows a page in the browser. The elements that the server has drawn are used again, and attributes that differ are
 * corrected, which `hydrate` wouldn't do.
 */
export function start(page: Page): void {
  begin();
  followLinks();
  render(html`<${Frame} page=${page} />`, document.querySelector("#app")!);
}
