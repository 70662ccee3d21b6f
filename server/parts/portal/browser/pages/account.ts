import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../../../../shared/browser/html.ts";
import { base, Failure, type UsageAnswer } from "../answers.ts";
import { get, keepKey, post } from "../api.ts";
import { context } from "../context.ts";
import { Command } from "../curl.ts";
import { errorOf, Field, type FieldProps, otherError, useAction } from "../form.ts";
import { PasteKey, useOwnKey } from "../key.ts";
import { type KeyRow, Keys } from "../keys.ts";
import { ErrorBand, useLoaded } from "../load.ts";
import { start } from "../start.ts";
import { Usage } from "../usage.ts";

/** Shows the account of the browser's key: its usage, its keys, and the destinations of its quota warnings. */

interface AccountAnswer extends Notices {
  account: string;
  plan: string;
  burst: number;
}

async function load(key: string) {
  const [account, { keys }, usage] = await Promise.all([
    post<AccountAnswer>("/portal/account", {}, key),
    post<{ keys: KeyRow[] }>("/portal/keys", {}, key),
    get<UsageAnswer>(`${base}/usage`).catch((error: unknown) => {
      if (error instanceof Failure && error.status === 429) return error;
      throw error;
    }),
  ]);
  return { key, account, keys, usage };
}

function Page() {
  const key = useOwnKey();
  const [message, setMessage] = useState("");
  const leave = (why: string) => {
    setMessage(why);
    keepKey(null);
  };
  // The focused element disappears when a visitor signs in or out, so the focus moves to the page's main part.
  const before = useRef(key);
  useEffect(() => {
    const isIn = (one: string | null) => one !== null;
    if (isIn(before.current) !== isIn(key)) document.querySelector<HTMLElement>("#main")?.focus();
    before.current = key;
  }, [key]);
  return key === null
    ? html`<${SignIn} message=${message} />`
    : html`<${Signed} ownKey=${key} leave=${leave} />`;
}

function SignIn({ message }: { message: string }) {
  return html`<div class="column">
    <h1>Your account</h1>
    ${message && html`<p class="band" role="status">${message}</p>`}
    <p class="lead">Sign in with your key. This browser keeps it.</p>
    <section class="card"><${PasteKey} /></section>
    <p>No key yet? ${context.settings.signup === "off" ? "You get one from whoever runs this server." : html`<a href="/signup">Get one</a>`}</p>
  </div>`;
}

interface SignedProps {
  ownKey: string;
  leave: (why: string) => void;
}

function Signed({ ownKey, leave }: SignedProps) {
  const [changes, setChanges] = useState(0);
  const loaded = useLoaded(`${ownKey} ${changes}`, () => load(ownKey));
  const { view, failure, isLate } = loaded;
  const reload = () => setChanges((before) => before + 1);
  const signOut = html`<button type="button" onClick=${() => leave("You are signed out: this browser has forgotten the key.")}>Sign out</button>`;
  if (!view)
    return html`<h1>Your account</h1>
      <${ErrorBand} of=${loaded} /> ${failure && signOut} ${isLate && html`<p class="quiet" role="status">Loading…</p>`}`;
  const { account, keys, usage } = view;
  return html`<div class=${isLate ? "account late" : "account"}>
    <div class="heading">
      <div>
        <h1>${account.account}</h1>
        <p class="quiet">Plan ${account.plan} · signed in with the key that ends in ${ownKey.slice(-4)}, which this browser keeps</p>
      </div>
      ${signOut}
    </div>
    <${ErrorBand} of=${loaded} />
    <${Usage} usage=${usage} burst=${account.burst} retry=${reload} />
    <${Keys} keys=${keys} changed=${reload} leave=${leave} />
    <${Warnings} notices=${account} changed=${reload} />
  </div>`;
}

export interface Notices {
  email: string | null;
  webhook: string | null;
}

export function Warnings({ notices, changed }: { notices: Notices; changed: () => void }) {
  return html`<section class="card" aria-labelledby="warnings">
    <header>
      <h2 id="warnings">Warnings</h2>
      <p class="about quiet">when 80, 90 and 100 % of the month's requests are used${context.settings.mail ? "; empty a field to turn it off" : ", posted to your webhook; this server sends no e-mail"}</p>
    </header>
    <div class="warnings">
      ${context.settings.mail && html`<${Email} email=${notices.email} changed=${changed} />`}
      <${Webhook} url=${notices.webhook} changed=${changed} />
    </div>
  </section>`;
}

interface PlaceProps {
  field: Omit<FieldProps, "value" | "set">;
  param: string;
  value: string | null;
  button: string;
  /** @returns the text to show after the value is saved */
  save: (given: string | null) => Promise<string>;
  children?: unknown;
}

/** An empty value turns the destination off. */
function Place({ field, param, value, button, save, children }: PlaceProps) {
  const [text, setText] = useState(value ?? "");
  const [message, setMessage] = useState("");
  const { failure, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    setMessage("");
    run(async () => setMessage(await save(text.trim() || null)));
  };
  return html`<form class="fields" onSubmit=${submit} novalidate>
    <${Field} ...${field} value=${text} set=${setText} error=${errorOf(failure, param)} />
    <p class="error" role="alert">${otherError(failure, param)}</p>
    <p><button type="submit" aria-disabled=${isBusy}>${button}</button> <span class="good" role="status">${message}</span></p>
    ${children}
  </form>`;
}

function Email({ email, changed }: { email: string | null; changed: () => void }) {
  const save = async (given: string | null) => {
    await post("/portal/account/email", { email: given });
    changed();
    return given === null ? "No e-mail is sent." : `Warnings go to ${given}.`;
  };
  const field = { label: "E-mail address", type: "email", autocomplete: "email" };
  return html`<${Place} field=${field} param="email" value=${email} button="Save the address" save=${save} />`;
}

function Webhook({ url, changed }: { url: string | null; changed: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const save = async (given: string | null) => {
    const answer = await post<{ secret?: string }>("/portal/account/webhook", { url: given });
    if (given !== url) setSecret(answer.secret ?? null);
    changed();
    return given === null ? "Nothing is posted." : `Warnings are posted to ${given}.`;
  };
  const field = { label: "Webhook", type: "url", placeholder: "https://…" };
  return html`<${Place} field=${field} param="url" value=${url} button="Save the webhook" save=${save}>
    ${
      secret !== null &&
      html`<div class="new-key">
        <p><b>The signing secret is shown only once.</b> Use it to verify our posts (standardwebhooks.com).</p>
        <${Command} text=${secret} label="The webhook's signing secret" />
      </div>`
    }
  <//>`;
}

start(Page);
