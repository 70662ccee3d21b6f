import { useEffect, useRef, useState } from "preact/hooks";
import { whole } from "../../../../shared/browser/format.ts";
import { html } from "../../../../shared/browser/html.ts";
import {
  anEmailAddress,
  aPersonName,
  isEmailAddress,
  maxPersonNameLength,
} from "../../../../shared/form-rules.ts";
import { post } from "../api.ts";
import { context } from "../context.ts";
import { errorOf, Field, otherError, useAction } from "../form.ts";
import { NewKey, PasteKey, useOwnKey } from "../key.ts";
import { start } from "../start.ts";

/** Lets visitors get a key: by a form, by the link in an e-mail, or from the operator. */

interface Made {
  account: string;
  plan: string;
  key: string;
}

function Page({ url }: { url: URL }) {
  const [made, setMade] = useState<Made | null>(null);
  const token = url.searchParams.get("token");
  if (made) return html`<${Welcome} made=${made} />`;
  if (context.settings.signup === "off") return html`<${Closed} />`;
  if (token !== null) return html`<${Confirmation} token=${token} done=${setMade} />`;
  return html`<${Form} done=${setMade} />`;
}

/** Moves the focus to the heading, so that screen readers read the result. */
function Result({ children }: { children: preact.ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return html`<h1 ref=${heading} tabindex="-1">${children}</h1>`;
}

function Welcome({ made }: { made: Made }) {
  return html`<div class="column">
    <${Result}>Here is your key<//>
    <p class="lead">Your account is ${made.account}, on the ${made.plan} plan.</p>
    <section class="card"><${NewKey} value=${made.key} /></section>
    <p><a href="/account">Your account</a> shows your usage and your keys. The <a href="/reference">reference</a> describes the API.</p>
  </div>`;
}

function Form({ done }: { done: (made: Made) => void }) {
  const opened = useRef(performance.now());
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [website, setWebsite] = useState("");
  const [isChecked, setChecked] = useState(false);
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { failure, isBusy, run } = useAction();
  const own = useOwnKey();
  const { burst, quota, linkHours } = context.settings.newcomers;
  if (sentTo !== null)
    return html`<div class="column">
      <${Result}>Check your e-mail<//>
      <p class="lead">If ${sentTo} may have a key, we have sent a link to it. The link is valid for ${linkHours} hours.</p>
      <p>No e-mail after a few minutes? Check your spam folder, or <button type="button" onClick=${() => setSentTo(null)}>enter the address again</button></p>
    </div>`;
  const submit = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    setChecked(true);
    const wrong = nameFault(name) ? "name" : emailFault(email) ? "email" : null;
    if (wrong !== null)
      return event.currentTarget.querySelector<HTMLInputElement>(`[name=${wrong}]`)?.focus();
    run(async () => {
      // A person whose browser fills in the form is as fast as a bot.
      const early = context.settings.minElapsedMs - (performance.now() - opened.current);
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early + 1));
      const elapsedMs = Math.floor(performance.now() - opened.current);
      const answer = await post<Made | { sent: true }>("/portal/signup", { name, email, website, elapsedMs });
      if ("sent" in answer) setSentTo(email.trim());
      else done(answer);
    });
  };
  /** An empty field isn't wrong before the form is sent. */
  const faultOf = (value: string, fault: string) => (isChecked || value.trim() !== "" ? fault : "");
  return html`<div class="column">
    <h1>Get a key</h1>
    <p class="lead">It is free: ${whole(burst)} requests a second, ${whole(quota)} a month.${context.settings.key !== null && " These pages need no key."}</p>
    ${own !== null && html`<p class="band">This browser has a key already: <a href="/account">your account</a>.</p>`}
    <section class="card">
      <form class="fields" onSubmit=${submit} novalidate>
        <${Field} label="Your name" name="name" value=${name} set=${setName} autocomplete="name" required fault=${faultOf(name, nameFault(name))} error=${errorOf(failure, "name")} />
        <${Field}
          label="Your e-mail address"
          name="email"
          type="email"
          value=${email}
          set=${setEmail}
          autocomplete="email"
          required
          hint=${
            context.settings.signup === "email"
              ? "We send a link to it, later a warning when your requests run out, and nothing else."
              : context.settings.mail
                ? "We send it a warning when your requests run out, and nothing else."
                : "So that the operator can reach you. This server sends no mail."
          }
          fault=${faultOf(email, emailFault(email))}
          error=${errorOf(failure, "email")}
        />
        <div class="unseen" aria-hidden="true">
          <label>Leave this empty
            <input
              name="website"
              tabindex="-1"
              autocomplete="off"
              value=${website}
              onInput=${(event: InputEvent & { currentTarget: HTMLInputElement }) => setWebsite(event.currentTarget.value)}
            />
          </label>
        </div>
        <p class="error" role="alert">${otherError(failure, "name", "email")}</p>
        <button type="submit" class="primary" aria-disabled=${isBusy}>${context.settings.signup === "email" ? "Send me the link" : "Get a key"}</button>
        <p class="quiet" role="status">${isBusy && "One moment…"}</p>
      </form>
    </section>
    <details><summary>I have a key</summary><${PasteKey} /></details>
  </div>`;
}

const nameFault = (name: string) =>
  name.trim() === ""
    ? "Enter your name."
    : name.trim().length > maxPersonNameLength
      ? `A name has ${aPersonName}.`
      : "";
const emailFault = (email: string) =>
  email.trim() === ""
    ? "Enter your e-mail address."
    : isEmailAddress(email.trim())
      ? ""
      : `This must be ${anEmailAddress}.`;

/** Confirms an e-mail address by a button. Opening the link isn't enough, because mail scanners open links, too. */
function Confirmation({ token, done }: { token: string; done: (made: Made) => void }) {
  const { failure, isBusy, run } = useAction();
  const own = useOwnKey();
  const confirm = () =>
    run(async () => {
      done(await post<Made>("/portal/signup/confirm", { token }));
      // With the token in the URL, a reload would offer a used link.
      history.replaceState(null, "", "/signup");
    });
  if (failure?.param === "token")
    return html`<div class="column">
      <${Result}>This link isn't valid any more<//>
      <p class="lead">It was used already, is older than ${context.settings.newcomers.linkHours} hours, or is incomplete. A link makes one key, and shows it only once.</p>
      <p>${own === null ? html`<a href="/account">I have the key that it made</a>` : html`This browser has a key: <a href="/account">your account</a>`} · <a href="/signup">Ask for another link</a></p>
    </div>`;
  return html`<div class="column">
    <h1>One more step</h1>
    <p class="lead">You have opened the link in our e-mail. Press the button to make your key. It is shown only once.</p>
    <p class="error" role="alert">${otherError(failure)}</p>
    <p><button type="button" class="primary" aria-disabled=${isBusy} onClick=${confirm}>Make my key</button></p>
  </div>`;
}

function Closed() {
  const own = useOwnKey();
  return html`<div class="column">
    <h1>Signup is closed</h1>
    <p class="lead">Ask the operator for a key, then paste it here.</p>
    ${
      own === null
        ? html`<section class="card"><${PasteKey} /></section>`
        : html`<p class="band" role="status">This browser has a key: <a href="/account">your account</a>.</p>`
    }
  </div>`;
}

start(Page);
