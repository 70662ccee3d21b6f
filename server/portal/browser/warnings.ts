import { useState } from "preact/hooks";
import { errorOf, otherError, useAction } from "./action.ts";
import { post } from "./api.ts";
import { Command } from "./curl.ts";
import { Field } from "./field.ts";
import { html } from "./html.ts";
import { settings } from "./settings.ts";

/** Where an account is told that its requests run out. */

export interface Notices {
  email: string | null;
  webhook: string | null;
}

interface WarningsProps {
  notices: Notices;
  changed: () => void;
}

export function Warnings({ notices, changed }: WarningsProps) {
  return html`<section class="card" aria-labelledby="warnings">
    <header>
      <h2 id="warnings">Warnings</h2>
      <p class="about quiet">when 80, 90 and 100 % of the month's requests are used${settings.mail ? "; empty a field to have none" : ", posted to an address of yours; this server sends no mail"}</p>
    </header>
    <div class="warnings">
      ${settings.mail && html`<${Email} email=${notices.email} changed=${changed} />`}
      <${Webhook} url=${notices.webhook} changed=${changed} />
    </div>
  </section>`;
}

function Email({ email, changed }: { email: string | null; changed: () => void }) {
  const [text, setText] = useState(email ?? "");
  const [said, setSaid] = useState("");
  const { failure, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    setSaid("");
    run(async () => {
      const given = text.trim() || null;
      await post("/portal/account/email", { email: given });
      setSaid(given === null ? "No e-mail is sent." : `Warnings go to ${given}.`);
      changed();
    });
  };
  return html`<form class="fields" onSubmit=${submit} novalidate>
    <${Field} label="E-mail address" type="email" autocomplete="email" value=${text} set=${setText} error=${errorOf(failure, "email")} />
    <p class="trouble" role="alert">${otherError(failure, "email")}</p>
    <p><button type="submit" disabled=${isBusy}>Save the address</button> <span class="good" role="status">${said}</span></p>
  </form>`;
}

function Webhook({ url, changed }: { url: string | null; changed: () => void }) {
  const [text, setText] = useState(url ?? "");
  const [said, setSaid] = useState("");
  const [secret, setSecret] = useState<string | null>(null);
  const { failure, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    setSaid("");
    run(async () => {
      const given = text.trim() || null;
      const answer = await post<{ secret?: string }>("/portal/account/webhook", { url: given });
      if (given !== url) setSecret(answer.secret ?? null);
      setSaid(given === null ? "Nothing is posted." : `Warnings are posted to ${given}.`);
      changed();
    });
  };
  return html`<form class="fields" onSubmit=${submit} novalidate>
    <${Field}
      label="Webhook"
      type="url"
      placeholder="https://…"
      value=${text}
      set=${setText}
      error=${errorOf(failure, "url")}
    />
    <p class="trouble" role="alert">${otherError(failure, "url")}</p>
    <p><button type="submit" disabled=${isBusy}>Save the webhook</button> <span class="good" role="status">${said}</span></p>
    ${
      secret !== null &&
      html`<div class="new-key">
        <p><b>The signing secret, shown this once.</b> By it you know that a post is ours (standardwebhooks.com).</p>
        <${Command} text=${secret} label="The webhook's signing secret" />
      </div>`
    }
  </form>`;
}
