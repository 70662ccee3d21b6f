import { useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";

/** Shows curl commands to copy. */

export const curlOf = (path: string, key = "$KEY") =>
  `curl -H "Authorization: Bearer ${key}" \\\n  "${new URL(path, location.origin)}"`;

/** @param path of the API, with its query */
export function Curl({ path }: { path: string }) {
  return html`<${Command} text=${curlOf(path)} />`;
}

/** Copies a text. @returns whether it worked: browsers have no clipboard for pages without TLS from another machine */
export async function copied(text: string): Promise<boolean> {
  const done = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  return done ?? false;
}

/** A text to copy, with a button. */
export function Command({ text, label = "Command" }: { text: string; label?: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copied(text)) ? "copied" : "select it and copy");
  };
  return html`<div class="command">
    <pre tabindex="0" role="region" aria-label=${label}>${text}</pre>
    <button type="button" class="plain" onClick=${copy}>copy</button>
    <span class="quiet" role="status">${said}</span>
  </div>`;
}
