import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import * as d3 from "../../../shared/browser/d3.ts";
import { whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset, Failure } from "./answers.ts";
import { asFailure } from "./api.ts";
import { maxShown, nextShown } from "./choice.ts";
import { choose, withParameters } from "./location.ts";
import { YearLinks } from "./without-script.ts";

/** Fields with their errors, buttons, actions on the server, and texts of failures. */

export function useAction() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (work: () => Promise<void>): void => {
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    void work()
      .catch((error) => setFailure(asFailure(error)))
      .finally(() => setBusy(false));
  };
  return { failure, isBusy, run };
}

export function sentenceOf({ status, type, message }: Failure): string {
  if (status === 0)
    return "The server didn't answer, so it isn't certain whether this was done. Reload the page to see.";
  if (type === "missing_api_key") return "A key is needed to look.";
  if (status === 401) return "The server doesn't know this key: it may be incomplete, revoked or expired.";
  return `${message[0].toUpperCase()}${message.slice(1)}${/[.?!]$/.test(message) ? "" : "."}`;
}

/** The text of a failure that concerns a field; otherwise empty. */
export function errorOf(failure: Failure | null, param: string): string {
  if (failure?.param !== param) return "";
  if (failure.type === "missing_parameter") return "This is needed.";
  const [, expected] = /, expected (.*)$/s.exec(failure.message) ?? [];
  return expected === undefined ? sentenceOf(failure) : `This must be ${expected}.`;
}

/** The failure's text; empty if the failure concerns a field of `params`. */
export const otherError = (failure: Failure | null, ...params: string[]) =>
  failure === null || params.includes(failure.param ?? "") ? "" : sentenceOf(failure);

export interface FieldProps {
  label: string;
  value: string;
  set: (value: string) => void;
  type?: "text" | "email" | "password" | "url" | "number" | "date";
  hint?: string;
  /** Why the value was refused. The text disappears when the value changes. */
  error?: string;
  /** What is wrong with the value; empty if nothing is. After an edit, the text is hidden until blur or Enter. */
  fault?: string;
  options?: readonly (readonly [value: string, title: string])[];
  [attribute: string]: unknown;
}

export function Field(props: FieldProps) {
  const { label, value, set, type = "text", hint, error: refusal = "", fault = "", options, ...more } = props;
  const id = useId();
  const [isEdited, setEdited] = useState(false);
  const refused = useRef({ refusal, value });
  if (refused.current.refusal !== refusal) refused.current = { refusal, value };
  const error = (isEdited ? "" : fault) || (refused.current.value === value ? refusal : "");
  const descriptions = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const common = {
    id,
    value,
    autocomplete: "off",
    "aria-describedby": descriptions || undefined,
    "aria-invalid": error ? "true" : undefined,
    onInput: (event: Event & { currentTarget: HTMLInputElement | HTMLSelectElement }) => {
      setEdited(true);
      set(event.currentTarget.value);
    },
    onBlur: () => setEdited(false),
    onKeyDown: ({ key }: KeyboardEvent) => key === "Enter" && setEdited(false),
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

export const yearsOf = (datasets: readonly Dataset[]): string[] =>
  [...new Set(datasets.map(({ data_year }) => String(data_year)))].sort(d3.descending);

interface YearFieldProps {
  datasets: readonly Dataset[];
  /** The year or data version shown; empty while it isn't known. */
  shown: string;
}

export function YearField({ datasets, shown }: YearFieldProps) {
  const years = [...new Set([...yearsOf(datasets), shown])].sort(d3.descending);
  return html`<${YearLinks} years=${years} shown=${shown} /><div class="field year">
    <label for="year">Year</label>
    <select id="year" value=${shown} onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => choose({ year: event.currentTarget.value || null })}>
      ${years.map((year) => html`<option value=${year} selected=${year === shown}>${year || "newest"}</option>`)}
    </select>
  </div>`;
}

interface OpenerProps {
  name: string;
  /** Id of the card's title. */
  card: string;
  isOpen: boolean;
  onClick: () => void;
}

export const Opener = ({ name, card, isOpen, onClick }: OpenerProps) =>
  html`<button type="button" class="plain" aria-expanded=${isOpen} aria-describedby=${card} onClick=${onClick}>${name}</button>`;

/** A button that opens a menu. The menu closes on Escape, and when the focus moves to an element outside. */
export function Menu({
  name,
  card,
  children,
}: Pick<OpenerProps, "name" | "card"> & { children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    setOpen(false);
    menu.current?.querySelector("button")?.focus();
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !menu.current?.contains(relatedTarget)) setOpen(false);
  };
  return html`<span class="menu" ref=${menu} onKeyDown=${onKeyDown} onFocusOut=${onFocusOut}>
    <${Opener} name=${name} card=${card} isOpen=${isOpen} onClick=${() => setOpen(!isOpen)} />
    ${isOpen && html`<span class="choices" role="group" aria-label=${name}>${children()}</span>`}
  </span>`;
}

interface MoreProps {
  /** Maximum number of rows to list. */
  shown: number;
  listed: number;
  count: number;
}

/** The end of a list, with a link to more rows. When the link is gone, the focus moves to the text. */
export function More({ shown, listed, count }: MoreProps) {
  const end = useRef<HTMLElement>(null);
  const isMore = useRef(false);
  useEffect(() => {
    if (isMore.current) end.current?.focus({ preventScroll: true });
    isMore.current = false;
  }, [listed]);
  const remaining = count - listed;
  const next = nextShown(shown);
  const onClick = () => {
    isMore.current = true;
  };
  const all = count === 1 ? "That is the only one." : `These are all ${whole(count)}.`;
  return html`<p class="more">
    ${
      remaining > 0 && shown < maxShown
        ? html`<a class="button" href=${withParameters({ shown: String(next) })} data-replace onClick=${onClick}>Show ${Math.min(next - listed, remaining)} more</a>
            <span class="quiet"> ${whole(listed)} of ${whole(count)}</span>`
        : html`<span class="quiet" ref=${end} tabindex="-1">${remaining > 0 ? `${whole(listed)} of ${whole(count)}; the saved file has all.` : all}</span>`
    }
  </p>`;
}
