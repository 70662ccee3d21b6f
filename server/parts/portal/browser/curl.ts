import { useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";

/** Shows curl commands to copy. */

export const curlOf = (path: string, key = "$KEY") =>
  `curl -H "Authorization: Bearer ${key}" \\\n  "${new URL(path, location.origin)}"`;

/** Functions by language that write the code of a request. Their argument is a path of the API with its query. */
const requests: Readonly<Record<string, (path: string) => string>> = {
  curl: (path) => curlOf(path),
  Python: (path) =>
    [
      "import json, os, urllib.request",
      `url = "${new URL(path, location.origin)}"`,
      `headers = {"Authorization": "Bearer " + os.environ["KEY"]}`,
      "with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:",
      isFile(path)
        ? `    open("${fileOf(path)}", "wb").write(response.read())`
        : "    answer = json.load(response)",
    ].join("\n"),
  TypeScript: (path) =>
    [
      `const response = await fetch("${new URL(path, location.origin)}", {`,
      `  headers: { Authorization: "Bearer " + process.env.KEY },`,
      "});",
      `const answer = await response.${isFile(path) ? "arrayBuffer" : "json"}();`,
    ].join("\n"),
};

const isFile = (path: string) => /\/export\.\w+/.test(path);
const fileOf = (path: string) => new URL(path, location.origin).pathname.split("/").at(-1);

export function Request({ path }: { path: string }) {
  const [language, setLanguage] = useState("curl");
  return html`<p class="actions" role="group" aria-label="Language">${Object.keys(requests).map(
    (each) =>
      html`<button type="button" class="plain" aria-pressed=${each === language} onClick=${() => setLanguage(each)}>${each}</button>`,
  )}</p><${Command} text=${requests[language](path)} />`;
}

/** @returns whether the text was copied; pages without TLS have no clipboard */
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
