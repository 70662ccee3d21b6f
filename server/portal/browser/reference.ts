import { html } from "./html.ts";

/** The page reference: to come. */

export function Reference({ url }: { url: URL }) {
  return html`<h1>Reference</h1><p>${url.pathname}</p>`;
}
