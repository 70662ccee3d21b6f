import { html } from "./html.ts";

/** The page data: to come. */

export function Data({ url }: { url: URL }) {
  return html`<h1>Data</h1><p>${url.pathname}</p>`;
}
