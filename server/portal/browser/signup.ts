import { html } from "./html.ts";

/** The page signup: to come. */

export function Signup({ url }: { url: URL }) {
  return html`<h1>Signup</h1><p>${url.pathname}</p>`;
}
