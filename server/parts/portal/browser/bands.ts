import { useEffect } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { type Failure, keepKey, ownKey } from "./api.ts";
import { PasteKey } from "./key.ts";
import { settings } from "./settings.ts";
import { isSynthetic } from "./words.ts";

/** Shows errors and warnings across the page. */

const retryMs = 5000;

interface ErrorBandProps {
  failure: Failure;
  retry: () => void;
  /** What is still on screen after a failed request for something else. */
  shown?: string | undefined;
  /** Whether nothing is on screen yet. */
  isBlank?: boolean;
}

export function ErrorBand({ failure, retry, shown, isBlank = false }: ErrorBandProps) {
  const isGone = failure.status === 0;
  useEffect(() => {
    if (!isGone) return;
    const timer = setInterval(retry, retryMs);
    return () => clearInterval(timer);
  }, [isGone]);
  return html`<div class="band bad" role="alert">${reasonOf(failure, retry, isBlank || shown !== undefined)}${shown && html` <span class="still">Still showing ${shown}.</span>`}</div>`;
}

function reasonOf(failure: Failure, retry: () => void, isTold: boolean) {
  if (failure.status === 0)
    return html`<b>The server can't be reached.</b> ${isTold ? "" : "What you see may be old. "}This page tries again every few seconds.${" "}
      <button type="button" onClick=${retry}>Try now</button>`;
  if (failure.status === 401)
    return ownKey() === null
      ? html`<b>A key is needed to look.</b> ${signupOffer("Get one", " or paste yours:")} <${PasteKey} done=${retry} />`
      : html`<b>Your key isn't valid (any more).</b> Paste another one, or remove it:${" "}
          <${PasteKey} done=${retry} />${" "}
          <button type="button" onClick=${() => {
            keepKey(null);
            retry();
          }}>Remove it</button>`;
  if (failure.status === 429)
    return ownKey() === null
      ? html`<b>The requests of this page for this month are used up.</b>${" "}
          ${signupOffer("Get a key of your own", ", or paste yours:")} <${PasteKey} done=${retry} />`
      : html`<b>Your account's requests for this month are used up.</b>${" "}
          More are available on the first of the month. <a href="/account">See your account</a>`;
  return html`<b>That didn't work:</b> ${failure.message}. <button type="button" onClick=${retry}>Try again</button>`;
}

const signupOffer = (text: string, more: string) =>
  settings.signup === "off" ? "Paste yours:" : html`<a href="/signup">${text}</a>${more}`;

/** A warning that the numbers are invented. */
export function SampleBand({ caveat }: { caveat: string | undefined }) {
  if (caveat === undefined || !isSynthetic(caveat)) return null;
  return html`<div class="band sample" role="note">
    <b>Synthetic sample.</b> ${caveat.replace(/^This is a synthetic sample: (.)/, (_, letter) => letter.toUpperCase())}
  </div>`;
}
