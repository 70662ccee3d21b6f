import { useState } from "preact/hooks";
import { whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { useAction } from "./action.ts";
import { type Failure, request } from "./api.ts";
import { Request } from "./curl.ts";
import { Field } from "./field.ts";
import { choicesOf, type Operation, type Parameter, requestPath } from "./openapi.ts";

/** Sends an example request from a form, with the current key, and shows the answer. */

/** Most bytes to read of a file. */
const maxFileBytes = 4096;
const maxLines = 200;
const shownHeaders = [
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "Content-Type",
  "Content-Length",
  "Content-Disposition",
  "ETag",
  "Cache-Control",
  "Allow",
];

interface Answer {
  path: string;
  status: number;
  statusText: string;
  ms: number;
  headers: [string, string][];
  text: string;
  /** A note about the part that isn't shown. */
  cut: string;
}

/** JSON on several lines; other text unchanged. */
export const textOf = (value: unknown) =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** The initial values: examples for required parameters. */
const startOf = ({ parameters, versionPath }: Operation) =>
  new Map(
    parameters.map((one) => [
      one.name,
      one.required && !(one.name === "version" && versionPath !== null) ? String(one.example ?? "") : "",
    ]),
  );

export function TryIt({ operation }: { operation: Operation }) {
  const [values, setValues] = useState(() => startOf(operation));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const { failure, isBusy, run } = useAction();
  const path = requestPath(operation, values);
  const submit = (event: Event) => {
    event.preventDefault();
    run(async () => setAnswer(await answerAt(path)));
  };
  return html`<form class="try" onSubmit=${submit} novalidate>
    ${operation.parameters.map(
      (parameter) => html`<${Field}
        label=${parameter.name}
        value=${values.get(parameter.name) ?? ""}
        set=${(value: string) => setValues(new Map(values).set(parameter.name, value))}
        ...${inputOf(parameter)}
      />`,
    )}
    <button type="submit" class="primary" disabled=${isBusy} aria-label=${`Send GET ${operation.path}`}>Send</button>
  </form>
  <${Request} path=${path} />
  <p class="error" role="alert">${failure && wordsOf(failure)}</p>
  ${answer && html`<${Shown} answer=${answer} />`}`;
}

function inputOf(parameter: Parameter) {
  const { default: given } = parameter.schema;
  const choices = choicesOf(parameter);
  const none = given === undefined ? "–" : `${given} (default)`;
  if (choices)
    return {
      options: [
        ["", none],
        ...choices.filter((one) => one !== given).map((one) => [String(one), String(one)]),
      ],
    };
  return { placeholder: given === undefined ? `e.g. ${parameter.example}` : String(given) };
}

const wordsOf = (failure: Failure) =>
  failure.status === 0 ? "The server can't be reached: try again." : failure.message;

function Shown({ answer }: { answer: Answer }) {
  const { path, status, statusText, ms, headers, text, cut } = answer;
  return html`<div class="shown">
    <p role="status"><b class=${status < 400 ? "good" : "bad"}>${status} ${statusText}</b> <span class="quiet">in ${whole(ms)} ms · <code>${path}</code></span>
      ${status === 401 && html` <a href="/signup">Get a key</a> or <a href="/account">paste yours</a>.`}
    </p>
    <dl class="headers">${headers.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    <pre class="answer" tabindex="0" role="region" aria-label="The answer's body">${text}</pre>
    ${cut && html`<p class="quiet small">${cut}</p>`}
  </div>`;
}

async function answerAt(path: string): Promise<Answer> {
  const begun = performance.now();
  // The browser's cache would hide the server's current answer.
  const response = await request(path, { cache: "no-store" });
  const type = response.headers.get("Content-Type") ?? "";
  const { text, cut } = type.startsWith("application/json")
    ? await jsonOf(response)
    : await startOfFile(response, type);
  const headers = shownHeaders.flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, explained(name, value)]];
  });
  const ms = performance.now() - begun;
  return { path, status: response.status, statusText: response.statusText, ms, headers, text, cut };
}

/** A header's value; Unix seconds also as a date. */
const explained = (name: string, value: string) =>
  name === "X-RateLimit-Reset"
    ? `${value} (${new Date(Number(value) * 1000).toISOString().slice(0, 19)}Z)`
    : value;

async function jsonOf(response: Response): Promise<{ text: string; cut: string }> {
  const lines = textOf(await response.json()).split("\n");
  const more = lines.length - maxLines;
  return {
    text: lines.slice(0, maxLines).join("\n"),
    cut: more > 0 ? `… and ${whole(more)} more lines: the curl gives them all.` : "",
  };
}

/** The first lines of a text file; nothing of a binary file. */
async function startOfFile(response: Response, type: string): Promise<{ text: string; cut: string }> {
  const reader = response.body?.getReader();
  const { value = new Uint8Array() } = (await reader?.read()) ?? {};
  // The rest isn't downloaded.
  await reader?.cancel();
  if (!type.startsWith("text/"))
    return {
      text: "",
      cut: "This file isn't text. The curl command saves it with -O, or download it from the page Data.",
    };
  const text = new TextDecoder().decode(value.subarray(0, maxFileBytes));
  const isCut = value.length > maxFileBytes || Number(response.headers.get("Content-Length")) > maxFileBytes;
  return {
    text: isCut ? text.slice(0, text.lastIndexOf("\n")) : text,
    cut: isCut ? "… and so on. The curl command gives the whole file, and so does the page Data." : "",
  };
}
