import { useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { UsageAnswer } from "./answers.ts";
import { base, Failure, get, keepKey, post, settings } from "./api.ts";
import { PasteKey, useOwnKey } from "./key.ts";
import { type KeyRow, Keys } from "./keys.ts";
import { ErrorBand, useLoaded } from "./load.ts";
import { Usage } from "./usage.ts";
import { type Notices, Warnings } from "./warnings.ts";

/** Shows the account of the browser's key: usage, keys and notifications. */

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

export function Page() {
  const key = useOwnKey();
  const [said, setSaid] = useState("");
  const leave = (why: string) => {
    setSaid(why);
    keepKey(null);
  };
  return key === null ? html`<${SignIn} said=${said} />` : html`<${Signed} ownKey=${key} leave=${leave} />`;
}

function SignIn({ said }: { said: string }) {
  return html`<div class="column">
    <h1>Your account</h1>
    ${said && html`<p class="band note-band" role="status">${said}</p>`}
    <p class="lead">Sign in with your key. This browser keeps it.</p>
    <section class="card"><${PasteKey} /></section>
    ${settings.signup !== "off" && html`<p>No key yet? <a href="/signup">Get one</a></p>`}
  </div>`;
}

interface SignedProps {
  ownKey: string;
  /** Removes the key from this browser. */
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
