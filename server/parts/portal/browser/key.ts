import { useLayoutEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { base } from "./answers.ts";
import { keepKey, keyChanged, ownKey, post } from "./api.ts";
import { Command } from "./curl.ts";
import { Field, otherError, useAction } from "./form.ts";
import { useLeaveWarning, useReadAt } from "./location.ts";
import { curlOf } from "./programs.ts";

/** Shows a new key, and lets visitors paste their own key. */

/** Returns the visitor's key, and updates the component when the key changes, even in another tab. */
export const useOwnKey = () => useReadAt(ownKey, keyChanged, "storage");

/**
 * Shows a new key. A browser without a key stores it. If the visitor then unchecks the box, the browser asks before it
 * leaves the page.
 */
export function NewKey({ value }: { value: string }) {
  const kept = useOwnKey();
  const [before] = useState(ownKey);
  const isFirst = before === null;
  // The key is stored before it is shown, so that a visitor who leaves the page immediately doesn't lose it.
  useLayoutEffect(() => {
    if (isFirst) keepKey(value);
  }, [value]);
  useLeaveWarning(isFirst && kept !== value);
  return html`<div class="new-key">
    <p><b>This key is shown only once.</b> Copy it to a safe place: whoever has it can use your account.</p>
    <${Command} text=${value} label="Your new key" />
    <p><label><input
      type="checkbox"
      checked=${kept === value}
      onChange=${(event: Event & { currentTarget: HTMLInputElement }) => keepKey(event.currentTarget.checked ? value : before === value ? null : before)}
    /> Keep it in this browser${!isFirst && before !== value && `, in place of …${before.slice(-4)}`} <span class="quiet">(not on a shared computer)</span></label></p>
    <p class="quiet">Try it with the three procedures whose charges differ most.</p>
    <${Command} text=${curlOf(`${base}/healthcare/procedures?sort=spread&limit=3`, location.origin, value)} />
  </div>`;
}

const keyLength = 53;

/** A pasted key is stored only if the server knows it. */
export function PasteKey({ done = () => {} }: { done?: () => void }) {
  const [text, setText] = useState("");
  const { failure, isBusy, run } = useAction();
  const [isSent, setSent] = useState(false);
  const key = text.trim();
  const isKey = /^hcq_[0-9A-Za-z]*$/.test(key) && key.length === keyLength;
  const isWrong = !isKey && (key !== "" || isSent);
  const submit = (event: Event) => {
    event.preventDefault();
    setSent(true);
    if (isKey)
      run(async () => {
        await post("/portal/account", {}, key);
        keepKey(key);
        done();
      });
  };
  return html`<form class="fields" onSubmit=${submit} novalidate>
    <${Field}
      label="Your key"
      type="password"
      value=${text}
      set=${setText}
      placeholder="hcq_…"
      hint="It stays in this browser until you sign out."
      fault=${isWrong ? `A key has ${keyLength} characters, letters and digits, and begins with hcq_.` : ""}
      error=${otherError(failure)}
    />
    <button type="submit" class="primary" aria-disabled=${isBusy}>Use this key</button>
  </form>`;
}
