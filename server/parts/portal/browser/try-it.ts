import { useEffect, useState } from "preact/hooks";
import { whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { request } from "./api.ts";
import { context } from "./context.ts";
import { Request } from "./curl.ts";
import { Field, otherError, useAction } from "./form.ts";
import { choicesOf, type Operation, type Parameter, requestPath } from "./openapi.ts";

/** Shows an operation's example request, which visitors can change and send with the current key, and the answer. */

const maxLines = 200;
/** Minimum bytes to read of a longer file, because its first network chunk may have only a line or two. */
const shownBytes = 16_384;

export const textOf = (value: unknown) =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

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
  const send = () => run(async () => setAnswer(await answerAt(path)));
  useEffect(send, []);
  const submit = (event: Event) => {
    event.preventDefault();
    send();
  };
  // After a change of the form, the answer is hidden, because it doesn't belong to the command that is shown.
  const shown = answer?.path === path ? answer : null;
  const { example } = operation;
  return html`<form class="try" onSubmit=${submit} novalidate>
    ${operation.parameters.map(
      (parameter) => html`<${Field}
        label=${parameter.name}
        value=${values.get(parameter.name) ?? ""}
        set=${(value: string) => setValues(new Map(values).set(parameter.name, value))}
        ...${inputOf(parameter)}
      />`,
    )}
    <button type="submit" class="primary" aria-disabled=${isBusy} aria-label=${`Send GET ${operation.path}`}>Send</button>
  </form>
  <${Request} path=${path} />
  <p class="error" role="alert">${otherError(failure)}</p>
  ${shown && html`<${Shown} answer=${shown} />`}
  ${
    example &&
    (failure || (shown && shown.status >= 400)) &&
    html`<p>From the synthetic sample that a first start writes, <code>GET ${example.path}</code> is answered by:</p>
    <pre class="answer" tabindex="0" role="region" aria-label=${`An answer of ${operation.path}`}>${textOf(example.value)}</pre>`
  }`;
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

function Shown({ answer }: { answer: Answer }) {
  const { path, status, statusText, ms, headers, text, cut } = answer;
  return html`<div class="shown">
    <p role="status"><b class=${status < 400 ? "good" : "bad"}>${status} ${statusText}</b> <span class="quiet">in ${whole(ms)} ms · <code>${path}</code></span>
      ${status === 401 && html` ${context.settings.signup === "off" ? "You get a key from whoever runs this server:" : html`<a href="/signup">Get a key</a> or`} <a href="/account">paste yours</a>.`}
    </p>
    <dl class="facts">${headers.map(([name, value]) => html`<dt class="quiet">${name}</dt><dd>${value}</dd>`)}</dl>
    <pre class="answer" tabindex="0" role="region" aria-label="The answer's body">${text}</pre>
    ${cut && html`<p class="quiet small">${cut}</p>`}
  </div>`;
}

type Answer = Awaited<ReturnType<typeof answerAt>>;

async function answerAt(path: string) {
  const begun = performance.now();
  // Bypasses the browser's cache, so that the server's current answer is shown.
  const response = await request(path, { cache: "no-store" });
  const { status, statusText, headers } = response;
  const type = headers.get("Content-Type") ?? "";
  const isJson = type.startsWith("application/json");
  const bytes = isJson ? undefined : await firstOf(response);
  const text = isJson ? textOf(await response.json()) : new TextDecoder().decode(bytes);
  const ms = Math.round(performance.now() - begun);
  const lines = type.startsWith("text/") || isJson ? text.split("\n") : [];
  const isPart = bytes !== undefined && bytes.length < Number(headers.get("Content-Length"));
  const cut =
    lines.length === 0
      ? "This file isn't text. The curl command saves it with -O, or download it from the page Data."
      : isPart || lines.length > maxLines
        ? "… and so on. The curl command gives the whole answer."
        : "";
  return {
    path,
    status,
    statusText,
    ms,
    headers: [...headers],
    text: lines.slice(0, maxLines).join("\n"),
    cut,
  };
}

async function firstOf(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let bytes = 0; bytes < shownBytes; ) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) break;
    chunks.push(value);
    bytes += value.length;
  }
  await reader?.cancel();
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
