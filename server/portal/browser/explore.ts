import { html } from "./html.ts";

/** The page explore: to come. */

export function Explore({ url }: { url: URL }) {
  return html`<h1>Explore</h1><p>${url.pathname}</p>`;
}
