import { html } from "./html.ts";

/** The page facility: to come. */

export function Facility({ url }: { url: URL }) {
  return html`<h1>Facility</h1><p>${url.pathname}</p>`;
}
