import { useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { requests } from "./programs.ts";

/** Shows programs that request the API, to copy. */

const languages = ["curl", "Python", "TypeScript"] as const;

export function Request({ path }: { path: string }) {
  const [language, setLanguage] = useState<keyof typeof requests>("curl");
  return html`<p class="actions" role="group" aria-label="Language">${languages.map(
    (each) =>
      html`<button type="button" class="plain" aria-pressed=${each === language} onClick=${() => setLanguage(each)}>${each}</button>`,
  )}</p><${Command} text=${requests[language](path, location.origin)} />`;
}

/** @returns whether the text was copied; pages without TLS may have no clipboard */
export async function copied(text: string): Promise<boolean> {
  const done = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  return done ?? false;
}

export function Command({ text, label = "Command" }: { text: string; label?: string }) {
  const [message, setMessage] = useState("");
  const copy = async () => {
    setMessage((await copied(text)) ? "copied" : "select it and copy");
  };
  return html`<div class="command">
    <pre tabindex="0" role="group" aria-label=${label}>${text}</pre>
    <button type="button" class="plain" onClick=${copy}>copy</button>
    <span class="quiet" role="status">${message}</span>
  </div>`;
}
