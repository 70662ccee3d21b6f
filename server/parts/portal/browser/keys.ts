import { useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { keepKey, post } from "./api.ts";
import { errorOf, Field, otherError, useAction } from "./form.ts";
import { NewKey } from "./key.ts";

/** Lists an account's keys, and makes, rotates and revokes them. */

export interface KeyRow {
  id: number;
  last4: string;
  label: string | null;
  state: "active" | "expired" | "revoked";
  created: string;
  expires: string | null;
  /** Whether this key made the request. */
  is_this: boolean;
}

interface Made {
  id: number;
  key: string;
  expires: string | null;
}

const defaultOverlapHours = 24;

/** To the minute, in UTC like the server's days. */
const timeOf = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)}`;
const stateWords = (key: KeyRow) =>
  key.state !== "active" ? key.state : key.expires === null ? "works" : `works until ${timeOf(key.expires)}`;

interface KeysProps {
  keys: KeyRow[];
  changed: () => void;
  leave: (why: string) => void;
}

export function Keys({ keys, changed, leave }: KeysProps) {
  const [made, setMade] = useState<Made | null>(null);
  const [message, setMessage] = useState("");
  const [isMaking, setMaking] = useState(false);
  const ordered = keys.toSorted(
    (a, b) => Number(b.state === "active") - Number(a.state === "active") || b.id - a.id,
  );
  const show = (one: Made, text: string) => {
    setMade(one);
    setMessage(text);
    setMaking(false);
    changed();
  };
  const isOnly = keys.filter(({ state }) => state === "active").length === 1;
  return html`<section class="card" aria-labelledby="keys">
    <header>
      <h2 id="keys">Keys</h2>
      <div class="actions">
        <button type="button" class="plain" aria-expanded=${isMaking} onClick=${() => setMaking(!isMaking)}>new key</button>
      </div>
      <p class="about quiet">all keys share the account's limits; only their last four characters are shown; times in UTC</p>
    </header>
    ${isMaking && html`<${Creation} show=${show} />`}
    <p class="good" role="status">${message}</p>
    ${made && html`<${NewKey} key=${made.id} value=${made.key} />`}
    <ul class="keys">
      ${ordered.map((key) => html`<${Row} key=${key.id} row=${key} isOnly=${isOnly} show=${show} say=${setMessage} changed=${changed} leave=${leave} />`)}
    </ul>
  </section>`;
}

interface CreationProps {
  show: (made: Made, text: string) => void;
}

function Creation({ show }: CreationProps) {
  const [day, setDay] = useState("");
  const { failure, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    run(async () => {
      const expires = day === "" ? null : `${day}T23:59:59Z`;
      const made = await post<Made>("/portal/keys/create", { expires });
      show(
        made,
        made.expires === null ? "A key was made." : `A key was made; it works until ${timeOf(made.expires)}.`,
      );
    });
  };
  return html`<form class="fields inline" onSubmit=${submit} novalidate>
    <${Field}
      label="Last day (UTC), if the key should expire"
      type="date"
      value=${day}
      set=${setDay}
      error=${errorOf(failure, "expires")}
    />
    <button type="submit" class="primary" aria-disabled=${isBusy}>Make the key</button>
    <p class="error" role="alert">${otherError(failure, "expires")}</p>
  </form>`;
}

interface RowProps extends CreationProps {
  row: KeyRow;
  isOnly: boolean;
  say: (text: string) => void;
  changed: () => void;
  leave: (why: string) => void;
}

function Row({ row, isOnly, show, say, changed, leave }: RowProps) {
  const [doing, setDoing] = useState<"rotate" | "revoke" | null>(null);
  const [hours, setHours] = useState(String(defaultOverlapHours));
  const { failure, isBusy, run } = useAction();
  const { id, last4, label, is_this: isThis } = row;
  const rotate = (event: Event) => {
    event.preventDefault();
    run(async () => {
      const overlap_hours = hours.trim() === "" ? Number.NaN : Number(hours);
      const made = await post<Made & { old: { expires: string } }>("/portal/keys/rotate", {
        id,
        overlap_hours,
      });
      // The old key may have expired already.
      if (isThis) keepKey(made.key);
      setDoing(null);
      const kept = isThis ? " This browser uses the new one from now on." : "";
      const fate = overlap_hours === 0 ? "doesn't work any more" : `works until ${timeOf(made.old.expires)}`;
      show(made, `The key that ends in ${last4} ${fate}.${kept}`);
    });
  };
  const revoke = () =>
    run(async () => {
      await post("/portal/keys/revoke", { id });
      setDoing(null);
      const done = `The key that ends in ${last4} is revoked.`;
      if (isThis) return leave(`${done} You are signed out.`);
      say(done);
      changed();
    });
  const toggle = (name: "rotate" | "revoke") =>
    html`<button
      type="button"
      class="plain"
      aria-expanded=${doing === name}
      aria-label=${`${name} the key that ends in ${last4}`}
      onClick=${() => setDoing(doing === name ? null : name)}
    >${name}</button>`;
  return html`<li class=${row.state === "active" ? "active" : `${row.state} quiet`}>
    <code>…${last4}</code>${label !== null && html` <span>${label}</span>`}
    <span class="works">${stateWords(row)}${isThis && html` <span class="chip">this browser's</span>`}</span>
    <span class="made quiet">made ${timeOf(row.created)}</span>
    <span class="actions">${row.state === "active" && html`${toggle("rotate")} ${toggle("revoke")}`}</span>
    ${
      doing === "rotate" &&
      html`<form class="fields inline" onSubmit=${rotate} novalidate>
        <${Field}
          label="Hours that both keys work"
          type="number"
          min="0"
          value=${hours}
          set=${setHours}
          error=${errorOf(failure, "overlap_hours")}
        />
        <button type="submit" class="primary" aria-disabled=${isBusy}>Make a new key in its place</button>
      </form>`
    }
    ${
      doing === "revoke" &&
      html`<p class="confirm">
        <span>Programs that use this key stop working at once. This can't be undone.${isThis && " This browser uses it: you will be signed out."}${isOnly && html` <b>It is your only active key: you can't make another one without it.</b>`}</span>
        <button type="button" class="bad" aria-disabled=${isBusy} onClick=${revoke}>Revoke …${last4}</button>
        <button type="button" onClick=${() => setDoing(null)}>Keep it</button>
      </p>`
    }
    <p class="error" role="alert">${otherError(failure, "overlap_hours")}</p>
  </li>`;
}
