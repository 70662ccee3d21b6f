import { useEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { Failure } from "./answers.ts";
import { asFailure, keepKey, ownKey } from "./api.ts";
import { context } from "./context.ts";
import type { Note } from "./explore-words.ts";
import { PasteKey } from "./key.ts";
import { withParameters } from "./location.ts";
import { tabTitle, warningOf } from "./words.ts";

/** Loads the answers of a view, and shows failures. The previous view stays until all answers have arrived. */

const patienceMs = 300;

/**
 * @param key identifies the view; a change of the key loads another view
 * @param now makes the view from answers that have already arrived; null if some are missing
 * @param lastingKey makes another key for the same view
 * @returns the last view that was loaded; `isShown` if it is the key's view, `isOld` if it is another and the key's view
 *   is late or failed
 */
export function useLoaded<T>(
  key: string,
  load: () => Promise<T>,
  now: () => T | null = () => null,
  lastingKey?: (view: T) => string,
) {
  const [loaded, setLoaded] = useState<{ key: string; view: T } | null>(() => {
    const view = now();
    return view === null ? null : { key, view };
  });
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isLate, setLate] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const isShown = loaded !== null && (loaded.key === key || lastingKey?.(loaded.view) === key);
  useEffect(() => {
    let isOver = false;
    const end = (failure: Failure | null, view?: T) => {
      if (isOver) return;
      clearTimeout(timer);
      setLate(false);
      setFailure(failure);
      if (view !== undefined) setLoaded({ key, view });
    };
    const timer = setTimeout(() => setLate(true), patienceMs);
    if (isShown) end(null);
    else
      load().then(
        (view) => end(null, view),
        (error) => end(asFailure(error)),
      );
    return () => {
      clearTimeout(timer);
      isOver = true;
    };
  }, [key, attempt]);
  const retry = () => setAttempt((before) => before + 1);
  const isOld = loaded !== null && !isShown && (isLate || failure !== null);
  return { view: loaded?.view ?? null, failure, isLate, isOld, isShown, retry };
}

/** Names the page. @param title undefined as long as it isn't known @param describe makes the text for link previews */
export function useTitle(title: string | undefined, describe: () => string): void {
  if (title !== undefined) context.entitle(title, describe());
  useEffect(() => {
    if (title !== undefined) document.title = tabTitle(title);
  }, [title]);
}

const retryMs = 5000;

interface ErrorBandProps {
  of: Pick<ReturnType<typeof useLoaded>, "view" | "failure" | "retry">;
  /** Name of the view that is still shown after a request for another view has failed. */
  shown?: string | undefined;
}

export function ErrorBand({ of: { view, failure, retry }, shown }: ErrorBandProps) {
  const isGone = failure?.status === 0;
  useEffect(() => {
    if (!isGone) return;
    const timer = setInterval(retry, retryMs);
    return () => clearInterval(timer);
  }, [isGone]);
  if (failure === null) return null;
  const isCurrent = view === null || shown !== undefined;
  return html`<div class="band wrong" role="alert">${reasonOf(failure, retry, isCurrent)}${shown && html` <span>Still showing ${shown}.</span>`}</div>`;
}

function reasonOf(failure: Failure, retry: () => void, isCurrent: boolean) {
  if (failure.status === 0)
    return html`<b>The server can't be reached.</b> ${isCurrent ? "" : "What you see may be old. "}This page tries again every few seconds.${" "}
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
      ? html`<b>The requests without a key of your own are used up for now.</b>${" "}
          ${signupOffer("Get a key of your own", ", or paste yours:")} <${PasteKey} done=${retry} />`
      : html`<b>Your account's requests for this month are used up.</b>${" "}
          More are available on the first of the month. <a href="/account">See your account</a>`;
  return html`<b>That didn't work:</b> ${failure.message}. <button type="button" onClick=${retry}>Try again</button>`;
}

const signupOffer = (text: string, more: string) =>
  context.settings.signup === "off"
    ? "You get one from whoever runs this server. Paste yours:"
    : html`<a href="/signup">${text}</a>${more}`;

export function WarningBand({ caveat }: { caveat: string | undefined }) {
  const warning = caveat === undefined ? null : warningOf(caveat);
  return (
    warning &&
    html`<div class="band sample" role="note"><b>${warning.title}</b> ${warning.text} <span class="further">${warning.further}</span></div>`
  );
}

export function VersionNote({ note }: { note: Note | null }) {
  const newest = note?.link && html`<a href=${withParameters(note.link.changes ?? {})}>${note.link.text}</a>`;
  return note && html`<p class=${note.isGone ? "band wrong" : "under"}>${note.text} ${newest}</p>`;
}
