import { useId } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";

/** A field of a form, with what it is for, and what is wrong with it beside it. */

export interface FieldProps {
  label: string;
  value: string;
  set: (value: string) => void;
  type?: "text" | "email" | "password" | "url" | "number" | "date";
  hint?: string;
  /** Empty: nothing is wrong. */
  error?: string;
  /** What there is to choose from, and what it is called; then it is a list. */
  options?: readonly (readonly [value: string, title: string])[];
  /** Of the element: `autocomplete`, `placeholder`, `required`, `min` and the like. */
  [attribute: string]: unknown;
}

export function Field({ label, value, set, type = "text", hint, error = "", options, ...more }: FieldProps) {
  const id = useId();
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const common = {
    id,
    value,
    autocomplete: "off",
    "aria-describedby": told || undefined,
    "aria-invalid": error ? "true" : undefined,
    onInput: (event: Event & { currentTarget: HTMLInputElement | HTMLSelectElement }) =>
      set(event.currentTarget.value),
    ...more,
  };
  return html`<div class="entry">
    <div class=${`field ${error ? "wrong" : ""}`}>
      <label for=${id}>${label}</label>
      ${
        options
          ? html`<select ...${common}>
              ${options.map(([value, title]) => html`<option value=${value}>${title}</option>`)}
            </select>`
          : html`<input type=${type} spellcheck=${false} ...${common} />`
      }
    </div>
    ${hint && html`<p class="hint quiet" id=${`${id}-hint`}>${hint}</p>`}
    <p class="error" id=${`${id}-error`} role="alert">${error}</p>
  </div>`;
}
