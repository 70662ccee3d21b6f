import { html } from "./html.ts";

/** The page account: to come. */

export function Account({ url }: { url: URL }) {
  return html`<h1>Account</h1><p>${url.pathname}</p>`;
}
