import { useId } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset } from "./answers.ts";

/** A field of a form, with its hint and its error; and the field of the data year. */

export interface FieldProps {
  label: string;
  value: string;
  set: (value: string) => void;
  type?: "text" | "email" | "password" | "url" | "number" | "date";
  hint?: string;
  /** The error, or an empty string. */
  error?: string;
  /** The options with their titles; the field is a list then. */
  options?: readonly (readonly [value: string, title: string])[];
  /** Attributes of the element, such as `autocomplete`, `placeholder`, `required` and `min`. */
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

/** The years of the data, the newest first. */
export const yearsOf = (datasets: readonly Dataset[]): string[] =>
  [...new Set(datasets.map(({ data_year }) => String(data_year)))].sort(d3.descending);

interface YearFieldProps {
  datasets: readonly Dataset[];
  /** A year or a data version; empty while it isn't known. */
  shown: string;
  choose: (year: string) => void;
}

export function YearField({ datasets, shown, choose }: YearFieldProps) {
  return html`<div class="field year">
    <label for="year">Year</label>
    <select id="year" value=${shown} onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => choose(event.currentTarget.value)}>
      ${[...new Set([...yearsOf(datasets), shown])]
        .sort(d3.descending)
        .map((year) => html`<option value=${year} selected=${year === shown}>${year || "newest"}</option>`)}
    </select>
  </div>`;
}
