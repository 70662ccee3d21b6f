import { useState } from "preact/hooks";
import { whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { useAction } from "./action.ts";
import { ask, type Failure } from "./api.ts";
import { Curl } from "./curl.ts";
import { Field } from "./field.ts";
import { choicesOf, type Operation, type Parameter, requestPath } from "./openapi.ts";

/** Asks what a form says, with the present key, and shows what came. */

/** Of a body: no more is read of files, nor shown of answers. */
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
  /** What isn't in the text. */
  cut: string;
}

/** JSON in lines; other text as it is. */
export const textOf = (value: unknown) =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** Required ones begin with what the description has as an example. */
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
  <${Curl} path=${path} />
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
    <p role="status"><b class=${status < 400 ? "good" : "wrong"}>${status} ${statusText}</b> <span class="quiet">in ${whole(ms)} ms · <code>${path}</code></span>
      ${status === 401 && html` <a href="/signup">Get a key</a> or <a href="/account">paste yours</a>.`}
    </p>
    <dl class="headers">${headers.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    <pre class="answer" tabindex="0" role="region" aria-label="The answer's body">${text}</pre>
    ${cut && html`<p class="quiet small">${cut}</p>`}
  </div>`;
}

async function answerAt(path: string): Promise<Answer> {
  const begun = performance.now();
  // The browser's own copies would hide what the server says now.
  const response = await ask(path, { cache: "no-store" });
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

/** With a time that is a number also as people write it. */
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

/** The first lines of a text; nothing of what people can't read. */
async function startOfFile(response: Response, type: string): Promise<{ text: string; cut: string }> {
  const reader = response.body?.getReader();
  const { value = new Uint8Array() } = (await reader?.read()) ?? {};
  // The rest isn't fetched.
  await reader?.cancel();
  if (!type.startsWith("text/"))
    return { text: "", cut: "A file that isn't text: the curl saves it with -O, as does the page Data." };
  const text = new TextDecoder().decode(value.subarray(0, maxFileBytes));
  const isCut = value.length > maxFileBytes || Number(response.headers.get("Content-Length")) > maxFileBytes;
  return {
    text: isCut ? text.slice(0, text.lastIndexOf("\n")) : text,
    cut: isCut ? "… and so on: the curl gives the whole file, as does the page Data." : "",
  };
}
